---@meta velodrome

-- What pages and modules may use, for the Lua language server of an editor: completion, types, and a warning for a name
-- that is not there. docs/pages.md tells what each thing does. Nothing of this file is ever run.
--
-- Not declared here is what the language server knows of LuaJIT itself: assert, pairs, string, table, math, bit,
-- coroutine and so on.


-- ---- The request and the response ----
--
-- Pages have them under the names `request` and `response`.

---@class velodrome.Request
---@field method string `"GET"`
---@field path string the path, decoded, with the leading slash
---@field rest string what of the path an app module looks at: what follows the prefix of its route
---@field parameters table<string, string> the parameters in the path of a module's route; empty in a page
---@field query table<string, string> the arguments, decoded; of one name the last counts
---@field query_lists table<string, string[]> of each name all arguments, in their order
---@field query_text string the query as it came, without the question mark
---@field headers table<string, string> the fields, names in small letters; several of one name are one, with commas
---@field cookies table<string, string> the cookies as they came; of one name the last counts
---@field signed_cookies table<string, string> the cookies that pages signed, verified
---@field session table what pages left for this browser; what is put there comes back with its next request
---@field body string the body, `""` where there is none
---@field form table<string, string> the fields of a form, decoded; of one name the last counts
---@field form_lists table<string, string[]> of each name all fields, in their order
---@field files velodrome.Files the files of a form: a list of all, and by the name of the field
---@field json any what the body says as JSON; an error where it is none
---@field peer string the client's IP address; `0.0.0.0` on a `unix:` listener
---@field channel string? the channel about which a module is asked
---@field message any the message that a client wants to publish there: a string, or a value where it is JSON
---@field claims table<string, any>? what the client's token claims

---@class velodrome.Socket
local socket = {}

---Sends a message: a string as it is, any other value in JSON.
---@param value any
---@return true?
---@return string? reason why it is not sent
function socket:send(value) end

---Sends a message of bytes.
---@param bytes string
---@return true?
---@return string? reason why it is not sent
function socket:send_binary(bytes) end

---Closes the WebSocket.
---@param code? integer 1000, which it is where none is given, or 3000 to 4999
---@param reason? string at most 123 bytes
---@return true?
---@return string? reason why it is closed already
function socket:close(code, reason) end

---Has the client get the messages of a channel, as they were published.
---@param channel string
---@return true?
---@return string? reason why it does not
function socket:subscribe(channel) end

---Ends that.
---@param channel string
---@return true?
---@return string? reason why not
function socket:unsubscribe(channel) end

---@class velodrome.Conversation
---@field open? fun(socket: velodrome.Socket) when it is open
---@field message? fun(socket: velodrome.Socket, text: string, kind: "text"|"binary") for each message
---@field receive? fun(socket: velodrome.Socket, letter: any) for each message of another process
---@field close? fun(socket: velodrome.Socket, code: integer, reason: string) when it is closed
---@field protocol? string the subprotocol

---What a handler gives that talks with its client from then on. Only in modules.
---@param functions velodrome.Conversation
---@return table
function websocket(functions) end

---@class velodrome.File
---@field field string the field of the form
---@field name string what the client calls the file, without directories
---@field type? string the type that the client says
---@field size integer bytes
local file = {}

---Keeps the file under this name in the directory for uploads.
---@param name string
---@param options? { replace?: boolean }
---@return true? kept nil where it was not
---@return string? reason why
function file:save(name, options) end

---The first bytes of the file, 1 MiB at most.
---@param bytes? integer
---@return string? text nil where it could not be read
---@return string? reason why
function file:read(bytes) end

---@alias velodrome.Files { [integer]: velodrome.File, [string]: velodrome.File }

---@class velodrome.CookieOptions
---@field path? string `/` unless told otherwise
---@field domain? string
---@field max_age? number in seconds; without it the cookie lasts as long as the browser runs
---@field same_site? "Strict"|"Lax"|"None" `Lax` unless told otherwise
---@field secure? boolean
---@field http_only? boolean on unless told otherwise
---@field signed? boolean with a code of the server's: it is read in `request.signed_cookies`

---@class velodrome.Response
---@field status integer|nil 200 to 599; nil where nothing was said, which is answered 200
---@field headers table<string, string|number|(string|number)[]|nil> the fields that are set; a list is several; `nil` takes away
local response = {}

---Prints strings and numbers as they are, like `<%- %>`.
---@param ... string|number
function response:write(...) end

---Sets status (302 where none is named) and `Location`; the rest of the page still runs. Stays on this site.
---@param target string a path, or a URL with the host that the client asked for
---@param status? 301|302|303|307|308
function response:redirect(target, status) end

---The same for a URL of any site.
---@param url string begins with http:// or https://
---@param status? 301|302|303|307|308
function response:redirect_external(url, status) end

---Sets a cookie, for the whole site, out of reach of scripts and of other sites' forms.
---@param name string
---@param value string|number
---@param options? velodrome.CookieOptions
function response:cookie(name, value, options) end

---Sends what was printed so far, and goes on when the client has taken it. Status and fields are fixed from then on.
function response:flush() end


-- ---- Parts and layouts ----

---Prints another page in this place. Only in pages: modules have `render`.
---@param name string the file without `.page`, from where this page lies; with a leading slash from the root
---@param arguments? any what it finds under the name `arguments`
function include(name, arguments) end

---Puts that page around this one when this one is done. Only in pages.
---@param name string
---@param arguments? any
function layout(name, arguments) end

---In a page with a layout: puts what the function prints aside, for the layout. In a layout: prints what was put aside
---under that name, else what the function prints.
---@param name string
---@param body fun()
function block(name, body) end

---In a layout: what the page inside it printed, as it is.
---@return string
function content() end

---The status by which a request is answered whose client is to blame for an error that `pcall` caught; nil for any other.
---@param why any what `pcall` gave
---@return integer? status 400 or 413
function client_error(why) end

---Ends the page, wherever it is. What is written and set so far is the answer, without a layout.
function exit() end


-- ---- Values as text ----

---@class velodrome.html
html = {}

---What `<%= %>` does in HTML.
---@param value any
---@return string
function html.escape(value) end

---@class velodrome.url
url = {}

---As one piece of a path or a query: all but letters, digits and `-._~` as `%XX`.
---@param value string|number
---@return string
function url.encode(value) end

---What such a piece stands for. A plus is a blank; what is no escape stays.
---@param text string|number
---@return string
function url.decode(text) end

---Values by their names as a query, in the order of the names; a list gives its name once for each value.
---@param values table<string, string|number|boolean|(string|number|boolean)[]>
---@return string
function url.query(values) end

---@class velodrome.json
---@field null userdata what `null` in JSON becomes, and what becomes `null`
json = {}

---A value as JSON, in which `<` is written `\u003c`. A table with an element 1 is an array, which has no holes.
---@param value any
---@return string
function json.encode(value) end

---@param text string
---@return any
function json.decode(text) end

---Makes a table an array, also an empty one.
---@param list? table
---@return table
function json.array(list) end


-- ---- Crypto ----

---@class velodrome.crypto
crypto = {}

---SHA-256 of a text: 32 raw bytes.
---@param text string
---@return string
function crypto.sha256(text) end

---HMAC-SHA-256: 32 raw bytes that only who has the key can make.
---@param key string
---@param text string
---@return string
function crypto.hmac(key, text) end

---Whether two strings are the same, in a time that tells nothing but their lengths.
---@param one string
---@param other string
---@return boolean
function crypto.equal(one, other) end

---Random bytes of the operating system's generator.
---@param count integer 1 to 1,024
---@return string
function crypto.random(count) end

---@param text string
---@return string
function crypto.hex(text) end

---@param text string
---@return string? bytes nil where the text is none
---@return string? problem what is wrong with it then
function crypto.unhex(text) end

---@param text string
---@return string
function crypto.base64(text) end

---@param text string
---@return string? bytes nil where the text is none
---@return string? problem what is wrong with it then
function crypto.unbase64(text) end

---Without padding, for URLs, cookies and file names.
---@param text string
---@return string
function crypto.base64url(text) end

---@param text string
---@return string? bytes nil where the text is none
---@return string? problem what is wrong with it then
function crypto.unbase64url(text) end


-- ---- Other servers ----

---@class velodrome.FetchOptions
---@field method? string `GET`, and `POST` where there is a body
---@field headers? table<string, string|number>
---@field body? string|number
---@field json? any in the place of a body
---@field timeout? number seconds for the whole of it; with `stream` for its head, and for each piece
---@field stream? boolean the body is read piece by piece

---@class velodrome.Fetched
---@field status integer
---@field headers table<string, string> names in small letters; several of one name are one, with commas
---@field cookies string[] every `Set-Cookie`, in order
---@field body? string nil with `stream`
local fetched = {}

---What the body says as JSON; an error where it is none.
---@return any
function fetched:json() end

---The next piece of the body, with `stream`.
---@return string? piece nil at the end, and where it broke off
---@return string? reason why it broke off
function fetched:read() end

---The pieces of the body, for a `for` loop, with `stream`. Where it breaks off is an error.
---@return fun(): string?
function fetched:pieces() end

---Gives up the rest of the body, with `stream`.
function fetched:close() end

---What another server answers by HTTP/1.1.
---@param url string
---@param options? velodrome.FetchOptions
---@return velodrome.Fetched? answer nil where there is none
---@return string? reason why
function fetch(url, options) end


-- ---- Processes and messages ----

---Runs a copy of the function, and of what it refers to, in a process of its own, beside the page and beyond its end.
---@param body fun(...: any)
---@param ... any what the function gets: copies
---@return string? name nil where there is no room
---@return string? reason "full"
function spawn(body, ...) end

---Takes a name that no other process has, on any scheduler; it is free again when the process ends.
---@param name string
---@return true? taken nil where it could not be taken
---@return string? reason why
function register(name) end

---The process that has taken a name.
---@param name string
---@return string? process what `spawn` and `self` call it; nil where no process has the name
---@return string? reason why that is not known
function whereis(name) end

---The name of the own process.
---@return string
function self() end

---Puts a message into the mailbox of a process, on whatever scheduler it is.
---@param name string what `spawn` or `self` calls it, or a name that it has taken
---@param message any a string, a number, a boolean, or a table of these
---@return true? there nil where it could not be put there
---@return string? reason why
function send(name, message) end

---The oldest message in the own mailbox; nil when none came in time.
---@param seconds? number without it, as long as the page may run
---@return any
function receive(seconds) end


-- ---- Channels ----

---@class velodrome.channel
channel = {}

---Publishes a message to all subscribers of a channel.
---@param name string
---@param value any a string as it is, any other value as JSON
---@return true? published nil where it could not be
---@return string? reason why
function channel.publish(name, value) end

---Listens to a channel. Its messages wait until they are received.
---@param name string
---@return velodrome.messages? messages nil where it could not be; in a loop: `for value, about in messages do`
---@return string? reason why
function channel.subscribe(name) end

---The messages of a channel, from a page's subscription on.
---@class velodrome.messages
---@field channel string its name
---@field receive fun(messages: velodrome.messages, seconds?: number): any, velodrome.about|string|nil waits for the next message; nil when so much time has passed, or with why
---@field close fun(messages: velodrome.messages) ends the subscription

---What is told of a message.
---@class velodrome.about
---@field channel string
---@field offset integer its number
---@field lost integer how many before it were lost, as the page did not receive them


-- ---- The store ----

---Values that stay when the server ends; all pages, schedulers and clients of Redis have the same. A value is a string, a number, a boolean, or a
---table of what JSON has. Without a database before it, it is that of the name "0".
---@class velodrome.store
store = {}

---What is told of a value.
---@class velodrome.record
---@field version string another one after each change
---@field expires_at number? seconds since 1970

---@class velodrome.put
---@field expires_in number? seconds until it is gone
---@field keep_expiry boolean? it ends when it did before
---@field only "absent"|"present"|nil written only then
---@field version string? written only over the value of this version

---The value of a key; nil where there is none.
---@param key string 1 to 503 bytes
---@return any value
---@return velodrome.record? about
function store.get(key) end

---Writes a value. When it returns, it is written.
---@param key string
---@param value any not nil
---@param options? velodrome.put
---@return boolean? written false where `only` or `version` did not hold; nil where the store cannot
---@return string? reason why
function store.put(key, value, options) end

---Deletes a key.
---@param key string
---@param options? { version: string? }
---@return boolean? deleted whether it was there; nil where the store cannot
---@return string? reason why
function store.delete(key, options) end

---Adds to a whole number, from 0 where there is none. It still ends when it did.
---@param key string
---@param amount? integer 1 where nothing is said
---@return integer? sum nil where it is no number, or the store cannot
---@return string? reason why
function store.add(key, amount) end

---Keys that begin so, in their order: `for key, value, about in store.scan("guest:") do`.
---@param prefix string
---@param options? { after: string?, limit: integer? } only those behind a key; how many
---@return fun(): string?, any, velodrome.record?
function store.scan(prefix, options) end

---Writes what a function makes of a value; it is called again where another has changed the value meanwhile, and nothing is written where it gives nil.
---@param key string
---@param change fun(value: any, about: velodrome.record?): any
---@param options? { expires_in: number? }
---@return any value as it is now; nil where the store cannot
---@return string? reason why
function store.update(key, change, options) end

---Reads and writes several keys as one: all of it is written, or nothing. The function is called again where another has changed what it has read.
---@param body fun(t: velodrome.transaction): ...
---@return true? done nil where the store cannot
---@return any ... what the function gave; or why not
function store.transaction(body) end

---The keys that begin so (up to 1,000) and are changed from now on, by whomever: `for key, value, about in store.watch("card:") do`. The value is nil where the key is
---gone. Of a key that changes several times meanwhile the last is seen.
---@param prefix string
---@return velodrome.watch
function store.watch(prefix) end

---@class velodrome.watch
---@field receive fun(watch: velodrome.watch, seconds?: number): string?, any, velodrome.record? waits for the next key that has changed; nil when so much time has passed

---Another database: `store.database("cards"):get("1017")`.
---@param name string
---@return velodrome.database
function store.database(name) end

---What `store` has, with a colon.
---@class velodrome.database
---@field name string
---@field get fun(database: velodrome.database, key: string): any, velodrome.record?
---@field put fun(database: velodrome.database, key: string, value: any, options?: velodrome.put): boolean?, string?
---@field delete fun(database: velodrome.database, key: string, options?: { version: string? }): boolean?, string?
---@field add fun(database: velodrome.database, key: string, amount?: integer): integer?, string?
---@field scan fun(database: velodrome.database, prefix: string, options?: { after: string?, limit: integer? }): fun(): string?, any, velodrome.record?
---@field watch fun(database: velodrome.database, prefix: string): velodrome.watch
---@field update fun(database: velodrome.database, key: string, change: (fun(value: any, about: velodrome.record?): any), options?: { expires_in: number? }): any, string?
---@field transaction fun(database: velodrome.database, body: fun(t: velodrome.transaction): ...): true?, any

---What a transaction reads and writes. It sees what it has written itself.
---@class velodrome.transaction
---@field get fun(t: velodrome.transaction, key: string): any, velodrome.record?
---@field put fun(t: velodrome.transaction, key: string, value: any, options?: { expires_in: number?, keep_expiry: boolean? })
---@field delete fun(t: velodrome.transaction, key: string)


-- ---- Time, waiting and the log ----

---Waits, while others go on.
---@param seconds number
function sleep(seconds) end

---@class velodrome.time
time = {}

---Seconds since 1970, whole.
---@return number
function time.now() end

---@param format? string as `os.date` has it
---@param seconds? number
---@return string|osdate
function time.date(format, seconds) end

---A time as fields have it: `Thu, 01 Jan 1970 00:00:00 GMT`.
---@param seconds? number
---@return string
function time.http(seconds) end

---@class velodrome.log
---@overload fun(...: any)
log = {}

---@param ... any
function log.debug(...) end

---@param ... any
function log.info(...) end

---@param ... any
function log.warn(...) end

---@param ... any
function log.error(...) end

---@class velodrome.os
os = {}

---@class osdate
---@field year integer|string
---@field month integer|string
---@field day integer|string
---@field hour? integer|string
---@field min? integer|string
---@field sec? integer|string
---@field wday? integer|string
---@field yday? integer|string
---@field isdst? boolean

---@param format? string
---@param seconds? number
---@return string|osdate
function os.date(format, seconds) end

---Seconds since 1970, whole; of a table the time that it names.
---@param fields? osdate
---@return number
function os.time(fields) end

---@param later number
---@param earlier number
---@return number
function os.difftime(later, earlier) end

---Seconds that only go forward, with fractions: the difference of two is the time in between, waits included.
---@return number
function os.clock() end


-- ---- Modules ----

---What an app module returned: `require("lib.laps")` is `app/lib/laps.lua`.
---@param name string
---@return any
function require(name) end

---Prints a page, its layout around it. Only in modules: pages have `include`.
---@param name string the file without `.page`, from the root of the top level of the configuration
---@param arguments? any what it finds under the name `arguments`
function render(name, arguments) end

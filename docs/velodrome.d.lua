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
---@field path string the decoded path, with the leading slash
---@field rest string in app modules: the part of the path after the prefix of the route
---@field parameters table<string, string> the path parameters of a module's route; empty in a page
---@field query table<string, string> the decoded query arguments; of several with one name, the last
---@field query_lists table<string, string[]> all arguments of each name, in order
---@field query_text string the query as received, without the question mark
---@field headers table<string, string> the header fields, with names in lower case; several with one name are joined by commas
---@field trailers table<string, string> the fields that came behind the body, as `headers`
---@field cookies table<string, string> the cookies as received; of several with one name, the last
---@field cookie_lists table<string, string[]> all cookies of each name, in order
---@field signed_cookies table<string, string> the cookies that pages signed, verified
---@field session table data stored for this browser, available in its next requests
---@field body string the body, or `""`
---@field form table<string, string> the decoded fields of a form; of several with one name, the last
---@field form_lists table<string, string[]> all fields of each name, in order
---@field files velodrome.Files the files of a form: all of them as a list, and by field name
---@field json any the body decoded as JSON; an error if it is not valid
---@field peer string the client's IP address; `0.0.0.0` on a `unix:` listener
---@field scheme string `"https"` over an encrypted connection, otherwise `"http"`
---@field tls table<string, string>? the encrypted connection: `version`, `cipher`, `group`, `server_name`, and the client's certificate: `subject`, `issuer`, `fingerprint`
---@field id string the name of the request in the access log
---@field trace string? the number of the trace to which the request says it belongs (`traceparent`)
---@field user string? the user whom `access` has let in
---@field channel string? the channel that a module authorises
---@field message any the message that a client wants to publish there: a string, or a value for JSON
---@field claims table<string, any>? the claims of the client's token
local request = {}

---Has a server of an `[[upstream]]` answer, if the handler of a module returns what this returns.
---@param upstream string the name of the `[[upstream]]`
---@param options? { path: string?, headers: table<string, string|number>? } the path to ask for, perhaps with a query (that of the request), and fields set in the request
---@return velodrome.PassedOn
function request:proxy(upstream, options) end

---@class velodrome.PassedOn

---@class velodrome.Socket
local socket = {}

---Sends a message: a string unchanged, any other value as JSON.
---@param value any
---@return true?
---@return string? reason why it was not sent
function socket:send(value) end

---Sends a message of bytes.
---@param bytes string
---@return true?
---@return string? reason why it was not sent
function socket:send_binary(bytes) end

---Closes the WebSocket.
---@param code? integer 1000 (the default), or 3000 to 4999
---@param reason? string at most 123 bytes
---@return true?
---@return string? reason that it is already closed
function socket:close(code, reason) end

---Delivers the messages of a channel to the client, as they were published.
---@param channel string
---@return true?
---@return string? reason why not
function socket:subscribe(channel) end

---Ends such a subscription.
---@param channel string
---@return true?
---@return string? reason why not
function socket:unsubscribe(channel) end

---@class velodrome.Conversation
---@field open? fun(socket: velodrome.Socket) called when it is open
---@field message? fun(socket: velodrome.Socket, text: string, kind: "text"|"binary") called for each message
---@field receive? fun(socket: velodrome.Socket, letter: any) called for each message of another process
---@field close? fun(socket: velodrome.Socket, code: integer, reason: string) called when it is closed
---@field protocol? string the subprotocol

---A handler returns this to turn the connection into a WebSocket. Only in modules.
---@param functions velodrome.Conversation
---@return table
function websocket(functions) end

---@class velodrome.File
---@field field string the form field
---@field name string the client's name for the file, without directories
---@field type? string the content type given by the client
---@field size integer bytes
local file = {}

---Keeps the file under this name in the upload directory.
---@param name string
---@param options? { replace?: boolean }
---@return true? kept nil if it was not saved
---@return string? reason why
function file:save(name, options) end

---The first bytes of the file, at most 1 MiB.
---@param bytes? integer
---@return string? text nil if it could not be read
---@return string? reason why
function file:read(bytes) end

---@alias velodrome.Files { [integer]: velodrome.File, [string]: velodrome.File }

---@class velodrome.CookieOptions
---@field path? string default `/`
---@field domain? string
---@field max_age? number in seconds; without it the cookie lasts until the browser closes
---@field same_site? "Strict"|"Lax"|"None" default `Lax`
---@field secure? boolean
---@field http_only? boolean default true
---@field signed? boolean adds a signature; read the cookie in `request.signed_cookies`

---@class velodrome.Response
---@field status integer|nil 200 to 599; nil if not set, which means 200
---@field headers table<string, string|number|(string|number)[]|nil> the header fields to send; a list sends several; `nil` removes
local response = {}

---Prints strings and numbers unescaped, like `<%- %>`.
---@param ... string|number
function response:write(...) end

---Sets the status (default 302) and `Location`; the rest of the page still runs. Only targets on this site.
---@param target string a path, or a URL with the host of the request
---@param status? 301|302|303|307|308
function response:redirect(target, status) end

---The same, for a URL of any site.
---@param url string begins with http:// or https://
---@param status? 301|302|303|307|308
function response:redirect_external(url, status) end

---Sets a cookie: by default for the whole site, hidden from scripts, not sent with forms of other sites.
---@param name string
---@param value string|number
---@param options? velodrome.CookieOptions
function response:cookie(name, value, options) end

---Gives the client links before the answer, if the page waits (`103 Early Hints`).
---@param ... string such as `</style.css>; rel=preload; as=style`
function response:early_hints(...) end

---Sends the output so far, and continues when the client has read it. Status and fields cannot change afterwards.
function response:flush() end


-- ---- Parts and layouts ----

---Prints another page here. Only in pages; modules have `render`.
---@param name string the file without `.page`, relative to this page; with a leading slash relative to the root
---@param arguments? any available there as `arguments`
function include(name, arguments) end

---Wraps this page in that one when this page is done. Only in pages.
---@param name string
---@param arguments? any
function layout(name, arguments) end

---In a page with a layout: saves the output of the function for the layout. In a layout: prints what was saved
---under that name, or else the output of the function.
---@param name string
---@param body fun()
function block(name, body) end

---In a layout: the output of the page inside, unescaped.
---@return string
function content() end

---The status for an error caught by `pcall` that the client caused; nil for any other error.
---@param why any the error from `pcall`
---@return integer? status 400 or 413
function client_error(why) end

---Ends the page from anywhere. The answer is what was written and set so far, without a layout.
function exit() end


-- ---- Values as text ----

---@class velodrome.html
html = {}

---Escapes as `<%= %>` does in HTML.
---@param value any
---@return string
function html.escape(value) end

---@class velodrome.url
url = {}

---Percent-encodes everything except letters, digits and `-._~`, for a path or a query.
---@param value string|number
---@return string
function url.encode(value) end

---Percent-decodes. A plus is a space; invalid escapes stay unchanged.
---@param text string|number
---@return string
function url.decode(text) end

---Encodes a table as a query, sorted by name; for a list the name is repeated.
---@param values table<string, string|number|boolean|(string|number|boolean)[]>
---@return string
function url.query(values) end

---@class velodrome.json
---@field null userdata represents `null` in JSON
json = {}

---Encodes a value as JSON, with `<` as `\u003c`. A table with an element 1 is an array and must not have holes.
---@param value any
---@return string
function json.encode(value) end

---@param text string
---@return any
function json.decode(text) end

---Marks a table as an array, even if it is empty.
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

---HMAC-SHA-256: 32 raw bytes.
---@param key string
---@param text string
---@return string
function crypto.hmac(key, text) end

---Whether two strings are equal, in a time that depends only on their lengths.
---@param one string
---@param other string
---@return boolean
function crypto.equal(one, other) end

---Random bytes from the operating system.
---@param count integer 1 to 1,024
---@return string
function crypto.random(count) end

---@param text string
---@return string
function crypto.hex(text) end

---@param text string
---@return string? bytes nil if the text is not valid
---@return string? problem the reason
function crypto.unhex(text) end

---@param text string
---@return string
function crypto.base64(text) end

---@param text string
---@return string? bytes nil if the text is not valid
---@return string? problem the reason
function crypto.unbase64(text) end

---Without padding, for URLs, cookies and file names.
---@param text string
---@return string
function crypto.base64url(text) end

---@param text string
---@return string? bytes nil if the text is not valid
---@return string? problem the reason
function crypto.unbase64url(text) end


-- ---- Other servers ----

---@class velodrome.FetchOptions
---@field method? string default `GET`, or `POST` with a body
---@field headers? table<string, string|number>
---@field body? string|number
---@field json? any a value to send as JSON, instead of `body`
---@field timeout? number seconds for the whole fetch; with `stream` for the head, and for each piece
---@field stream? boolean stream the body

---@class velodrome.Fetched
---@field status integer
---@field headers table<string, string> names in lower case; several with one name are joined by commas
---@field cookies string[] every `Set-Cookie`, in order
---@field body? string nil with `stream`
local fetched = {}

---The body decoded as JSON; an error if it is not valid.
---@return any
function fetched:json() end

---The next piece of the body, with `stream`.
---@return string? piece nil at the end, and if the body was cut off
---@return string? reason why it was cut off
function fetched:read() end

---The pieces of the body, for a `for` loop, with `stream`. A body that is cut off is an error.
---@return fun(): string?
function fetched:pieces() end

---Discards the rest of the body, with `stream`.
function fetched:close() end

---Sends a request to another server, plain (`http:`) or over TLS (`https:`), and returns its answer.
---@param url string
---@param options? velodrome.FetchOptions
---@return velodrome.Fetched? answer nil if there is none
---@return string? reason why
function fetch(url, options) end


-- ---- Processes and messages ----

---Runs a copy of the function, and of everything it refers to, in a separate process, which may outlive the page.
---@param body fun(...: any)
---@param ... any arguments of the function, copied
---@return string? name nil if there is no room
---@return string? reason "full"
function spawn(body, ...) end

---Registers a name, unique across all schedulers; it is released when the process ends.
---@param name string
---@return true? taken nil if the name could not be registered
---@return string? reason why
function register(name) end

---The process that has registered a name.
---@param name string
---@return string? process its process name; nil if no process has registered the name
---@return string? reason why it is unknown
function whereis(name) end

---The name of the current process.
---@return string
function self() end

---Puts a message into the mailbox of a process, on any scheduler.
---@param name string its process name, or a registered name
---@param message any a string, a number, a boolean, or a table of these
---@return true? there nil if it could not be delivered
---@return string? reason why
function send(name, message) end

---Takes the oldest message from the own mailbox; nil if none arrives in time.
---@param seconds? number without it, as long as the page may run
---@return any
function receive(seconds) end


-- ---- Channels ----

---@class velodrome.limit
limit = {}

---Uses a `[[limit]]` once for a key.
---@param name string
---@param key string|number
---@return boolean allowed
---@return number seconds until it would be allowed; 0 if it is
function limit.take(name, key) end

---@class velodrome.channel
channel = {}

---Publishes a message to all subscribers of a channel.
---@param name string
---@param value any a string unchanged, any other value as JSON
---@return true? published nil if it was not published
---@return string? reason why
function channel.publish(name, value) end

---Subscribes to a channel. Its messages wait until they are received.
---@param name string
---@return velodrome.messages? messages nil on failure; in a loop: `for value, about in messages do`
---@return string? reason why
function channel.subscribe(name) end

---A subscription of a page to a channel.
---@class velodrome.messages
---@field channel string its name
---@field receive fun(messages: velodrome.messages, seconds?: number): any, velodrome.about|string|nil waits for the next message; nil after that time, or with the reason
---@field close fun(messages: velodrome.messages) ends the subscription

---Information about a message.
---@class velodrome.about
---@field channel string
---@field offset integer its number
---@field lost integer how many messages before it were dropped, because the page did not receive them


-- ---- The store ----

---Persistent values, shared by all pages, schedulers and Redis clients. A value is a string, a number, a boolean, or a
---table of JSON values. The default database is "0".
---@class velodrome.store
store = {}

---Information about a value.
---@class velodrome.record
---@field version string changes with each write
---@field expires_at number? seconds since 1970

---@class velodrome.put
---@field expires_in number? seconds until it expires
---@field keep_expiry boolean? keep the current expiry
---@field only "absent"|"present"|nil write only then
---@field version string? write only over the value with this version

---The value of a key; nil if there is none.
---@param key string 1 to 503 bytes
---@return any value
---@return velodrome.record? about
function store.get(key) end

---Writes a value. Returns when it is written.
---@param key string
---@param value any not nil
---@param options? velodrome.put
---@return boolean? written false if `only` or `version` did not hold; nil on failure
---@return string? reason why
function store.put(key, value, options) end

---Deletes a key.
---@param key string
---@param options? { version: string? }
---@return boolean? deleted whether it existed; nil on failure
---@return string? reason why
function store.delete(key, options) end

---Adds to an integer; a missing key counts as 0. The expiry does not change.
---@param key string
---@param amount? integer default 1
---@return integer? sum nil if the value is not an integer, or on failure
---@return string? reason why
function store.add(key, amount) end

---Iterates over the keys with a prefix, in order: `for key, value, about in store.scan("guest:") do`.
---@param prefix string
---@param options? { after: string?, limit: integer? } start after a key; maximum number
---@return fun(): string?, any, velodrome.record?
function store.scan(prefix, options) end

---Writes the result of a function. It is called again if another client has changed the value meanwhile. If it returns nil, nothing is written.
---@param key string
---@param change fun(value: any, about: velodrome.record?): any
---@param options? { expires_in: number? }
---@return any value the new value; nil on failure
---@return string? reason why
function store.update(key, change, options) end

---Reads and writes several keys atomically. The function is called again if another client has changed what it has read.
---@param body fun(t: velodrome.transaction): ...
---@return true? done nil on failure
---@return any ... the results of the function; or the reason
function store.transaction(body) end

---Iterates over changes, from now on and by any client, of the keys with a prefix (at most 1,000): `for key, value, about in store.watch("card:") do`. The value is nil if
---the key was deleted. If a key changes several times in between, only the last value is seen.
---@param prefix string
---@return velodrome.watch
function store.watch(prefix) end

---@class velodrome.watch
---@field receive fun(watch: velodrome.watch, seconds?: number): string?, any, velodrome.record? waits for the next changed key; nil after that time

---Waits until a key has another version than this, or, without `version`, until it changes from now on, by any client.
---@param key string
---@param options? { version: string?, timeout: number? } seconds after which it gives up
---@return boolean changed false when the time is over
---@return any value
---@return velodrome.record? about
function store.wait(key, options) end

---Another database: `store.database("cards"):get("1017")`.
---@param name string
---@return velodrome.database
function store.database(name) end

---The functions of `store`, called with a colon.
---@class velodrome.database
---@field name string
---@field get fun(database: velodrome.database, key: string): any, velodrome.record?
---@field put fun(database: velodrome.database, key: string, value: any, options?: velodrome.put): boolean?, string?
---@field delete fun(database: velodrome.database, key: string, options?: { version: string? }): boolean?, string?
---@field add fun(database: velodrome.database, key: string, amount?: integer): integer?, string?
---@field scan fun(database: velodrome.database, prefix: string, options?: { after: string?, limit: integer? }): fun(): string?, any, velodrome.record?
---@field watch fun(database: velodrome.database, prefix: string): velodrome.watch
---@field wait fun(database: velodrome.database, key: string, options?: { version: string?, timeout: number? }): boolean, any, velodrome.record?
---@field update fun(database: velodrome.database, key: string, change: (fun(value: any, about: velodrome.record?): any), options?: { expires_in: number? }): any, string?
---@field transaction fun(database: velodrome.database, body: fun(t: velodrome.transaction): ...): true?, any

---A transaction. It sees its own writes.
---@class velodrome.transaction
---@field get fun(t: velodrome.transaction, key: string): any, velodrome.record?
---@field put fun(t: velodrome.transaction, key: string, value: any, options?: { expires_in: number?, keep_expiry: boolean? })
---@field delete fun(t: velodrome.transaction, key: string)


-- ---- Time, waiting and the log ----

---Waits while other pages run.
---@param seconds number
function sleep(seconds) end

---@class velodrome.time
time = {}

---Whole seconds since 1970.
---@return number
function time.now() end

---@param format? string as for `os.date`
---@param seconds? number
---@return string|osdate
function time.date(format, seconds) end

---A time in the format of HTTP header fields: `Thu, 01 Jan 1970 00:00:00 GMT`.
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

---Whole seconds since 1970, now or of a table of date fields.
---@param fields? osdate
---@return number
function os.time(fields) end

---@param later number
---@param earlier number
---@return number
function os.difftime(later, earlier) end

---A monotonic time in seconds with fractions, waits included, to measure durations.
---@return number
function os.clock() end


-- ---- Modules ----

---The value of an app module: `require("lib.laps")` is `app/lib/laps.lua`.
---@param name string
---@return any
function require(name) end

---Prints a page with its layout. Only in modules; pages have `include`.
---@param name string the file without `.page`, relative to the document root of the top level of the configuration
---@param arguments? any available there as `arguments`
function render(name, arguments) end

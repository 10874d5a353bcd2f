//! For every wrong call of a page the error has the place of the call. The functions are those that the definitions
//! for editors name, so that none is left out.

use std::collections::BTreeSet;

use script::engine::{Keys, Purpose, WaitReply};

use crate::stage::Stage;
use crate::waits::{Step, Wait};

const DEFINITIONS: &str = include_str!("../../../../docs/velodrome.d.lua");

/// Wrong calls, by the function's name in the definitions. A function that is not here is called with a table.
const WRONG: &[(&str, &[&str])] = &[
    ("file:save", &["request.files[1]:save(nil)", "request.files[1].save('a')"]),
    ("file:read", &["request.files[1]:read({})", "request.files[1].read(1)"]),
    (
        "request:proxy",
        &[
            "request:proxy(nil)",
            "request:proxy('a b')",
            "request:proxy('api', 5)",
            "request:proxy('api', { paht = '/x' })",
            "request:proxy('api', { path = 'x' })",
            "request:proxy('api', { headers = { ['a b'] = 'x' } })",
            "request.proxy('api')",
        ],
    ),
    (
        "response:write",
        &[
            "response:write(nil)",
            "response:write({})",
            "response:write('a', print)",
            "response.write('x')",
            "response.write({})",
        ],
    ),
    (
        "response:redirect",
        &[
            "response:redirect(nil)",
            "response:redirect('')",
            "response:redirect('a\\nb')",
            "response:redirect('/x', 200)",
            "response:redirect('/x', 304)",
            "response:redirect('//x')",
            "response.redirect('/x')",
        ],
    ),
    (
        "response:redirect_external",
        &[
            "response:redirect_external(nil)",
            "response:redirect_external('/x')",
            "response:redirect_external('http://x/', 200)",
            "response.redirect_external('http://x/')",
        ],
    ),
    (
        "response:cookie",
        &[
            "response:cookie('a', 'x', 5)",
            "response:cookie('a', 'x', false)",
            "response:cookie('a', 'x', { domian = 'example.org' })",
            "response:cookie('a', 'x', { max_age = -math.huge })",
            "response:cookie('a', 'x', { same_site = 'None' })",
            "response:cookie('a', 'x', { path = 5 })",
            "response:cookie('a', ('x'):rep(5000), { signed = true })",
            "response:cookie('a')",
            "response.cookie('a', 'x')",
        ],
    ),
    ("include", &["include(nil)", "include('none.html')", "include('../../a.html')"]),
    ("layout", &["layout(5)", "layout('none.html')"]),
    ("block", &["block('a')", "block()"]),
    ("content", &["content()"]),
    ("url.query", &["url.query('x')", "url.query({ 'a' })", "url.query({ a = { {} } })"]),
    ("json.encode", &["json.encode(print)", "json.encode({ { 0/0 } })"]),
    ("json.decode", &["json.decode('[')", "json.decode(nil)", "json.decode('[1e999]')"]),
    ("json.array", &["json.array('x')"]),
    ("limit.take", &["limit.take()", "limit.take('a', {})", "limit.take('none', 'a')"]),
    ("channel.publish", &["channel.publish()", "channel.publish('a', print)"]),
    (
        "store.get",
        &["store.get()", "store.get('')", "store.get(('x'):rep(504))", "store.get('broken')"],
    ),
    (
        "store.put",
        &[
            "store.put('a')",
            "store.put(5, 'x')",
            "store.put('a', print)",
            "store.put('a', 'x', 5)",
            "store.put('a', 'x', { expires = 5 })",
            "store.put('a', 'x', { expires_in = 0 })",
            "store.put('a', 'x', { only = 'new' })",
            "store.put('a', 'x', { version = 5 })",
            "store.put('a', ('x'):rep(2 ^ 24 + 1))",
        ],
    ),
    ("store.delete", &["store.delete()", "store.delete('a', { only = 'absent' })"]),
    ("store.add", &["store.add()", "store.add('a', 1.5)", "store.add('a', 'x')"]),
    (
        "store.scan",
        &[
            "store.scan()",
            "store.scan('a', { from = 'a' })",
            "store.scan('a', { limit = 'x' })",
            "store.scan('a', { after = 5 })",
            "store.scan('broken')()",
        ],
    ),
    (
        "store.update",
        &[
            "store.update('a')",
            "store.update('a', print, { version = '1' })",
            "store.update('a', function() return print end)",
        ],
    ),
    (
        "store.transaction",
        &[
            "store.transaction(5)",
            "store.transaction(function(t) t:get() end)",
            "store.transaction(function(t) t.put('a', 1) end)",
            "store.transaction(function(t) t:put('a', 1, { only = 'absent' }) end)",
            "store.transaction(function(t) for i = 1, 1001 do t:delete('a' .. i) end end)",
        ],
    ),
    (
        "store.watch",
        &[
            "store.watch()",
            "store.watch('broken')",
            "store.watch('a').receive(1)",
            "store.watch('a'):receive('x')",
        ],
    ),
    (
        "store.database",
        &["store.database()", "store.database('a').get('b')", "store.database('a'):get()"],
    ),
    ("crypto.sha256", &["crypto.sha256(5)"]),
    ("crypto.hmac", &["crypto.hmac('a')"]),
    ("crypto.equal", &["crypto.equal(nil, 'a')"]),
    ("crypto.random", &["crypto.random(0)", "crypto.random('x')"]),
    (
        "fetch",
        &[
            "fetch(5)",
            "fetch('http://a/', 5)",
            "fetch('http://a/', { heders = {} })",
            "fetch('http://a/', { json = print })",
            "fetch('http://a/', { headers = { Host = 'a', host = 'b' } })",
            "fetch('http://a/', { headers = { a = 'x\\1' } })",
            "fetch('http://a/', { method = 5 })",
            "fetch('http://a/', { timeout = 0 })",
        ],
    ),
    ("spawn", &["spawn(5)"]),
    ("whereis", &["whereis(5)"]),
    ("send", &["send(5, 1)", "send('0.1.1')", "send('0.1.1', { print })"]),
    ("receive", &["receive('x')"]),
    ("sleep", &["sleep('x')", "sleep()"]),
    ("time.date", &["time.date({})", "time.date('!%c', 'x')"]),
    ("time.http", &["time.http('x')"]),
    ("os.time", &["os.time({ year = 2020 })", "os.time(5)"]),
    ("os.difftime", &["os.difftime('x')"]),
    ("require", &["require('none')", "require(5)"]),
];

/// Functions that accept anything, or take nothing; `json` of an answer and `render` have tests of their own below.
const OTHERS: [&str; 21] = [
    "client_error",
    "exit",
    "response:flush",
    "fetched:json",
    "fetched:read",
    "fetched:pieces",
    "fetched:close",
    "self",
    "time.now",
    "log.debug",
    "log.info",
    "log.warn",
    "log.error",
    "os.clock",
    "render",
    // In modules: below.
    "websocket",
    "socket:send",
    "socket:send_binary",
    "socket:close",
    "socket:subscribe",
    "socket:unsubscribe",
];

/// Names that the definitions leave to the language server.
const BESIDES: &[&str] = &[
    "('x'):find('[')",
    "('x'):find('(')",
    "('x'):match('%')",
    "('x'):gsub('(', '')",
    "('x'):gsub('x', '%2')",
    "('x'):gsub('x', print, {})",
    "('x'):gsub('x', function() return {} end)",
    "('x'):find(('a*'):rep(5000))",
    "('x'):rep(1e9)",
    "('x'):rep('1e9')",
    "('x'):rep(2, {})",
    "('aa'):gsub('a', ('x'):rep(300000) .. '%2')",
    "string.format(('x'):rep(5000) .. '%d', 'x')",
    "string.format('%y', ('x'):rep(5000))",
    "table.concat({ {} })",
    "table.concat({}, ', ', 1, 10000)",
    "table.insert({}, 1, 2, 3)",
    "table.insert({}, 0/0, 1)",
    "table.insert({}, 2^31, 1)",
    "table.insert({}, -1e300, 1)",
    "table.maxn('x')",
    "table.sort({ 1, 'x' })",
    "table.sort({ {}, {} })",
    "math.max()",
    "bit.bor('x', 1, 2)",
    "string.char(300)",
    "tonumber({}, 99)",
    "os.date(('x'):rep(2000))",
    "table.sort(5)",
    "table.sort({}, 5)",
    "math.randomseed('x')",
    "rawlen(5)",
    "collectgarbage()",
    "load(5)",
    "coroutine.create(5)",
    "coroutine.wrap()",
    "coroutine.resume(5)",
    "_e({})",
    "_r(print)",
    "nope",
];

/// Wrong assignments.
const ASSIGNMENTS: &[&str] = &[
    "response.status = '404'",
    "response.status = 99",
    "response.headers['a b'] = 'x'",
    "response.headers.a = 'x\\1'",
    "response.headers.a = 'x\\127'",
    "response.headers.a = 'x\\11'",
    "response.body = 'x'",
    "request.session = 5",
    "response.headers.b = ('x'):rep(20000)",
    "json.other = 1",
    "nope = 1",
];

/// Checks that the page ends with an error at this line.
fn is_placed(stage: &mut Stage, code: &str, line: u32) {
    let page = stage.load(code);
    let error = stage.play(&page).expect_err(code);
    assert_eq!((&*error.page, error.line), ("test.page.html", line), "{code}: {error}");
    assert!(!error.message.contains("[library]"), "{code}: {error}");
}

/// Checks a statement that fails, in all contexts.
fn fails_at_its_place(stage: &mut Stage, statement: &str) {
    is_placed(stage, &format!("\n\n{statement}"), 3);
    is_placed(stage, &format!("local function f()\n\n{statement} end\nf()"), 3);
    let caught = format!("local _, why = pcall(function()\n\n{statement} end)\n_b:put(why)");
    let told = stage.body(&caught);
    assert!(told.starts_with("test.page.html:3: "), "{statement}: {told}");
    assert!(!told.contains("[library]"), "{statement}: {told}");
}

/// Checks an expression that fails, in all contexts.
fn call_fails_at_its_place(stage: &mut Stage, call: &str) {
    fails_at_its_place(stage, &format!("local _ = ({call})"));
    let told = stage.body(&format!("_b:put(select(2, pcall(function() return {call} end)))"));
    assert!(!told.contains("[library]"), "{call}: {told}");
    if call.ends_with(')') {
        // A tail call leaves no frame on the stack.
        is_placed(stage, &format!("\n\nreturn {call}"), 3);
    }
}

#[test]
fn every_function_of_the_definitions_is_tried() {
    let names = DEFINITIONS.lines().filter_map(|line| line.strip_prefix("function "));
    let defined: BTreeSet<&str> = names.filter_map(|line| line.split('(').next()).collect();
    let known: BTreeSet<&str> = WRONG.iter().map(|(name, _)| *name).chain(OTHERS).collect();
    assert!(known.is_subset(&defined), "{known:?}");
    let mut stage = Stage::new();
    for name in defined.difference(&known) {
        call_fails_at_its_place(&mut stage, &format!("{name}({{}})"));
    }
}

#[test]
fn an_error_is_at_the_call() {
    let mut stage = Stage::new();
    stage.state.set_keys(Keys::new(["the key of these tests"]));
    for call in WRONG.iter().flat_map(|(_, calls)| *calls).chain(BESIDES) {
        call_fails_at_its_place(&mut stage, call);
    }
    for assignment in ASSIGNMENTS {
        fails_at_its_place(&mut stage, assignment);
    }
}

#[test]
fn invalid_json_answer_is_error_at_call() {
    let mut stage = Stage::new();
    let page = stage.load("local answer = fetch('http://a/')\n\nreturn (answer:json())");
    let Step::Waits(run, _) = stage.start(&page) else { panic!("it waits") };
    let reply = WaitReply::Texts(&[b"200", b"", b"["]);
    let step = stage.reply(run, reply);
    let Step::Failed(error) = step else { panic!("it fails") };
    assert!(error.to_string().starts_with("test.page.html:3: json.decode: "), "{error}");
}

/// The error of a request to this module.
fn failure_of(stage: &mut Stage, module: &str) -> String {
    stage.state.provide("api", "api.lua", module).unwrap();
    stage.state.adopt_modules().unwrap();
    let handler =
        stage.state.load_module("api", "api.lua", Purpose::Answers, &mut stage.desk).unwrap();
    stage.play(&handler).unwrap_err().to_string()
}

#[test]
fn modules_are_told_where_they_call_and_which_handler_gave_what_is_none() {
    let mut stage = Stage::new();
    let told = failure_of(&mut stage, "return { GET = function()\n\nrender('none.html') end }");
    assert!(told.starts_with("api.lua:3: there is no part 'none.html'"), "{told}");
    let told = failure_of(&mut stage, "return { GET = function()\n\nreturn (render(5)) end }");
    assert!(told.starts_with("api.lua:3: not the name of a part: 5"), "{told}");
    for (given, what) in [
        ("199", "not a status: 199"),
        ("200, { print }", "what this handler gave is not for JSON: json.encode: a function"),
        ("true", "a handler gives a text, a table, or a status and one of them, not a boolean"),
    ] {
        let handler = format!("function()\nreturn {given} end");
        let around = "use = { function(_, _, next) return next() end }";
        for module in [
            format!("return {{\nGET = {handler} }}"),
            format!("return {{\nGET = {handler}, {around} }}"),
            format!("return {{\n{{ 'GET', '/hello', {handler}, {around} }} }}"),
        ] {
            stage.desk.rest = "/hello".to_owned();
            let told = failure_of(&mut stage, &module);
            assert!(told.starts_with(&format!("api.lua:2: {what}")), "{module}: {told}");
        }
    }
}

/// Wrong calls of a socket's functions, and of `websocket`.
const WRONG_TALK: &[&str] = &[
    "socket:send(print)",
    "socket:send()",
    "socket.send('x')",
    "socket:send_binary(5)",
    "socket:close(1001)",
    "socket:close('x')",
    "socket:close(1000, 5)",
    "socket:close(4000, ('x'):rep(124))",
    "socket:subscribe(nil)",
    "socket:unsubscribe({})",
    "websocket()",
    "websocket{ open = 5 }",
    "websocket{ opens = print }",
    "websocket{ protocol = 'a b' }",
    "exit()",
];

#[test]
fn socket_misuse_is_error_at_call() {
    let mut stage = Stage::new();
    for call in WRONG_TALK {
        let module = format!(
            "return function() return websocket{{ open = function(socket)\n\nlocal _ = ({call}) end }} end"
        );
        stage.state.provide("api", "api.lua", &module).unwrap();
        stage.state.adopt_modules().unwrap();
        let handler =
            stage.state.load_module("api", "api.lua", Purpose::Answers, &mut stage.desk).unwrap();
        let Step::Waits(run, Wait::Accept) = stage.start(&handler) else { panic!("it talks") };
        let Step::Failed(error) = stage.resume(run) else { panic!("{call}") };
        let told = error.to_string();
        assert!(told.starts_with("api.lua:3: ") && !told.contains("[library]"), "{call}: {told}");
    }
}

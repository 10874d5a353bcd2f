//! Goal: pages, modules and processes read and write the same store as Redis clients, no increment is lost, and a store
//! that refuses a change says so. Method: the built server with two schedulers, and many clients at once.

use crate::server::channel::{connect, resp, say};
use crate::server::client::text;
use crate::server::{Plan, Server};

/// Runs the code in the request.
const RUN: &str = "<% local given = { assert(load(request.query.code))() } for index, value in \
                   ipairs(given) do given[index] = json.encode(value) end \
                   response:write(table.concat(given, ' ')) %>";

/// Moves one unit from an account to another, unless the first is empty; `0` if the store refused.
const MOVE: &str = "<% local from, to = request.query.from, request.query.to \
    local done = store.transaction(function(t) local has = t:get(from) if has > 0 then \
    t:put(from, has - 1) t:put(to, t:get(to) + 1) end end) response:write(done and 1 or 0) %>";

const COUNT: &str =
    "<% response:write(store.update('counter', function(n) return (n or 0) + 1 end) and 1 or 0) %>";

/// Streams the changes to its client, until a value is `end`.
const WATCH: &str = "<% local watch = store.watch('w:') response:write('watches;') response:flush() \
    for key, value in watch do response:write(key, '=', json.encode(value), ';') response:flush() \
    if key == 'w:end' then break end end %>";

/// Waits for a key whose version it is given, and answers with what has become of it.
const WAIT: &str = "<% response:write('waits;') response:flush() \
    local changed, value, about = store.wait('k', { version = request.query.version }) \
    response:write(tostring(changed), ' ', json.encode(value), ' ', tostring(about ~= nil), ';') %>";

const MODULE: &str =
    "return { GET = function() store.add('visits') return { visits = store.get('visits') } end }";

fn plan() -> Plan {
    let plan = Plan::new()
        .argument("--schedulers=2")
        .argument("--listen-resp=127.0.0.1:0")
        .file("run.page.txt", RUN)
        .file("move.page.txt", MOVE)
        .file("watch.page.txt", WATCH)
        .file("wait.page.txt", WAIT)
        .file("count.page.txt", COUNT);
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store)
}

fn site() -> Server {
    plan().config("[store]\nsync = \"none\"\ndatabases = [\"cards\"]\n").start()
}

/// The result of a page's code, as JSON.
fn run(server: &Server, code: &str) -> String {
    let code: String = form_urlencoded(code);
    let response = server.get(&format!("/run?code={code}"));
    assert_eq!(response.status, 200, "{}", server.printed_errors());
    text(&response).to_owned()
}

fn form_urlencoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn pages_and_clients_of_redis_read_what_the_others_wrote() {
    let server = site();
    let mut redis = connect(resp(&server));
    assert_eq!(
        run(
            &server,
            "return store.put('s', 'text'), store.put('n', 41), store.put('t', { 1, a = nil })"
        ),
        "true true true"
    );
    let heard = say(
        &mut redis,
        b"INCR n\r\nGET s\r\nGET t\r\nSET r 5\r\nSELECT cards\r\nSET c x\r\n",
        b"[1]\r\n+OK\r\n+OK\r\n+OK\r\n",
    );
    assert_eq!(heard, b":42\r\n$4\r\ntext\r\n$3\r\n[1]\r\n+OK\r\n+OK\r\n+OK\r\n");
    assert_eq!(
        run(
            &server,
            "return (store.get('n')), (store.get('r')), (store.get('t')), (store.database('cards'):get('c'))"
        ),
        "42 \"5\" [1] \"x\""
    );
    assert_eq!(
        run(&server, "return store.delete('s'), store.delete('s'), store.get('s') == nil"),
        "true false true"
    );
    assert_eq!(
        run(
            &server,
            "return store.put('o', 1, { only = 'absent' }), store.put('o', 2, { only = 'absent' })"
        ),
        "true false"
    );
    assert_eq!(
        run(
            &server,
            "local _, about = store.get('o') return store.put('o', 3, { version = about.version }), \
             store.put('o', 4, { version = about.version }), (store.get('o'))"
        ),
        "true false 3"
    );
    assert_eq!(
        run(&server, "return select(2, store.add('t'))"),
        "\"value is not an integer or out of range\""
    );
    let ttl = "store.put('e', 1, { expires_in = 100 }) store.update('e', function(n) return n + 1 end) \
               local value, about = store.get('e') return value, about.expires_at > time.now() + 90, \
               store.put('e', 3, { expires_in = 0.001 })";
    assert_eq!(run(&server, ttl), "2 true true");
    assert_eq!(run(&server, "while store.get('e') do sleep(0.001) end return true"), "true");
}

#[test]
fn processes_and_modules_have_the_store_as_well() {
    let plan = plan();
    std::fs::create_dir(plan.directory.join("app")).unwrap();
    plan.directory.write("app/visits.lua", MODULE);
    let server = plan
        .config("[store]\nsync = \"none\"\n[[route]]\nprefix = \"/visits\"\nmodule = \"visits\"\n")
        .start();
    for visit in 1..=3 {
        assert_eq!(text(&server.get("/visits")), format!("{{\"visits\":{visit}}}"));
    }
    let spawn = "for i = 1, 20 do spawn(function() store.add('spawned', i) end) end \
        while store.get('spawned') ~= 210 do sleep(0.001) end return (store.get('spawned'))";
    assert_eq!(run(&server, spawn), "210");
}

#[test]
fn nothing_is_lost_of_what_many_change_at_once() {
    let server = site();
    run(&server, "for _, name in ipairs { 'a', 'b', 'c' } do store.put(name, 40) end");
    std::thread::scope(|scope| {
        for (from, to) in [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")] {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                for _ in 0..50 {
                    let response = client.get(&format!("/move?from={from}&to={to}")).unwrap();
                    assert_eq!(text(&response), "1");
                    let response = client.get("/count").unwrap();
                    assert_eq!(text(&response), "1");
                }
            });
        }
    });
    let sums = "local sum = 0 for _, key in ipairs { 'a', 'b', 'c' } do local has = store.get(key) \
                assert(has >= 0) sum = sum + has end return sum, (store.get('counter'))";
    assert_eq!(run(&server, sums), "120 200");
}

#[test]
fn a_page_is_told_what_the_store_refuses() {
    let server = plan().config("[store]\nsync = \"none\"\nsize = \"1 MiB\"\n").start();
    let fill = "for i = 1, 1000 do local fine, why = store.put('k' .. i, ('x'):rep(10000)) if not fine then \
                return i < 200, why end end";
    assert_eq!(run(&server, fill), "true \"the store is full; raise `size` in [store]\"");
    assert_eq!(run(&server, "return #store.get('k1'), store.delete('k1')"), "10000 true");
    assert_eq!(server.get("/run?code=return+store.database('none'):get('a')").status, 500);
    assert!(
        server.printed_errors().contains("there is no database 'none'"),
        "{}",
        server.printed_errors()
    );
    let bare = Plan::new().file("run.page.txt", RUN).start();
    assert_eq!(bare.get("/run?code=return+store.get('a')").status, 500);
    assert!(bare.printed_errors().contains("there is no store"), "{}", bare.printed_errors());
}

#[test]
fn a_watch_sees_what_anybody_changes() {
    let server = site();
    let mut redis = connect(resp(&server));
    say(&mut redis, b"SET w:a 1\r\n", b"+OK\r\n");
    // One page on each scheduler, or two on one.
    let mut pages: Vec<_> = (0..4).map(|_| connect(server.address())).collect();
    for page in &mut pages {
        say(page, b"GET /watch HTTP/1.1\r\nHost: a\r\n\r\n", b"watches;");
    }
    let seen = |pages: &mut Vec<std::net::TcpStream>, what: &[u8]| {
        pages.iter_mut().for_each(|page| drop(say(page, b"", what)));
    };
    say(&mut redis, b"SET w:a 2\r\n", b"+OK\r\n");
    seen(&mut pages, b"w:a=\"2\";");
    assert_eq!(run(&server, "return store.put('w:b', { 1 }), store.put('other', 1)"), "true true");
    seen(&mut pages, b"w:b=[1];");
    say(&mut redis, b"DEL w:a\r\n", b":1\r\n");
    seen(&mut pages, b"w:a=null;");
    say(&mut redis, b"SET w:c 1 PX 1\r\n", b"+OK\r\n");
    say(&mut redis, b"FLUSHDB\r\n", b"+OK\r\n");
    seen(&mut pages, b"w:b=null;");
    say(&mut redis, b"SET w:end 1\r\n", b"+OK\r\n");
    seen(&mut pages, b"w:end=\"1\";");
    assert_eq!(run(&server, "return store.watch('w:'):receive(0.01) == nil"), "true");
}

#[test]
fn wait_returns_when_the_key_has_another_version() {
    let server = site();
    let mut redis = connect(resp(&server));
    let version_of = |redis: &mut _, set: &[u8], answer: &[u8]| {
        say(redis, set, answer);
        let about = "local _, about = store.get('k') return about and about.version or '0'";
        run(&server, about).trim_matches('"').to_owned()
    };
    let wait_for = |version: &str| {
        // One page on each scheduler, or two on one.
        let mut pages: Vec<_> = (0..4).map(|_| connect(server.address())).collect();
        for page in &mut pages {
            let head = format!("GET /wait?version={version} HTTP/1.1\r\nHost: a\r\n\r\n");
            say(page, head.as_bytes(), b"waits;");
        }
        pages
    };
    let first = version_of(&mut redis, b"SET k 1\r\n", b"+OK\r\n");
    let mut pages = wait_for(&first);
    say(&mut redis, b"SET other 1\r\nSET k 2\r\n", b"+OK\r\n+OK\r\n");
    pages.iter_mut().for_each(|page| drop(say(page, b"", b"true \"2\" true;")));
    // Whoever knows an older version is answered at once.
    let older = format!("return (store.wait('k', {{ version = '{first}' }}))");
    assert_eq!(run(&server, &older), "true");
    let second = version_of(&mut redis, b"GET k\r\n", b"2\r\n");
    let mut pages = wait_for(&second);
    let absent = version_of(&mut redis, b"DEL k\r\n", b":1\r\n");
    pages.iter_mut().for_each(|page| drop(say(page, b"", b"true null false;")));
    assert_eq!(absent, "0");
    let mut pages = wait_for(&absent);
    say(&mut redis, b"SET k 3\r\n", b"+OK\r\n");
    pages.iter_mut().for_each(|page| drop(say(page, b"", b"true \"3\" true;")));
    assert_eq!(run(&server, "return store.wait('k', { timeout = 0.01 })"), "false");
    let changes = "spawn(function() for n = 1, 200 do store.put('n', n) sleep(0.05) end end) \
        return (store.wait('n')), (store.database('cards'):wait('n', { timeout = 0 }))";
    assert_eq!(run(&server, changes), "true false");
}

//! Goal: requests to the store over HTTP do what they say, for clients that the rules allow. Method: requests to the
//! built server, beside a Redis client.

use conformance::{ParsedResponse, RequestKind};
use serde_json::{Value, json};

use crate::server::channel::{API_KEY, SECRET, connect, resp, say, token};
use crate::server::client::{field, head, text};
use crate::server::{Plan, Server};

const CONFIG: &str = "[store]\ndatabases = [\"cards\", \"shut\", \"log\"]\nsync = \
                      \"none\"\n[[database]]\nname = \"cards\"\nhttp = true\n[[database]]\nname = \
                      \"shut\"\nread = \"key\"\nwrite = \"none\"\nhttp = true\n[[database]]\nname = \
                      \"log\"\nread = \"token\"\nwrite = \"token\"\nhttp = true\n[channels]\napi_keys = \
                      \"keys\"\ntoken_keys = \"tokens\"\n";

fn site() -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    plan.directory.write("keys", API_KEY);
    plan.directory.write("tokens", SECRET);
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store).config(CONFIG).start()
}

/// A request with a body.
fn send(
    server: &Server,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: &[u8],
) -> ParsedResponse {
    let length = body.len().to_string();
    let fields = [fields, &[("Content-Length", length.as_str())]].concat();
    let mut client = server.client();
    client.send([head(method, path, &fields).as_bytes(), body].concat()).unwrap();
    client.response(RequestKind::Other).unwrap()
}

fn status(server: &Server, method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]) -> u16 {
    send(server, method, path, fields, body).status
}

#[test]
fn a_value_is_written_read_and_deleted() {
    let server = site();
    let path = "/store/cards/a/b%20c";
    assert_eq!(server.get(path).status, 404);
    assert_eq!(status(&server, "PUT", path, &[], b"<b>1</b>"), 204);
    let read = server.get(path);
    assert_eq!((read.status, text(&read)), (200, "<b>1</b>"));
    assert_eq!(field(&read, "content-type"), "application/octet-stream");
    assert_eq!(field(&read, "x-content-type-options"), "nosniff");
    let mut redis = connect(resp(&server));
    let heard = say(&mut redis, b"SELECT cards\r\nGET \"a/b c\"\r\n", b"</b>\r\n");
    assert_eq!(heard, b"+OK\r\n$8\r\n<b>1</b>\r\n");
    assert_eq!(server.request("HEAD", path, &[]).status, 200);
    assert_eq!(status(&server, "DELETE", path, &[], b""), 204);
    assert_eq!(status(&server, "DELETE", path, &[], b""), 404);
    assert_eq!(status(&server, "PUT", "/store/cards?key=%FF%00", &[], b"x"), 204);
    assert_eq!(text(&server.get("/store/cards?key=%FF%00")), "x");
}

#[test]
fn conditions_hold_or_nothing_is_done() {
    let server = site();
    let path = "/store/cards/k";
    assert_eq!(status(&server, "PUT", path, &[("If-Match", "*")], b"1"), 412);
    assert_eq!(status(&server, "PUT", path, &[("If-None-Match", "*")], b"1"), 204);
    assert_eq!(status(&server, "PUT", path, &[("If-None-Match", "*")], b"2"), 412);
    let tag = field(&server.get(path), "etag").to_owned();
    assert_eq!(server.request("GET", path, &[("If-None-Match", &tag)]).status, 304);
    assert_eq!(status(&server, "PUT", path, &[("If-Match", &tag)], b"1"), 204);
    assert_eq!(status(&server, "PUT", path, &[("If-Match", &tag)], b"3"), 412);
    assert_eq!(status(&server, "DELETE", path, &[("If-Match", &tag)], b""), 412);
    let tag = field(&server.get(path), "etag").to_owned();
    assert_eq!(status(&server, "DELETE", path, &[("If-Match", &tag)], b""), 204);
    assert_eq!(server.get(path).status, 404);
}

/// They are checked in several turns, and each body from its beginning.
#[test]
fn long_json_is_checked_as_a_whole() {
    let server = site();
    let long = |begin: &str, end: &str| [begin, &"[1,2],".repeat(50_000), end].concat();
    let (valid, other) = (long("[", "3]"), long("[", "\"\u{e9}\"]"));
    let mut client = server.client();
    let mut put = |path: &str, fields: &[(&str, &str)], body: &str| {
        let length = body.len().to_string();
        let json = [("Content-Type", "application/json"), ("Content-Length", &length)];
        let head = head("PUT", path, &[fields, &json].concat());
        client.send([head.as_bytes(), body.as_bytes()].concat()).unwrap();
        client.response(RequestKind::Other).unwrap()
    };
    let unmet = [("If-Match", "\"x\"")];
    for _ in 0..2 {
        assert_eq!(put("/store/cards/long", &unmet, &valid).status, 412);
        let refused = put("/store/cards/long", &[], &long("[", "3"));
        let told = format!("',' or ']' expected at byte {}", long("[", "3").len() + 1);
        assert_eq!(refused.status, 400);
        assert!(text(&refused).contains(&told), "{}", text(&refused));
        let early = put("/store/cards/long", &[], &long("[1 ", "3]"));
        assert!(text(&early).contains("expected at byte 4"), "{}", text(&early));
        assert_eq!(put("/store/cards/long", &[], &valid).status, 204);
        assert_eq!(put("/store/cards/other", &[], &other).status, 204);
    }
    assert_eq!(text(&server.get("/store/cards/long")), valid);
    assert_eq!(text(&server.get("/store/cards/other")), other);
}

#[test]
fn values_have_kinds_and_ends() {
    let server = site();
    let json = [("Content-Type", "application/json")];
    assert_eq!(status(&server, "PUT", "/store/cards/t", &json, b"{\"a\":1}"), 204);
    assert_eq!(status(&server, "PUT", "/store/cards/t", &json, b"{\"a\":"), 400);
    assert_eq!(field(&server.get("/store/cards/t"), "content-type"), "application/json");
    assert_eq!(text(&send(&server, "POST", "/store/cards/n?add=5", &[], b"")), "5");
    assert_eq!(text(&send(&server, "POST", "/store/cards/n?add=-7", &[], b"")), "-2");
    assert_eq!(status(&server, "POST", "/store/cards/t?add=1", &[], b""), 409);
    assert_eq!(status(&server, "POST", "/store/cards/t", &[], b""), 400);
    for query in ["expires_in=0", "expires_in=-1", "expires_in=", "expires_in=1.5", "expires_in=x"]
    {
        let path = format!("/store/cards/zero?{query}");
        assert_eq!(status(&server, "PUT", &path, &[], b"x"), 400, "{query}");
    }
    for query in ["limit=0", "limit=", "limit=-1", "limit=x", "limit=1.0"] {
        assert_eq!(server.get(&format!("/store/cards?{query}")).status, 400, "{query}");
    }
    for query in ["add=", "add=x", "add=1.5", "add=9223372036854775808"] {
        assert_eq!(status(&server, "POST", &format!("/store/cards/n?{query}"), &[], b""), 400);
    }
    assert_eq!(status(&server, "PUT", "/store/cards/e?expires_in=1000", &[], b"x"), 204);
    let left: u64 = field(&server.get("/store/cards/e"), "store-expires-in").parse().unwrap();
    assert!((900_000..=1_000_000).contains(&left), "{left}");
    assert_eq!(status(&server, "PUT", "/store/cards/e?expires_in=x", &[], b"x"), 400);
    let list: Value = serde_json::from_str(text(&server.get("/store/cards?limit=2"))).unwrap();
    assert_eq!(list["keys"][0]["key"], "e");
    assert_eq!(list["keys"][1], json!({"key": "n", "value": -2}));
    assert_eq!(list["next"], "n");
    let lines =
        server.request("GET", "/store/cards?after=n", &[("Accept", "application/x-ndjson")]);
    assert_eq!(text(&lines), "{\"key\":\"t\",\"value\":{\"a\":1}}\n");
    assert_eq!(text(&server.get("/store/cards?prefix=zz")), "{\"keys\":[]}");
    assert_eq!(server.get("/store/cards?limit=0").status, 400);
}

#[test]
fn rules_say_who_may() {
    let server = site();
    let key = format!("Bearer {API_KEY}");
    let shown = [("Authorization", key.as_str())];
    assert_eq!(server.get("/store/shut/a").status, 401);
    assert_eq!(server.request("GET", "/store/shut/a", &shown).status, 404);
    assert_eq!(status(&server, "PUT", "/store/shut/a", &shown, b"1"), 403);
    assert_eq!(server.request("GET", "/store/shut", &[("Authorization", "Bearer no")]).status, 401);
    assert_eq!(server.get("/store/0/a").status, 404, "it has no section");
    let refused = server.request("PATCH", "/store/cards/a", &[]);
    assert_eq!((refused.status, field(&refused, "allow")), (405, "GET, HEAD, PUT, POST, DELETE"));
}

#[test]
fn a_body_has_the_size_of_a_value() {
    let server = site();
    let value = vec![b'v'; 16 * 1024 * 1024];
    assert_eq!(status(&server, "PUT", "/store/cards/v", &[], &value), 204);
    let written = server.request("HEAD", "/store/cards/v", &[]);
    assert_eq!(field(&written, "content-length"), value.len().to_string());
    let mut client = server.client();
    let length = (value.len() + 1).to_string();
    client.send(head("PUT", "/store/cards/v", &[("Content-Length", &length)])).unwrap();
    assert_eq!(client.response(RequestKind::Other).unwrap().status, 413);
}

#[test]
fn a_token_opens_the_databases_that_it_names() {
    let server = site();
    let reads = token("\"read\":[\"l*\"]", 3600);
    let writes = token("\"read\":[\"log\"],\"write\":[\"log\"]", 3600);
    let other = token("\"read\":[\"cards\"],\"write\":[\"cards\"],\"subscribe\":[\"log\"]", 3600);
    let bearer = |shown: &str| format!("Bearer {shown}");
    let get =
        |shown: &str| server.request("GET", "/store/log/a", &[("Authorization", &bearer(shown))]);
    let put = |shown: &str| {
        status(&server, "PUT", "/store/log/a", &[("Authorization", &bearer(shown))], b"1")
    };
    let nothing = server.get("/store/log/a");
    assert_eq!(
        (nothing.status, text(&nothing)),
        (401, "{\"error\":\"this database requires a token\"}")
    );
    assert_eq!((put(&reads), put(&other), put("x.y.z")), (403, 403, 401));
    assert_eq!((put(&writes), put(API_KEY)), (204, 204));
    assert_eq!((get(&reads).status, get(&writes).status, get(API_KEY).status), (200, 200, 200));
    assert_eq!(get(&other).status, 403);
    // Listing needs read access, and the query may contain the token.
    assert_eq!(server.get(&format!("/store/log?token={reads}")).status, 200);
    // If an API key is required, a token is refused.
    let shut = server.request("GET", "/store/shut/a", &[("Authorization", &bearer(&writes))]);
    assert_eq!(shut.status, 401);
    let ask = |shown: &str| {
        let mut client = connect(resp(&server));
        let commands = format!("AUTH {shown}\r\nSELECT log\r\nGET a\r\nSET b 1\r\nPING end\r\n");
        let heard = say(&mut client, commands.as_bytes(), b"$3\r\nend\r\n");
        String::from_utf8_lossy(&heard).into_owned()
    };
    let no = "-NOPERM this client may not do that in this database\r\n";
    let end = "$3\r\nend\r\n";
    assert_eq!(ask(&writes), format!("+OK\r\n+OK\r\n$1\r\n1\r\n+OK\r\n{end}"));
    assert_eq!(ask(&reads), format!("+OK\r\n+OK\r\n$1\r\n1\r\n{no}{end}"));
    assert_eq!(ask(&other), format!("+OK\r\n+OK\r\n{no}{no}{end}"));
}

#[test]
fn a_token_that_expires_opens_nothing_any_more() {
    let server = site();
    let short = token("\"read\":[\"log\"]", 2);
    let mut client = connect(resp(&server));
    let commands = format!("AUTH {short}\r\nSELECT log\r\nGET a\r\n");
    say(&mut client, commands.as_bytes(), b"+OK\r\n+OK\r\n$-1\r\n");
    crate::server::patience::until("the end of the token", || {
        let heard = say(&mut client, b"GET a\r\nPING end\r\n", b"end\r\n");
        heard.starts_with(b"-NOPERM").then_some(())
    });
}

#[test]
fn a_list_is_short_and_every_client_gets_its_own() {
    let server = site();
    assert_eq!(status(&server, "PUT", "/store/cards/a", &[], &[b'x'; 100_000]), 204);
    for number in 0..40 {
        let path = format!("/store/cards/k{number:02}");
        assert_eq!(status(&server, "PUT", &path, &[], &[b'"'; 20_000]), 204);
    }
    let (mut keys, mut after, mut lists) = (Vec::new(), String::new(), 0);
    loop {
        let list = server.get(&format!("/store/cards?limit=4096&after={after}"));
        // A limit, and the last record before it.
        assert!(list.body.len() < 256 * 1024 + 64 * 1024, "{}", list.body.len());
        let list: Value = serde_json::from_slice(&list.body).unwrap();
        keys.extend(list["keys"].as_array().unwrap().clone());
        lists += 1;
        match list["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!((keys.len(), lists), (41, 6));
    assert_eq!(keys[0], json!({ "key": "a", "length": 100_000 }));
    assert_eq!(keys[40]["value"].as_str().unwrap().len(), 20_000);
    // One list is answered in a turn, and none is forgotten.
    let mut clients: Vec<_> = (0..20).map(|_| server.client()).collect();
    for client in &mut clients {
        client.send(head("GET", "/store/cards", &[]).repeat(3)).unwrap();
    }
    for client in &mut clients {
        for _ in 0..3 {
            assert_eq!(client.response(RequestKind::Other).unwrap().status, 200);
        }
    }
}

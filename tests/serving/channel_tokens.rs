//! Goal: a client may do on a channel what its token says, with every protocol, and only while the token is valid.
//! Method: plain sockets, with tokens that are signed here.

use std::io::Read;

use crate::server::channel::{
    API_KEY, SECRET, UPGRADE, ask, connect, frame, resp, say, token, websocket,
};
use crate::server::client::field;
use crate::server::{Plan, Server, errors_of};

const CONFIG: &str = "[[channel]]\npattern = \"chat.*\"\nhistory = 10\nsubscribe = \"token\"\npublish = \
                      \"token\"\n[[channel]]\npattern = \"open\"\nhistory = 10\n[[channel]]\npattern = \
                      \"closed\"\nsubscribe = \"none\"\npublish = \"none\"\n[channels]\ntoken_keys = \
                      \"tokens\"\napi_keys = \"keys\"\n";

fn site() -> Server {
    let plan = Plan::new().config(CONFIG).argument("--listen-resp=127.0.0.1:0");
    plan.directory.write("tokens", format!("another secret, that was there before\n{SECRET}\n"));
    plan.directory.write("keys", API_KEY);
    plan.start()
}

const CLAIMS: &str = "\"sub\":\"ann\",\"subscribe\":[\"chat.*\"],\"publish\":[\"chat.ann\"]";

#[test]
fn requests_need_the_token_that_the_rules_ask_for() {
    let server = site();
    let good = token(CLAIMS, 3600);
    let status = |method: &str, path: &str, shown: Option<&str>| {
        let bearer = shown.map(|shown| format!("Bearer {shown}"));
        let fields: Vec<_> = bearer.iter().map(|bearer| ("Authorization", &**bearer)).collect();
        let answer = ask(&server, method, path, &fields, b"x");
        let challenge = answer.field("www-authenticate").map(<[u8]>::to_vec).unwrap_or_default();
        (answer.status, String::from_utf8_lossy(&challenge).into_owned())
    };
    for (path, shown, code, challenge) in [
        ("/channels/chat.ann", None, 401, "Bearer"),
        ("/channels/chat.ann", Some("nonsense"), 401, "Bearer error=\"invalid_token\""),
        ("/channels/chat.ann", Some(&*good), 200, ""),
        ("/channels/chat.bob", Some(&*good), 403, ""),
        ("/channels/chat.bob", Some(API_KEY), 200, ""),
        ("/channels/closed", Some(&*good), 403, ""),
        ("/channels/closed", Some(API_KEY), 200, ""),
        ("/channels/closed", None, 403, ""),
        ("/channels/open", None, 200, ""),
        ("/channels/open", Some("nonsense"), 401, "Bearer error=\"invalid_token\""),
    ] {
        assert_eq!(status("POST", path, shown), (code, challenge.to_owned()), "{path} {shown:?}");
    }
    assert_eq!(status("POST", &format!("/channels/chat.ann?token={good}"), None).0, 200);
    // Reading requires all three.
    assert_eq!(status("GET", "/channels/chat.ann", None).0, 401);
    assert_eq!(status("GET", "/channels/chat.ann", Some(&good)).0, 200);
    let events = [("Accept", "text/event-stream")];
    assert_eq!(ask(&server, "GET", "/channels/chat.ann", &events, b"").status, 401);
    for (query, code) in [("", 401), ("?token=x.y.z", 401), (&*format!("?token={good}"), 101)] {
        let request = format!("GET /channels/chat.ann{query} HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n");
        let head = say(&mut connect(server.address()), request.as_bytes(), b"\r\n\r\n");
        assert!(head.starts_with(format!("HTTP/1.1 {code} ").as_bytes()), "{query}");
    }
    let answer = ask(&server, "OPTIONS", "/channels/chat.ann", &[], b"");
    assert_eq!((answer.status, field(&answer, "allow")), (204, "GET, POST, OPTIONS"));
}

/// The public key of RFC 8410, section 10.1.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

#[test]
fn a_file_of_keys_may_have_secrets_and_public_keys() {
    let plan = Plan::new().config(CONFIG);
    plan.directory.write("tokens", format!("{PUBLIC_KEY}\n{SECRET}\n{PUBLIC_KEY}"));
    plan.directory.write("keys", API_KEY);
    let server = plan.start();
    let bearer = format!("Bearer {}", token(CLAIMS, 3600));
    let answer = ask(&server, "POST", "/channels/chat.ann", &[("Authorization", &bearer)], b"x");
    assert_eq!(answer.status, 200);
    let wrong = format!("{SECRET}\n{}short\n", PUBLIC_KEY.replace("\n", "\r\n"));
    server.directory().write("tokens", wrong);
    let problems = server.ctl_json(&["reload"])["problems"].to_string();
    assert!(problems.contains("has 5 bytes in line 5, less than 32"), "{problems}");
}

#[test]
fn a_socket_shows_a_token_and_later_another_one() {
    let server = site();
    let mut socket = websocket(&server, "/channels");
    let mut told = |order: &str, part: &str| {
        say(&mut socket, &frame(order), part.as_bytes());
    };
    told("{\"subscribe\":\"chat.a\"}", "\"error\":\"the channel requires a token\"");
    told("{\"token\":\"no\",\"id\":1}", "\"error\":\"the token is not a signed JWT\",\"id\":1}");
    let order = format!("{{\"token\":\"{}\",\"id\":2}}", token(CLAIMS, 3600));
    told(&order, "{\"authorized\":\"ann\",\"expires_in\":3600,\"id\":2}");
    told("{\"subscribe\":\"chat.a\"}", "{\"subscribed\":\"chat.a\"");
    told("{\"subscribe\":\"chat.b\"}", "{\"subscribed\":\"chat.b\"");
    told("{\"subscribe\":\"open\"}", "{\"subscribed\":\"open\"");
    told("{\"publish\":\"chat.a\",\"data\":1,\"id\":3}", "do not allow it\"");
    told("{\"publish\":\"chat.ann\",\"data\":1,\"id\":4}", "\"receivers\":0,\"id\":4}");
    // The next one names fewer channels, and is valid for a moment.
    let order = format!("{{\"token\":\"{}\"}}", token("\"subscribe\":[\"chat.b\"]", 2));
    told(
        &order,
        "{\"unsubscribed\":\"chat.a\",\"reason\":\"the token does not name the channel\"}",
    );
    told("", "{\"unsubscribed\":\"chat.b\",\"reason\":\"the token has expired\"}");
    told("{\"publish\":\"open\",\"data\":7}", "\"data\":7}");
    drop(socket);
    server.reaches("/channels/subscriptions", 0);
}

#[test]
fn subscription_ends_with_its_token() {
    let server = site();
    let short = token("\"subscribe\":[\"*\"]", 2);
    let mut plain = websocket(&server, &format!("/channels/chat.a?token={short}"));
    let mut open = websocket(&server, &format!("/channels/open?token={short}"));
    let mut events = connect(server.address());
    let request = format!(
        "GET /channels/chat.a?token={short} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n"
    );
    say(&mut events, request.as_bytes(), b"\n\n");
    let mut redis = connect(resp(&server));
    say(&mut redis, format!("AUTH {short}\r\nSUBSCRIBE chat.a\r\n").as_bytes(), b":1\r\n");
    say(&mut plain, b"", b"\x0f\xa1the token has expired");
    say(&mut events, b"", b"event: expired\ndata: the token has expired\n\n");
    say(&mut redis, b"", b"-NOAUTH the token has expired\r\n");
    let mut rest = Vec::new();
    events.read_to_end(&mut rest).unwrap();
    redis.read_to_end(&mut rest).unwrap();
    // A channel that requires no token continues.
    say(&mut open, &frame("still there"), b"still there");
}

#[test]
fn redis_clients_authenticate_as_redis_has_it() {
    let plan = Plan::new().config(&format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\nprotocol = \"resp\"\nauthenticate = true\n{CONFIG}"
    ));
    plan.directory.write("tokens", SECRET);
    plan.directory.write("keys", API_KEY);
    let server = plan.listen_as_configured(1).start();
    let mut client = connect(resp(&server));
    let mut told = |words: &[&str], answer: &str| {
        let mut bytes = format!("*{}\r\n", words.len());
        for word in words {
            bytes.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        let heard = say(&mut client, bytes.as_bytes(), b"\r\n");
        let heard = String::from_utf8_lossy(&heard).into_owned();
        assert!(heard.starts_with(answer), "{words:?}: {heard}");
    };
    for words in [&["PING"][..], &["SUBSCRIBE", "open"], &["PUBLISH", "open", "x"], &["NONE"]] {
        told(words, "-NOAUTH Authentication required.\r\n");
    }
    told(&["HELLO", "3"], "-NOAUTH HELLO must be called with the client already authenticated");
    told(&["AUTH", "wrong"], "-WRONGPASS ");
    told(&["HELLO", "3", "AUTH", "default", "wrong"], "-WRONGPASS ");
    told(&["AUTH", "a", "b", "c"], "-ERR syntax error");
    told(&["AUTH", &token(CLAIMS, 3600)], "+OK");
    told(&["PUBLISH", "chat.ann", "x"], ":0");
    told(&["PUBLISH", "chat.bob", "x"], "-NOPERM ");
    told(&["PSUBSCRIBE", "*"], "-NOPERM ");
    told(&["AUTH", "default", API_KEY], "+OK");
    told(&["PUBLISH", "closed", "x"], ":0");
    told(&["RESET"], "+RESET");
    told(&["PING"], "-NOAUTH ");
    told(&["HELLO", "2", "AUTH", "default", API_KEY], "*14");
}

#[test]
fn a_page_signs_tokens() {
    let page = format!(
        "<% local claims = json.encode({{ sub = 'ann', exp = time.now() + 600, publish = {{ 'chat.*' }} }}) \
        local text = crypto.base64url('{{\"alg\":\"HS256\"}}') .. '.' .. crypto.base64url(claims) -%>\
        <%- text .. '.' .. crypto.base64url(crypto.hmac('{SECRET}', text)) -%>"
    );
    let plan = Plan::new().config(CONFIG).file("token.page.txt", page);
    plan.directory.write("tokens", SECRET);
    plan.directory.write("keys", API_KEY);
    let server = plan.start();
    let token = server.get("/token").body;
    let bearer = format!("Bearer {}", String::from_utf8_lossy(&token).trim());
    let answer = ask(&server, "POST", "/channels/chat.a", &[("Authorization", &*bearer)], b"x");
    assert_eq!(answer.status, 200, "{bearer}");
}

#[test]
fn keys_that_cannot_be_read_refuse_the_start() {
    for (tokens, problem) in [
        ("short", "the token_keys `"),
        ("-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n", "in line 1;"),
        ("", "is empty"),
    ] {
        let plan = Plan::new().config(CONFIG);
        plan.directory.write("tokens", tokens);
        plan.directory.write("keys", API_KEY);
        let told = errors_of(&plan.fail());
        assert!(told.contains(problem), "{told}");
    }
}

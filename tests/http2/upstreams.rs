//! Goal: the proxy speaks HTTP/2 with its servers (`http2`, `h2c`), and a client cannot tell. Method: nginx, Go's
//! server and our own behind it, and one that breaks off as the test says.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::thread;

use wire::h2::{ErrorCode, SettingId, write_goaway, write_reset};

use crate::origins::{Other, Played};
use crate::server::patience::until;
use crate::server::upstreams::{
    all_to, by_hand, connect, exchange, get, next, read_to, rest, start,
};
use crate::server::{Server, free_address, has};
use crate::site::{ENCRYPTED, encrypted};

const H2C: &str = "h2c = true";

fn post(path: &str, length: usize) -> String {
    let body = "x".repeat(length);
    format!(
        "POST {path} HTTP/1.1\r\nHost: site.test\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nContent-Length: \
         {length}\r\n\r\n{body}"
    )
}

#[test]
fn bodies_trailers_and_interim_answers_pass_from_a_server_of_go() {
    if !has("go", "bodies_trailers_and_interim_answers_pass_from_a_server_of_go") {
        return;
    }
    let go = Other::go();
    let server = start(&all_to(&[go.address], H2C));
    let answer = exchange(&server, &post("/echo", 300_000));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{}", &answer[..200.min(answer.len())]);
    assert!(answer.contains("X-Spoken: HTTP/2.0\r\n"), "{}", &answer[..300]);
    assert!(answer.contains("X-Te: trailers\r\n"), "{}", &answer[..300]);
    assert!(answer.ends_with("\r\n0\r\nX-Sum: 300000\r\n\r\n"));
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.matches('x').count(), 300_000);
    let early = exchange(&server, &get("/early", ""));
    let (interim, answer) = early.split_once("\r\n\r\n").unwrap();
    assert!(interim.starts_with("HTTP/1.1 103 ") && interim.contains("Link: </a.css>"), "{early}");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("site.test"), "{early}");
    // Without the setting it is HTTP/1.1, as ever.
    let server = start(&all_to(&[go.address], ""));
    assert!(exchange(&server, &post("/echo", 3)).contains("X-Spoken: HTTP/1.1\r\n"));
}

#[test]
fn requests_of_a_scheduler_share_one_connection_to_nginx() {
    if !has("nginx", "requests_of_a_scheduler_share_one_connection_to_nginx") {
        return;
    }
    let nginx = Other::nginx();
    let server = start(&all_to(&[nginx.address], H2C));
    let field = |answer: &str, name: &str| {
        let line = answer.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name}: {answer}")).trim().to_owned()
    };
    let first = exchange(&server, &get("/a.txt", ""));
    assert_eq!(field(&first, "X-Spoken:"), "HTTP/2.0");
    let asked: Vec<_> = (0..20)
        .map(|number| {
            let mut client = connect(&server);
            let path = if number % 2 == 0 { "/a.txt" } else { "/large.bin" };
            client.write_all(get(path, "").as_bytes()).unwrap();
            thread::spawn(move || rest(&mut client))
        })
        .collect();
    for (number, asked) in asked.into_iter().enumerate() {
        let answer = asked.join().unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(body.len(), if number % 2 == 0 { 2 } else { 1024 * 1024 }, "{head}");
        assert_eq!(field(head, "X-Connection:"), field(&first, "X-Connection:"));
    }
    // Conditional and partial answers, and those without content.
    let etag = field(&first, "ETag:");
    let same = exchange(&server, &get("/a.txt", &format!("If-None-Match: {etag}\r\n")));
    assert!(same.starts_with("HTTP/1.1 304 "), "{same}");
    let part = exchange(&server, &get("/large.bin", "Range: bytes=5-9\r\n"));
    assert!(part.starts_with("HTTP/1.1 206 ") && part.ends_with("\r\n\r\nxxxxx"), "{part}");
    let head = exchange(&server, &get("/large.bin", "").replacen("GET", "HEAD", 1));
    assert!(head.contains("Content-Length: 1048576\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(exchange(&server, &get("/none", "")).starts_with("HTTP/1.1 404 "));
}

const TALK: &str =
    "return function() return websocket { open = function(socket) socket:send('hello') end } end";
const ECHO: &str = "return function(request, response) response.headers['x-spoken'] = request.tls and \
                    request.tls.protocol or 'plain' return request.body end";
const MODULES: &str = "[[route]]\npath = \"/talk\"\nmodule = \"talk\"\n[[route]]\npath = \"/echo\"\nmodule = \"echo\"\n";

fn modules(plan: crate::server::Plan) -> crate::server::Plan {
    plan.directory.write("app/talk.lua", TALK);
    plan.directory.write("app/echo.lua", ECHO);
    plan
}

fn opening(path: &str) -> String {
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    let fields = format!("Connection: Upgrade\r\nUpgrade: websocket\r\n{key}");
    format!("GET {path} HTTP/1.1\r\nHost: site.test\r\n{fields}\r\n")
}

#[test]
fn a_request_behind_a_refused_websocket_goes_over_http2() {
    let origin = modules(crate::site::plan(MODULES)).start();
    let server = start(&all_to(&[origin.address()], H2C));
    let mut client = ask(&server, &opening("/echo"));
    assert!(read_to(&mut client, "\r\n\r\n").starts_with("HTTP/1.1 200 "));
    origin.reaches("/connections", 1);
    assert!(exchange(&server, &post("/echo", 3)).ends_with("xxx"));
    // That of HTTP/1.1 is still there, for another WebSocket.
    origin.reaches("/connections", 2);
    origin.reaches("/http/http2_requests", 1);
}

#[test]
fn a_websocket_has_a_connection_of_its_own() {
    let origin = modules(crate::site::plan(MODULES)).start();
    let server = start(&all_to(&[origin.address()], H2C));
    assert!(exchange(&server, &post("/echo", 100_000)).ends_with(&"x".repeat(100_000)));
    origin.reaches("/connections", 1);
    let mut client = ask(&server, &opening("/talk"));
    let head = read_to(&mut client, "\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let mut frame = [0; 7];
    client.read_exact(&mut frame).unwrap();
    assert_eq!(&frame, b"\x81\x05hello");
    origin.reaches("/connections", 2);
    drop(client);
    origin.reaches("/connections", 1);
    assert_eq!(origin.printed_troubles(), "");
}

#[test]
fn the_handshake_of_tls_decides_which_version_is_spoken() {
    for (keys, spoken) in [("", "h2"), ("http2 = false\n", "http/1.1")] {
        let config = format!("{ENCRYPTED}{keys}{MODULES}");
        let (_origin, address, ca) = encrypted(modules(crate::server::Plan::new().config(&config)));
        let ca = ca.display();
        let tls = format!("tls = true\nserver_name = \"localhost\"\nca = \"{ca}\"");
        let server = start(&all_to(&[address], &format!("http2 = true\n{tls}")));
        for _ in 0..2 {
            let answer = exchange(&server, &post("/echo", 100_000));
            assert!(answer.contains(&format!("X-Spoken: {spoken}\r\n")), "{}", &answer[..300]);
            assert!(answer.ends_with(&"x".repeat(100_000)));
        }
        let server = start(&all_to(&[address], &tls));
        let answer = exchange(&server, &post("/echo", 5));
        assert!(answer.contains("X-Spoken: http/1.1\r\n"), "it is not offered: {answer}");
    }
}

/// Begins a request, and returns its client and the server's end.
fn ask(server: &Server, request: &str) -> std::net::TcpStream {
    let mut client = connect(server);
    client.write_all(request.as_bytes()).unwrap();
    client
}

fn status(mut client: std::net::TcpStream) -> String {
    rest(&mut client).split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_log_line_names_what_a_server_did() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], "h2c = true\nretries = 0\nidle_timeout = \"300ms\""));
    let client = ask(&server, &get("/", ""));
    let mut origin = Played::new(next(&connections), &[]);
    let head = origin.next("HEADERS");
    assert!(head.starts_with("HEADERS 1 :method=GET :scheme=http :authority=site.test :path=/ "));
    let mut out = Vec::new();
    write_reset(1, ErrorCode::InternalError, &mut out);
    origin.send(&out);
    assert_eq!(status(client), "502");
    let told = |words: &str| {
        let line = format!("upstream a, {address}: {words}");
        until(&line, || server.printed_errors().contains(&line).then_some(()));
    };
    told("the server ended the request: RST_STREAM INTERNAL_ERROR");
    let client = ask(&server, &get("/", ""));
    origin.next("HEADERS 3");
    origin.answer(3, &[(":status", "200"), ("content-length", "9")], b"lies");
    // Its head has come, and perhaps was passed on.
    let answer = rest(&mut { client });
    assert!(!answer.ends_with("lies\r\n"), "{answer}");
    told("not an HTTP answer: content that is not as long as its content-length");
    let client = ask(&server, &get("/", ""));
    origin.next("HEADERS 5");
    let mut out = Vec::new();
    write_goaway(5, ErrorCode::InternalError, "", &mut out);
    origin.send(&out);
    drop(origin);
    assert_eq!(status(client), "502");
    told("the server ended the connection: GOAWAY INTERNAL_ERROR");
    let client = ask(&server, &get("/", ""));
    let mut plain = next(&connections);
    plain.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    assert_eq!(status(client), "502");
    told("the server breaks the rules of HTTP/2: its first frame is not SETTINGS");
    // More than the window that it has before the settings come.
    let client = ask(&server, &post("/", 100_000));
    let mut origin = Played::new(next(&connections), &[(SettingId::INITIAL_WINDOW_SIZE, 0)]);
    origin.next("HEADERS");
    origin.next("RST_STREAM 1 CANCEL");
    assert_eq!(status(client), "504");
    told("timeout");
}

/// A server that has not begun a request is as one that was never reached: also a POST goes to the next one.
#[test]
fn a_request_that_a_server_has_not_begun_goes_to_the_next_one() {
    let (address, connections) = by_hand();
    let other = crate::site::plan("").file("a.txt", "a\n").start();
    let keys = "h2c = true\nbalance = \"round-robin\"\nfailures = 1000";
    let server = start(&all_to(&[address, other.address()], keys));
    let refusing = thread::spawn(move || {
        let mut origin = Played::new(next(&connections), &[]);
        origin.next("HEADERS");
        let mut out = Vec::new();
        write_goaway(0, ErrorCode::NoError, "", &mut out);
        origin.send(&out);
        origin.end();
    });
    // Of two requests, one is for the server that begins none.
    for _ in 0..2 {
        let client = ask(&server, &post("/a.txt", 3));
        assert_eq!(status(client), "405", "the other one answers");
    }
    refusing.join().unwrap();
    let line =
        format!("upstream a, {address}: the server did not begin the request: GOAWAY NO_ERROR");
    assert!(server.printed_errors().contains(&line), "{}", server.printed_errors());
}

/// One that has sent an interim answer has begun, whatever it says behind that: a POST goes to no other one.
#[test]
fn a_request_that_a_server_has_begun_goes_to_no_other_one() {
    let (address, connections) = by_hand();
    let other = crate::site::plan("").file("a.txt", "a\n").start();
    let keys = "h2c = true\nbalance = \"round-robin\"\nfailures = 1000";
    let server = start(&all_to(&[address, other.address()], keys));
    let refusing = thread::spawn(move || {
        let mut origin = Played::new(next(&connections), &[]);
        origin.next("HEADERS");
        origin.head(1, &[(":status", "103"), ("link", "</a.css>")]);
        let mut out = Vec::new();
        write_reset(1, ErrorCode::RefusedStream, &mut out);
        origin.send(&out);
        origin.end();
    });
    let mut statuses = [(); 2].map(|()| {
        let answer = rest(&mut ask(&server, &post("/a.txt", 3)));
        let (_, last) = answer.rsplit_once("HTTP/1.1 ").unwrap();
        last[..3].to_owned()
    });
    statuses.sort();
    assert_eq!(statuses, ["405", "502"], "{}", server.printed_errors());
    drop(server);
    refusing.join().unwrap();
}

#[test]
fn checks_and_requests_use_the_same_connection_and_a_drained_server_is_left() {
    let origin = crate::site::plan("").file("a.txt", "a\n").start();
    let keys = "h2c = true\ncheck = \"/a.txt\"\ncheck_interval = \"100ms\"\nfailures = 1";
    let dead: SocketAddr = free_address();
    let server = start(&all_to(&[origin.address(), dead], keys));
    until("the verdict of the checks", || {
        server.printed_errors().contains("event server_down").then_some(())
    });
    for _ in 0..5 {
        assert_eq!(status(ask(&server, &get("/a.txt", ""))), "200");
    }
    origin.reaches("/connections", 1);
    server.reaches("/outgoing/http2_connections", 1);
    // The origin says GOAWAY, and its last request is served.
    origin.signal("TERM");
    until("the end of the origin", || {
        let answer = status(ask(&server, &get("/a.txt", "")));
        assert!(["200", "502", "503"].contains(&answer.as_str()), "{answer}");
        (answer != "200").then_some(())
    });
}

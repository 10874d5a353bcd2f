//! Goal: no request over HTTP/2 becomes two over HTTP/1.1. Method: our proxy in front of a server that keeps every byte
//! it gets; the known list of ways to smuggle, each of which it must not see, or see as one request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use conformance::h2::StreamAnswer;

use crate::server::Server;
use crate::site::{plan, play, status, target};

/// Every byte that came to the server behind the proxy.
type Seen = Arc<Mutex<Vec<u8>>>;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// A server that answers when a request, which says where it ends, has come; it keeps everything.
fn behind() -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            thread::spawn(move || serve(stream, &kept));
        }
    });
    (address, seen)
}

fn serve(mut stream: TcpStream, kept: &Seen) {
    let mut own = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count) = stream.read(&mut buffer) {
        if count == 0 {
            return;
        }
        own.extend_from_slice(&buffer[..count]);
        kept.lock().unwrap().extend_from_slice(&buffer[..count]);
        if is_whole(&own) {
            // The proxy may have given up meanwhile.
            let _given_up = stream.write_all(OK);
            return;
        }
    }
}

/// RFC 9112 section 6, as far as our proxy writes it.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match length {
        Some(length) => body.len() >= length.parse().unwrap(),
        None if head.contains("transfer-encoding: chunked") => body.ends_with("0\r\n\r\n"),
        None => true,
    }
}

fn site() -> (Server, Seen) {
    let (address, seen) = behind();
    let config = format!(
        "[[upstream]]\nname = \"behind\"\nservers = [\"{address}\"]\n[[route]]\nprefix = \"/\"\nproxy = \"behind\"\n"
    );
    (plan(&config).start(), seen)
}

/// A base, and what is added to it.
const PSEUDO: &str = ":method: POST | :scheme: http | :authority: one.example | :path: /x";

#[test]
fn malformed_requests_do_not_reach_the_server_behind() {
    let (server, seen) = site();
    let target = target(&server, "/x");
    seen.lock().unwrap().clear();
    for fields in [
        "x-a: b\\r\\nsmuggled: yes",
        "x-a: b\\nsmuggled: yes",
        "x-a: b\\rsmuggled: yes",
        "x-a: b\\0smuggled",
        "x-a\\x3a b\\r\\nsmuggled: yes",
        "smuggled\\r\\nx: a",
        "smuggled : a",
        "Smuggled: a",
        "transfer-encoding: chunked",
        "transfer-encoding: identity",
        "connection: smuggled",
        "keep-alive: 5",
        "proxy-connection: close",
        "upgrade: smuggled",
        "te: chunked",
        "content-length: 5 | content-length: 6",
        "content-length: 5, 6",
        "content-length: +5",
        "content-length: 0x5",
        "content-length: 5 6",
        "host: smuggled.example",
        "host: one.example | host: smuggled.example",
        ":path: /smuggled",
        ":smuggled: a",
    ] {
        refused(&target, &format!("{PSEUDO} | {fields}"), &seen);
    }
    for pseudo in [
        ":method: POST /smuggled HTTP/1.1\\r\\nx: | :scheme: http | :authority: one.example | :path: /x",
        ":method: POST smuggled | :scheme: http | :authority: one.example | :path: /x",
        ":method: POST | :scheme: http | :authority: one.example | :path: /x HTTP/1.1\\r\\nsmuggled: a",
        ":method: POST | :scheme: http | :authority: one.example | :path: /x smuggled",
        ":method: POST | :scheme: http | :authority: one.example | :path: /x\\tsmuggled",
        ":method: POST | :scheme: http | :authority: one.example | :path: http://smuggled.example/",
        ":method: POST | :scheme: http | :authority: one.example | :path: smuggled",
        ":method: POST | :scheme: http | :authority: one.example | :path: *",
        ":method: POST | :scheme: http | :authority: one.example smuggled | :path: /x",
        ":method: POST | :scheme: http | :authority: one.example\\r\\nsmuggled: a | :path: /x",
        ":method: POST | :scheme: http | :authority: smuggled@one.example | :path: /x",
        ":method: POST | :scheme: http | :authority: one.example/smuggled | :path: /x",
        ":method: POST | :scheme: http://smuggled.example/? | :authority: one.example | :path: /x",
        ":method: POST | :scheme: http | :authority: one.example | :authority: smuggled.example | :path: /x",
        ":method: CONNECT | :authority: smuggled.example:80",
    ] {
        refused(&target, pseudo, &seen);
    }
}

fn refused(target: &conformance::h2::FrameTarget, fields: &str, seen: &Seen) {
    let mut client = target.client().unwrap();
    client.play(&format!("headers 1 | {fields}\ndata 1 end | hello\nwait end 1")).unwrap();
    let answer = client.answer(1);
    let refused =
        answer.and_then(StreamAnswer::status).is_some_and(|status| (400..600).contains(&status));
    let reset = answer.and_then(StreamAnswer::reset_code).is_some();
    assert!(refused || reset || !client.is_open(), "{fields}: {}", client.frames());
    let seen = String::from_utf8_lossy(&seen.lock().unwrap()).into_owned();
    assert!(!seen.contains("mugg"), "{fields}: {seen}");
    assert!(!seen.contains("POST"), "{fields} reached the server: {seen}");
}

#[test]
fn a_length_that_lies_ends_the_request_behind_too() {
    let (server, seen) = site();
    let target = target(&server, "/x");
    for (length, content) in
        [(10, "hello"), (3, "helloGET /smuggled HTTP/1.1\\r\\n\\r\\n"), (0, "hello")]
    {
        seen.lock().unwrap().clear();
        let mut client = target.client().unwrap();
        let lines = format!(
            "headers 1 | {PSEUDO} | content-length: {length}\ndata 1 end | {content}\nwait end 1\nwait quiet"
        );
        client.play(&lines).unwrap();
        let answer = client.answer(1).unwrap();
        // A request without content is whole, and may have its answer when content comes: that is dropped.
        let is_whole = length == 0 && answer.status() == Some(200);
        let refused = is_whole || answer.status().is_some_and(|status| status >= 400);
        assert!(refused || answer.reset_code().is_some(), "{length}: {}", client.frames());
        let seen = String::from_utf8_lossy(&seen.lock().unwrap()).into_owned();
        assert!(!seen.contains("smuggled"), "{length}: {seen}");
        assert!(!is_whole || !seen.contains("hello"), "{length}: {seen}");
    }
}

#[test]
fn a_right_request_is_one_request_behind() {
    let (server, seen) = site();
    let target = target(&server, "/x");
    seen.lock().unwrap().clear();
    let mut client = target.client().unwrap();
    let fields = "x-a: b | cookie: a=1 | cookie: b=2 | te: trailers | expect: 100-continue";
    play(
        &mut client,
        &format!("headers 1 | {PSEUDO} | {fields}\ndata 1 | GET /smuggled HTTP/1.1\\r\\n"),
    );
    play(&mut client, "data 1 end | \\r\\n0\\r\\n\\r\\n\nwait end 1");
    assert_eq!(status(&client, 1), 200);
    let seen = String::from_utf8_lossy(&seen.lock().unwrap()).into_owned();
    assert_eq!(seen.matches("POST /x HTTP/1.1\r\n").count(), 1, "{seen}");
    let lower = seen.to_ascii_lowercase();
    assert_eq!(lower.matches("\r\nhost: ").count(), 1, "{seen}");
    // RFC 9113 section 8.2.3: crumbs are one cookie again.
    assert!(lower.contains("\r\ncookie: a=1; b=2\r\n"), "{seen}");
    // RFC 9110 section 7.6.3.
    assert!(lower.contains("\r\nvia: 2.0 velodrome\r\n"), "{seen}");
    let framed = ["content-length", "transfer-encoding"]
        .map(|name| lower.matches(&format!("\r\n{name}: ")).count());
    assert_eq!(framed.iter().sum::<usize>(), 1, "{seen}");
    assert!(!lower.contains("http2-settings") && !lower.contains("\r\n:"), "{seen}");
}

#[test]
fn a_client_that_leaves_takes_its_request_back() {
    let (server, _seen) = site();
    let target = target(&server, "/x");
    let mut client = target.client().unwrap();
    play(&mut client, &format!("headers 1 | {PSEUDO}\ndata 1 | begun\nreset 1 CANCEL\nwait ping"));
    play(&mut client, &format!("headers 3 end | {PSEUDO}\nwait end 3"));
    assert_eq!(status(&client, 3), 200);
    drop(client);
    server.reaches("/connections", 0);
}

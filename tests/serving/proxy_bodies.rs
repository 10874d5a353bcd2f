//! Goal: bodies, event streams and other protocols pass through a proxy as they come, no faster than the other side
//! takes them. Method: the built binary, and servers played by threads that read and write exactly what a test says.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use crate::server::other::{always, other};
use crate::server::patience::PATIENCE;
use crate::server::upstreams::{
    LAST_OK, OK, all_to, by_hand, connect, exchange, get, next, read_to, rest, start,
};

#[test]
fn a_body_is_passed_on_as_it_arrives() {
    let (address, connections) = by_hand();
    // Limits, and access that is given by the head, are no reason to collect a body.
    let before = "access = [{ allow = \"127.0.0.1\" }]\n[[limit]]\nname = \"many\"\nrequests = \"99/s\"\n\
        [[limit]]\nname = \"else\"\nrequests = \"1/d\"\npaths = [\"/else\"]\n";
    let server = start(&format!("{before}{}", all_to(&[address], "")));
    for (framing, first, second, heard) in [
        ("Content-Length: 6", "abc", "def", "abc"),
        (
            "Transfer-Encoding: chunked",
            "3\r\nabc\r\n",
            "3\r\ndef\r\n0\r\nX-T: t\r\n\r\n",
            "3\r\nabc\r\n",
        ),
    ] {
        let mut client = connect(&server);
        let head =
            format!("POST /up HTTP/1.1\r\nHost: a\r\n{framing}\r\nConnection: close\r\n\r\n");
        client.write_all(format!("{head}{first}").as_bytes()).unwrap();
        let mut backend = next(&connections);
        let text = read_to(&mut backend, &format!("\r\n\r\n{heard}"));
        assert!(text.starts_with("POST /up HTTP/1.1\r\n") && text.contains(framing), "{text}");
        client.write_all(second.as_bytes()).unwrap();
        let end = if heard == "abc" { "def" } else { "3\r\ndef\r\n0\r\nX-T: t\r\n\r\n" };
        assert_eq!(read_to(&mut backend, end), end);
        backend.write_all(LAST_OK.as_bytes()).unwrap();
        assert!(rest(&mut client).ends_with("\r\n\r\nok"));
    }
}

#[test]
fn the_client_is_told_to_continue_and_the_server_gets_the_body() {
    let (address, heard) = always(OK);
    let server = start(&all_to(&[address], ""));
    let mut client = connect(&server);
    let head = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: \
                close\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    assert_eq!(read_to(&mut client, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"body").unwrap();
    assert!(rest(&mut client).ends_with("\r\n\r\nok"));
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    assert!(request.ends_with("\r\n\r\nbody") && !request.contains("Expect"), "{request}");
}

/// The bodies are longer than all buffers on the way.
#[test]
fn long_bodies_pass_in_both_directions() {
    const LENGTH: usize = 8 * 1024 * 1024;
    let (address, connections) = by_hand();
    let server =
        start(&format!("limits = {{ body_size = \"16 MiB\" }}\n{}", all_to(&[address], "")));
    let mut client = connect(&server);
    let body: Vec<u8> = (0..LENGTH).map(|index| (index / 251 + index) as u8).collect();
    let sent = body.clone();
    let mut writer = client.try_clone().unwrap();
    let writing = thread::spawn(move || {
        let head = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {LENGTH}\r\nConnection: close\r\n\r\n"
        );
        writer.write_all(head.as_bytes()).unwrap();
        writer.write_all(&sent).unwrap();
    });
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let mut arrived = vec![0; LENGTH];
    backend.read_exact(&mut arrived).unwrap();
    assert!(arrived == body);
    writing.join().unwrap();
    let answering = thread::spawn(move || {
        backend
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n").as_bytes())
            .unwrap();
        backend.write_all(&arrived).unwrap();
    });
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    answering.join().unwrap();
    assert!(answer.ends_with(&body) && answer.len() < LENGTH + 200);
}

fn upload(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

/// Each server sends its head before it reads the body. The second one sends back what it reads.
#[test]
fn an_answer_passes_while_the_body_still_arrives() {
    const LENGTH: usize = 8 * 1024 * 1024;
    let (address, connections) = by_hand();
    let config =
        format!("limits = {{ body_size = \"16 MiB\" }}\n{}", all_to(&[address], "connections = 1"));
    let server = start(&config);
    for sends_back in [false, true] {
        let mut client = connect(&server);
        client.write_all(upload(LENGTH).as_bytes()).unwrap();
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        let answer_length = if sends_back { LENGTH } else { 2 };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {answer_length}\r\n\r\n");
        backend.write_all(head.as_bytes()).unwrap();
        let head = read_to(&mut client, "\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
        let serving = thread::spawn(move || {
            let (mut left, mut piece) = (LENGTH, vec![0; 10_000]);
            while left > 0 {
                let read = backend.read(&mut piece).unwrap();
                assert!(read > 0, "the body is whole");
                left -= read;
                if sends_back {
                    backend.write_all(&piece[..read]).unwrap();
                }
            }
            if !sends_back {
                backend.write_all(b"ok").unwrap();
            }
        });
        let body: Vec<u8> = (0..LENGTH).map(|index| (index / 251 + index) as u8).collect();
        let mut writer = client.try_clone().unwrap();
        let sent = body.clone();
        let writing = thread::spawn(move || writer.write_all(&sent).unwrap());
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert!(answer == if sends_back { body } else { b"ok".to_vec() });
        writing.join().unwrap();
        serving.join().unwrap();
    }
}

/// The server sends its head, and reads nothing.
#[test]
fn an_upload_that_a_server_does_not_read_gives_its_place_back() {
    let (address, connections) = by_hand();
    let keys = "connections = 1\nidle_timeout = \"300ms\"";
    let config = format!("limits = {{ body_size = \"1 GiB\" }}\n{}", all_to(&[address], keys));
    let server = start(&config);
    let mut client = connect(&server);
    client.write_all(upload(100_000_000).as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n").unwrap();
    let mut writer = client.try_clone().unwrap();
    let writing = thread::spawn(move || writer.write_all(&vec![0; 100_000_000]));
    assert!(rest(&mut client).starts_with("HTTP/1.1 200 OK\r\n"));
    let mut second = connect(&server);
    second.write_all(get("/", "").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut second).ends_with("\r\n\r\nok"));
    drop(client);
    assert!(writing.join().unwrap().is_err(), "the connection has ended before the body");
}

/// The client reads nothing of an answer that is longer than all buffers.
#[test]
fn the_time_of_a_request_is_over_whatever_its_client_reads() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], "connections = 1\ntimeout = \"500ms\""));
    let mut client = connect(&server);
    client.write_all(get("/", "").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let writing = thread::spawn(move || {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n";
        backend.write_all(head.as_bytes()).unwrap();
        backend.write_all(&vec![0; 100_000_000])
    });
    assert!(writing.join().unwrap().is_err(), "its connection was closed");
    let mut second = connect(&server);
    second.write_all(get("/", "").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut second).ends_with("\r\n\r\nok"));
    let answer = rest(&mut client);
    assert!(answer.len() < 100_000_000, "it is cut");
}

#[test]
fn events_are_passed_on_one_by_one() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], ""));
    let mut client = connect(&server);
    client.write_all(get("/events", "Accept: text/event-stream\r\n").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").unwrap();
    assert!(read_to(&mut client, "\r\n\r\n").contains("Content-Type: text/event-stream\r\n"));
    for number in 0..3 {
        backend.write_all(format!("data: {number}\n\n").as_bytes()).unwrap();
        assert_eq!(read_to(&mut client, "\n\n\r\n"), format!("9\r\ndata: {number}\n\n\r\n"));
    }
    drop(backend);
    assert_eq!(rest(&mut client), "0\r\n\r\n");
}

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n";

#[test]
fn a_websocket_passes_through() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], ""));
    let mut client = connect(&server);
    client.write_all(UPGRADE.as_bytes()).unwrap();
    let mut backend = next(&connections);
    let request = read_to(&mut backend, "\r\n\r\n");
    assert!(request.contains("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"), "{request}");
    assert!(request.contains("\r\nSec-WebSocket-Key: x\r\n"), "{request}");
    let head = "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: \
                websocket\r\nSec-WebSocket-Accept: y\r\n\r\n";
    backend.write_all(format!("{head}first").as_bytes()).unwrap();
    let answer = read_to(&mut client, "\r\n\r\nfirst");
    assert!(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{answer}");
    assert!(answer.contains("\r\nUpgrade: websocket\r\n"), "{answer}");
    assert!(answer.contains("\r\nSec-WebSocket-Accept: y\r\n"), "{answer}");
    for _ in 0..3 {
        client.write_all(b"from the client").unwrap();
        assert_eq!(read_to(&mut backend, "client"), "from the client");
        backend.write_all(b"from the server").unwrap();
        assert_eq!(read_to(&mut client, "server"), "from the server");
    }
    drop(client);
    assert_eq!(rest(&mut backend), "");
}

/// Behind another version of HTTP, the server would get requests that nobody here has looked at.
#[test]
fn only_the_protocols_of_the_route_are_offered_to_a_server() {
    let (address, heard) = always(OK);
    let proxy = |upgrade: &str| {
        let servers = format!("[[upstream]]\nname = \"a\"\nservers = [\"{address}\"]\n");
        format!("[[route]]\nprefix = \"/\"\nproxy = {{ upstream = \"a\"{upgrade} }}\n{servers}")
    };
    for (keys, offered, passed) in [
        ("", "h2c", ""),
        ("", "h2c, websocket, TLS/1.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
        (", upgrade = []", "websocket", ""),
        (", upgrade = [\"Other\"]", "other/2", "Connection: Upgrade\r\nUpgrade: other/2\r\n"),
    ] {
        let server = start(&proxy(keys));
        let mut client = connect(&server);
        let fields = format!("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {offered}");
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\nHTTP2-Settings: AAMA\r\n\r\n");
        client.write_all(text.as_bytes()).unwrap();
        read_to(&mut client, "ok");
        let others = std::iter::from_fn(|| heard.recv_timeout(PATIENCE).ok());
        let (_, request) = others.into_iter().find(|(_, request)| request != "end").unwrap();
        assert!(!request.contains("HTTP2-Settings"), "{request}");
        let upgrade = request.find("Connection:").map_or("", |at| &request[at..]);
        assert_eq!(upgrade.trim_end_matches("\r\n"), passed.trim_end_matches("\r\n"), "{offered}");
    }
}

/// The connection of the client ends after this request, so it cannot change.
#[test]
fn the_last_request_of_a_connection_offers_no_protocol() {
    let (address, heard) = always(OK);
    let limits = "limits = { requests_per_connection = 1 }";
    let server = start(&format!("{limits}\n{}", all_to(&[address], "")));
    assert!(exchange(&server, UPGRADE).ends_with("\r\n\r\nok"));
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    assert!(!request.contains("Upgrade"), "{request}");
}

#[test]
fn a_tunnel_moves_more_than_its_buffers_hold() {
    const LENGTH: usize = 4 * 1024 * 1024;
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], ""));
    let mut client = connect(&server);
    client.write_all(UPGRADE.as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend
        .write_all(b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        .unwrap();
    read_to(&mut client, "\r\n\r\n");
    let move_all = |from: &TcpStream, to: &TcpStream, byte: u8| {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let writing = thread::spawn(move || from.write_all(&vec![byte; LENGTH]).unwrap());
        let reading = thread::spawn(move || {
            let mut bytes = vec![0; LENGTH];
            to.read_exact(&mut bytes).unwrap();
            assert!(bytes.iter().all(|read| *read == byte));
        });
        (writing, reading)
    };
    let up = move_all(&client, &backend, 1);
    let down = move_all(&backend, &client, 2);
    for thread in [up.0, up.1, down.0, down.1] {
        thread.join().unwrap();
    }
    backend.shutdown(Shutdown::Both).unwrap();
    assert_eq!(rest(&mut client), "");
}

#[test]
fn a_server_may_refuse_to_change_the_protocol() {
    let (address, _heard) =
        always("HTTP/1.1 426 Upgrade\r\nUpgrade: other\r\nContent-Length: 2\r\n\r\nno");
    let server = start(&all_to(&[address], ""));
    let mut client = connect(&server);
    client.write_all(UPGRADE.as_bytes()).unwrap();
    let answer = read_to(&mut client, "\r\n\r\nno");
    assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
    client.write_all(get("/", "").as_bytes()).unwrap();
    assert!(rest(&mut client).starts_with("HTTP/1.1 426 "));
}

#[test]
fn a_client_that_closes_ends_the_exchange() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], ""));
    for text in
        [get("/", ""), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nxyz".to_owned()]
    {
        let mut client = connect(&server);
        client.write_all(text.as_bytes()).unwrap();
        let mut backend = next(&connections);
        // No text that a request id, which is hexadecimal, may have.
        read_to(&mut backend, if text.starts_with("GET") { "\r\n\r\n" } else { "xyz" });
        drop(client);
        assert_eq!(rest(&mut backend), "");
    }
}

#[test]
fn a_buffered_body_is_complete_before_a_server_hears_of_it() {
    let (address, connections) = by_hand();
    let keys = "buffer_request = true";
    let limits = "limits = { body_size = \"300 KiB\" }\n";
    let server = start(&format!("{limits}{}", all_to(&[address], keys)));
    for (field, begin, end) in [
        ("Content-Length: 6", "abc", "def"),
        ("Transfer-Encoding: chunked", "3\r\nabc\r\n", "3\r\ndef\r\n0\r\n\r\n"),
    ] {
        let mut slow = connect(&server);
        let head =
            format!("POST /slow HTTP/1.1\r\nHost: a\r\n{field}\r\nConnection: close\r\n\r\n");
        slow.write_all(format!("{head}{begin}").as_bytes()).unwrap();
        // One that comes later is the first that the server hears of.
        let mut quick = connect(&server);
        quick.write_all(get("/quick", "").as_bytes()).unwrap();
        let mut backend = next(&connections);
        assert!(read_to(&mut backend, "\r\n\r\n").starts_with("GET /quick "));
        backend.write_all(LAST_OK.as_bytes()).unwrap();
        assert!(rest(&mut quick).ends_with("ok"));
        slow.write_all(end.as_bytes()).unwrap();
        let mut backend = next(&connections);
        let request = read_to(&mut backend, "abcdef");
        assert!(
            request.starts_with("POST /slow ") && request.contains("Content-Length: 6\r\n"),
            "{request}"
        );
        backend.write_all(LAST_OK.as_bytes()).unwrap();
        assert!(rest(&mut slow).ends_with("ok"));
    }
    let long = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", 301 * 1024);
    assert!(exchange(&server, &long).starts_with("HTTP/1.1 413 "));
}

#[test]
fn a_long_body_that_is_buffered_can_be_sent_again() {
    let body = "x".repeat(200_000);
    let put = format!(
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    for (keys, status) in [("", "502"), ("buffer_request = true\n", "200")] {
        let ((deaf, _heard), (good, heard)) = (other(|_, _, _| Vec::new()), always(OK));
        let server = start(&all_to(&[deaf, good], &format!("{keys}balance = \"round-robin\"")));
        let answer = exchange(&server, &put);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{keys}: {answer}");
        let passed = heard.try_iter().any(|(_, request)| request.ends_with(&body));
        assert_eq!(passed, status == "200", "{keys}");
    }
}

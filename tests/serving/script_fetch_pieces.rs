//! Goal: a page reads another server's answer in pieces, and an unread rest is dropped. Method: the built binary, and
//! other servers played by threads.

use std::io::Write;
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::server::client::{Client, head, text};
use crate::server::other::{other, whole_request};
use crate::server::patience::{PATIENCE, until};
use crate::server::{Plan, Server};

fn start(pages: &[(&str, &str)]) -> Server {
    Plan::new().argument("--schedulers=1").files(pages).start()
}

/// Reads until a part of an answer ends with this.
fn read_until(client: &mut Client, end: &str) {
    let end = format!("{end}\r\n");
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    while !received.ends_with(end.as_bytes()) {
        let count = crate::server::client::read(&mut client.stream, &mut buffer).unwrap();
        assert!(count > 0, "{}", received.escape_ascii());
        received.extend_from_slice(&buffer[..count]);
    }
}

#[test]
fn an_answer_is_read_piece_by_piece_as_it_comes() {
    const PIECES: usize = 400;
    let piece = "0123456789abcdef".repeat(4096);
    let (go_on, may_go_on) = channel::<()>();
    let may_go_on = Arc::new(Mutex::new(may_go_on));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent = piece.clone();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        whole_request(&mut stream).unwrap();
        let length = PIECES * sent.len() + 5;
        let head = format!("HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: {length}\r\n\r\nfirst");
        stream.write_all(head.as_bytes()).unwrap();
        // Nothing more is sent before the page has read that.
        may_go_on.lock().unwrap().recv().unwrap();
        for _ in 0..PIECES {
            stream.write_all(sent.as_bytes()).unwrap();
        }
    });
    let page = "<% local a = assert(fetch(request.query.url, { stream = true }))\n\
        response:write(a.headers['x-a'], tostring(a.body), a:read()) response:flush()\n\
        for piece in a:pieces() do response:write(piece) response:flush() end %>";
    let server = start(&[("relay.page.txt", page)]);
    let mut client = server.client();
    client
        .send(head("GET", &format!("/relay?url=http://{address}/"), &[("Connection", "close")]))
        .unwrap();
    read_until(&mut client, "bnilfirst");
    go_on.send(()).unwrap();
    // It is longer than a complete answer may be.
    let (rest, _) = client.rest().unwrap();
    let data = rest.iter().filter(|byte| piece.as_bytes().contains(byte)).count();
    assert!(data >= PIECES * piece.len(), "{data} bytes");
    assert!(rest.ends_with(b"\r\n0\r\n\r\n"), "{}", server.printed_errors());
}

#[test]
fn streams_leave_room_for_other_fetches() {
    let (address, _) = other(|_, _, request| {
        if request.starts_with("GET /short") {
            return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
        }
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nsome".to_vec()
    });
    let many = "<% local all, url = {}, request.query.url\n\
        for i = 1, 8 do while not all[i] do all[i] = fetch(url, { stream = true }) sleep(0.01) end end\n\
        self() receive() %>";
    let probe = "<% local url = request.query.url local a, why = fetch(url, { stream = true })\n\
        response:write(tostring(why))\n\
        response:write(' ', fetch(url .. 'short').body) %>";
    let server = start(&[("many.page.txt", many), ("probe.page.txt", probe)]);
    let _held: Vec<Client> = (0..64)
        .map(|_| {
            let mut client = server.client();
            client.send(head("GET", &format!("/many?url=http://{address}/"), &[])).unwrap();
            client
        })
        .collect();
    let path = format!("/probe?url=http://{address}/");
    until("all of them to be open", || {
        (text(&server.get(&path)) == "too many fetches at once ok").then_some(())
    });
}

#[test]
fn pages_that_fetch_from_their_own_server_leave_connections_for_clients() {
    let endless =
        "<% local s = ('x'):rep(4096) while true do response:write(s) response:flush() end %>";
    let hoard = "<% local url = request.query.url\nfor i = 1, 200 do spawn(function() local a = fetch(url, \
                 { stream = true, timeout = 60 }) receive(60) end) end %>";
    let server = Plan::new()
        .argument("--schedulers=1")
        .config("[limits]\nconnections = 64\n")
        .files(&[
            ("endless.page.txt", endless),
            ("hoard.page.txt", hoard),
            ("hello.page.txt", "hello"),
        ])
        .start();
    let path = format!("/hoard?url=http://{}/endless", server.address());
    assert_eq!(server.get(&path).status, 200);
    // A quarter of the connections is for fetches, and half of that for fetches of processes.
    until("the fetches", || (server.count("/processes/outbound") >= 8).then_some(()));
    for _ in 0..50 {
        assert_eq!(text(&server.get("/hello")), "hello");
    }
}

#[test]
fn unread_streams_end_with_their_page() {
    let endless = |_: usize, _: usize, _: &str| {
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nsome".to_vec()
    };
    let (address, heard) = other(endless);
    let page = "<% local url, all = request.query.url, {}\n\
        for i = 1, 9 do local a, why = fetch(url, { stream = true }) all[i] = a or why end\n\
        response:write(all[1]:read(), all[9], ' ') all[2]:close()\n\
        response:write(tostring(select(2, all[2]:read())))\n\
        spawn(function(a) log.info(select(2, a:read())) end, all[1])\n\
        if request.query.fail then error('no') end\n\
        if request.query.wait then response:flush() all[3]:read() all[3]:read() end %>";
    let server = start(&[("leave.page.txt", page)]);
    let path = format!("/leave?url=http://{address}/");
    assert_eq!(text(&server.get(&path)), "sometoo many fetches at once the answer is closed");
    assert_eq!(server.get(&format!("{path}&fail=1")).status, 500);
    let mut client = server.client();
    client.send(head("GET", &format!("{path}&wait=1"), &[])).unwrap();
    // Printed after all of its fetches.
    read_until(&mut client, "the answer is closed");
    drop(client);
    // Each of three pages had eight connections, and all have ended.
    let mut ended = 0;
    while ended < 24 {
        ended += usize::from(heard.recv_timeout(PATIENCE).unwrap().1 == "end");
    }
    until("the word of the process", || {
        server.printed_errors().contains("the answer is closed").then_some(())
    });
}

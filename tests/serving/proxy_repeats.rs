//! Goal: a request of which a server can have got nothing reaches the next one, however long its body is. Method: the
//! built binary, addresses at which nobody listens or accepts, and a server that counts what it gets.

use std::io::{Read, Write};
use std::thread;

use crate::server::free_address;
use crate::server::upstreams::{LAST_OK, all_to, by_hand, connect, next, read_to, rest, start};

/// More than is kept of a body once a server may have got some of it.
const LENGTH: usize = 1024 * 1024;

fn framed(framing: &str) -> (String, Vec<u8>) {
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\nConnection: close\r\n\r\n");
    let body: Vec<u8> = (0..LENGTH).map(|index| (index / 251 + index) as u8).collect();
    (head, body)
}

#[test]
fn long_body_goes_to_the_next_server_if_the_first_does_not_listen() {
    let (alive, connections) = by_hand();
    let config = "retries = 1\nfailures = 1000\nbalance = \"round-robin\"";
    // Round robin begins anywhere, and both requests have to meet the dead server once.
    let server = start(&all_to(&[free_address(), alive], config));
    for _ in 0..4 {
        let (head, body) = framed(&format!("Content-Length: {LENGTH}"));
        let mut client = connect(&server);
        let mut writer = client.try_clone().unwrap();
        let sent = body.clone();
        let writing = thread::spawn(move || {
            writer.write_all(head.as_bytes()).unwrap();
            let _refused = writer.write_all(&sent);
        });
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        let mut arrived = vec![0; LENGTH];
        backend.read_exact(&mut arrived).unwrap();
        assert!(arrived == body);
        backend.write_all(LAST_OK.as_bytes()).unwrap();
        assert!(rest(&mut client).starts_with("HTTP/1.1 200 "));
        writing.join().unwrap();
    }
}

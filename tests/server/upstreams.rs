//! Servers behind a proxy, played by threads that read and write exactly what a test says, and clients that do.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::client::read;
use super::patience::PATIENCE;
use super::{Plan, Server};

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The same from a server that closes: the next request comes over another connection, whenever this one ends.
pub(crate) const LAST_OK: &str =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// A configuration with one upstream `a` for all paths, with these keys.
pub(crate) fn all_to(servers: &[SocketAddr], keys: &str) -> String {
    let servers: Vec<String> = servers.iter().map(|server| format!("\"{server}\"")).collect();
    let servers = servers.join(", ");
    format!(
        "[[route]]\nprefix = \"/\"\nproxy = \"a\"\n[[upstream]]\nname = \"a\"\nservers = \
         [{servers}]\n{keys}\n"
    )
}

pub(crate) fn start(config: &str) -> Server {
    Plan::new().argument("--schedulers=1").config(config).start()
}

/// Sends a text on a connection of its own, and returns everything that comes back until its end.
pub(crate) fn exchange(server: &Server, text: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(text.as_bytes()).unwrap();
    rest(&mut stream)
}

pub(crate) fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A GET whose connection closes after the answer.
pub(crate) fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: site.test\r\n{fields}Connection: close\r\n\r\n")
}

/// Reads until the text ends so.
pub(crate) fn read_to(stream: &mut impl Read, end: &str) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(end.as_bytes()) {
        let read = read(stream, &mut byte).unwrap();
        assert!(read > 0, "ended after {:?}, before {end:?}", String::from_utf8_lossy(&text));
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// A server that hands each of its connections to the test.
pub(crate) fn by_hand() -> (SocketAddr, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (hand, connections) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            if hand.send(stream).is_err() {
                return;
            }
        }
    });
    (address, connections)
}

pub(crate) fn next(connections: &Receiver<TcpStream>) -> TcpStream {
    connections.recv_timeout(PATIENCE).unwrap()
}

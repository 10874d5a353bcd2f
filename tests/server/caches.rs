//! Caches of upstreams: servers that tell what reached them, and what their clients see of the cache.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Server;
use super::other::{Heard, other};
use super::patience::until;
use super::upstreams::{all_to, connect, exchange, get, start};

/// A server whose every answer has these lines, and as its body the number of the answer.
pub(crate) fn counting(lines: &'static str) -> (SocketAddr, Heard) {
    let count = Arc::new(AtomicUsize::new(0));
    other(move |_, _, _| {
        let body = count.fetch_add(1, Ordering::Relaxed).to_string();
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {length}\r\n\r\n{body}").into_bytes()
    })
}

/// A server with one upstream and a cache with these keys.
pub(crate) fn cached(address: SocketAddr, keys: &str) -> Server {
    start(&all_to(&[address], &format!("cache = {{ {keys} }}")))
}

pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or(answer, |(_, body)| body)
}

/// The body and what the cache has done.
pub(crate) fn ask(server: &Server, path: &str, fields: &str) -> (String, String) {
    seen(&exchange(server, &get(path, fields)))
}

pub(crate) fn seen(answer: &str) -> (String, String) {
    (body(answer).to_owned(), field(answer, "Cache-Status"))
}

pub(crate) fn field(answer: &str, name: &str) -> String {
    let name = format!("{name}: ");
    let line = answer.lines().find_map(|line| line.strip_prefix(&*name));
    line.unwrap_or("none").to_owned()
}

pub(crate) fn pair(body: &str, status: &str) -> (String, String) {
    (body.to_owned(), format!("velodrome; {status}"))
}

/// The number of requests that have reached a server.
pub(crate) fn count(heard: &Heard) -> usize {
    heard.try_iter().filter(|(_, request)| request != "end").count()
}

pub(crate) const FRESH: &str = "Cache-Control: max-age=1000\r\n";

/// Requests that are sent one after the other, each on a connection of its own.
pub(crate) fn clients(server: &Server, count: usize, text: &str) -> Vec<TcpStream> {
    let mut clients: Vec<_> = (0..count).map(|_| connect(server)).collect();
    for client in &mut clients {
        client.write_all(text.as_bytes()).unwrap();
    }
    clients
}

/// Waits until a counter of the cache has this value.
pub(crate) fn counted(server: &Server, name: &str, value: u64) {
    until(name, || (server.told("/cache")[name] == value).then_some(()));
}

/// A server with an answer that has always to be validated.
pub(crate) fn validated(lines: &'static str) -> (SocketAddr, Heard, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&fails);
    let (address, heard) = other(move |_, _, request| {
        let answer = match request {
            _ if told.load(Ordering::Relaxed) => {
                "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy".to_owned()
            }
            known if known.contains("If-None-Match: \"e\"\r\n") => {
                format!("HTTP/1.1 304 Same\r\nETag: \"e\"\r\nX-New: 1\r\n{lines}\r\n")
            }
            _ => format!("HTTP/1.1 200 OK\r\nETag: \"e\"\r\n{lines}Content-Length: 2\r\n\r\nok"),
        };
        answer.into_bytes()
    });
    (address, heard, fails)
}

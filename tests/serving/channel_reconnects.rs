//! Goal: a thousand clients that disconnect and reconnect, and lose bytes in flight, get every message once and in
//! order. Method: plain sockets against two schedulers; some read everything, others close without reading and
//! reconnect with their last position.

use std::io::Write;
use std::net::TcpStream;

use crate::server::channel::{frame, post, say, websocket};
use crate::server::{Plan, Server};

const CLIENTS: usize = 1_000;
const ROUNDS: usize = 4;
const MESSAGES: usize = 25;

/// The state of one client.
struct Client {
    since: String,
    offsets: Vec<u64>,
}

impl Client {
    /// Reconnects with its position.
    fn join(&self, server: &Server) -> TcpStream {
        let mut socket = websocket(server, "/channels");
        let order = format!("{{\"subscribe\":\"chat\",\"since\":\"{}\"}}", self.since);
        socket.write_all(&frame(&order)).unwrap();
        socket
    }

    /// Reads up to this text, and stores the messages.
    fn read(&mut self, socket: &mut TcpStream, end: &str) {
        let last = format!("\"data\":\"{end}\"");
        let heard = say(socket, b"", last.as_bytes());
        let heard = String::from_utf8_lossy(&heard);
        // Bytes after it are lost with the connection.
        let text = &heard[..heard.find(&last).unwrap()];
        assert!(!text.contains("\"recovered\":false"), "{text}");
        let (_, subscribed) = text.split_once("\"since\":\"").unwrap();
        let (at, _) = subscribed.split_once('"').unwrap();
        let epoch = at.split_once('-').unwrap().0;
        for part in text.split("\"offset\":").skip(1) {
            let (offset, _) = part.split_once(',').unwrap();
            self.offsets.push(offset.parse().unwrap());
        }
        self.since = format!("{epoch}-{}", self.offsets.last().unwrap());
    }
}

#[test]
fn a_thousand_clients_that_come_back_miss_nothing() {
    let config = "[[channel]]\npattern = \"chat\"\nhistory = 1000\n";
    let server = Plan::new().config(config).argument("--schedulers=2").start();
    assert_eq!(post(&server, "/channels/chat", b"first"), 200);
    let first = server.get("/channels/chat?wait=0");
    let first: serde_json::Value = serde_json::from_slice(&first.body).unwrap();
    let since = first["since"].as_str().unwrap();
    let client = |_| Client { since: since.to_owned(), offsets: Vec::new() };
    let mut clients: Vec<Client> = (0..CLIENTS).map(client).collect();
    for round in 0..ROUNDS {
        let mut sockets: Vec<TcpStream> =
            clients.iter().map(|client| client.join(&server)).collect();
        for number in 1..=MESSAGES {
            let text = format!("{round}-{number}");
            assert_eq!(post(&server, "/channels/chat", text.as_bytes()), 200);
        }
        for (at, (client, socket)) in clients.iter_mut().zip(&mut sockets).enumerate() {
            // In each round others close without reading, or in the middle; in the last one all read.
            let until = match (at + round) % 3 {
                _ if round + 1 == ROUNDS => MESSAGES,
                0 => continue,
                1 => MESSAGES / 2,
                _ => MESSAGES,
            };
            client.read(socket, &format!("{round}-{until}"));
        }
    }
    let all: Vec<u64> = (2..2 + (ROUNDS * MESSAGES) as u64).collect();
    for (at, client) in clients.iter().enumerate() {
        assert_eq!(client.offsets, all, "client {at}");
    }
    server.reaches("/channels/subscriptions", 0);
}

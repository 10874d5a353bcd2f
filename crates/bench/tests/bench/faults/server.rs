//! A server that behaves as a test wants: one thread per connection.
#![expect(clippy::disallowed_types, reason = "a test holds sockets of its own")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A server that has this conversation on every connection, and then closes it. It runs until the tests end.
pub(crate) fn serve(converse: impl Fn(&mut Conversation) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let converse = Arc::new(converse);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut conversation = Conversation { stream: BufReader::new(stream.unwrap()) };
            let converse = Arc::clone(&converse);
            thread::spawn(move || converse(&mut conversation));
        }
    });
    address
}

/// A server that answers every request with these bytes.
pub(crate) fn answering(answer: &'static [u8]) -> SocketAddr {
    serve(|conversation| while conversation.hears() && conversation.says(answer) {})
}

/// A server that answers the first request of each connection with these bytes, and closes.
pub(crate) fn answering_once(answer: &'static [u8]) -> SocketAddr {
    serve(|conversation| {
        let _told = conversation.hears() && conversation.says(answer);
    })
}

/// A server that sends this after the first request, and then repeats the rest without end.
pub(crate) fn never_ending(first: &'static [u8], rest: &'static [u8]) -> SocketAddr {
    serve(|conversation| {
        if conversation.hears() && conversation.says(first) {
            while conversation.says(rest) {}
        }
    })
}

/// An address at which nothing listens.
pub(crate) fn nobody() -> SocketAddr {
    TcpListener::bind("127.9.9.9:0").unwrap().local_addr().unwrap()
}

/// A connection, from the server's side.
pub(crate) struct Conversation {
    stream: BufReader<TcpStream>,
}

impl Conversation {
    /// Reads the head of a request; returns whether there was one.
    pub(crate) fn hears(&mut self) -> bool {
        let mut line = String::new();
        loop {
            line.clear();
            match self.stream.read_line(&mut line) {
                Ok(0) | Err(_) => return false,
                Ok(_) if line == "\r\n" => return true,
                Ok(_) => {}
            }
        }
    }

    /// Sends bytes; returns whether the peer still reads.
    pub(crate) fn says(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Waits until the peer closes.
    pub(crate) fn outlasts(&mut self) {
        while self.hears() {}
    }
}

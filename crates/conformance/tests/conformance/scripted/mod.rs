//! Owns a tiny server that answers every connection by a script, correctly or not, as the test wants.
//! Parses no HTTP except the end of a head.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The action of the server after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Wait for the next head.
    Keep,
    /// Close.
    Close,
}

/// The answer to one head.
pub(crate) type Script = fn(head: &str) -> (Vec<u8>, Then);

/// A server on a free port, until it is dropped.
pub(crate) struct Scripted {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Scripted {
    pub(crate) fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if seen.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                thread::spawn(move || serve(stream, script));
            }
        });
        Self { address, stop, thread: Some(thread) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the accept; a failure means that the listener is closed already.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An error means that the client has closed, which ends the connection.
fn serve(mut stream: TcpStream, script: Script) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head: Vec<u8> = bytes.drain(..end + 4).collect();
            let (answer, then) = script(&String::from_utf8_lossy(&head));
            if stream.write_all(&answer).is_err() || then == Then::Close {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

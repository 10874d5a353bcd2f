//! Goal: the floor answers in each mode as `cargo xtask bench` expects. Method: the built program and plain sockets.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Long enough for a busy host.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running floor; it ends when dropped.
struct Floor {
    child: RefCell<Child>,
    words: Vec<String>,
    address: SocketAddr,
}

impl Floor {
    fn start(words: &[&str]) -> Floor {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut all = vec![address.to_string()];
        all.extend(words.iter().map(ToString::to_string));
        Floor { child: RefCell::new(Self::spawn(&all)), words: all, address }
    }

    fn spawn(words: &[String]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_floor")).args(words).spawn().unwrap()
    }

    /// A connection that was answered once. A reset connection met the listener that found the address: a process that
    /// another test forks holds it until it executes its program. A floor that was started in the meantime has ended,
    /// because the address was in use, and is started again.
    fn connect(&self) -> TcpStream {
        let begun = Instant::now();
        loop {
            match self.try_connect() {
                Ok(socket) => return socket,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
            let mut child = self.child.borrow_mut();
            if child.try_wait().unwrap().is_some() {
                *child = Self::spawn(&self.words);
            }
            std::thread::yield_now();
        }
    }

    fn try_connect(&self) -> io::Result<TcpStream> {
        let mut socket = TcpStream::connect(self.address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        try_ask(&mut socket, REQUEST)?;
        Ok(socket)
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        let child = self.child.get_mut();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Sends a request and returns the answer, whose body has two bytes.
fn ask(socket: &mut TcpStream, request: &[u8]) -> String {
    try_ask(socket, request).unwrap()
}

fn try_ask(socket: &mut TcpStream, request: &[u8]) -> io::Result<String> {
    socket.write_all(request)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while answer.windows(4).rev().nth(2).is_none_or(|end| end != b"\r\n\r\n") {
        let received = match socket.read(&mut buffer) {
            // By SIGSTOP and SIGCONT, because the socket has a timeout.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            received => received?,
        };
        if received == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer.extend_from_slice(&buffer[..received]);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn a_tick_answers_each_connection_once() {
    const ASKED: u32 = 50;
    let floor = Floor::start(&["ticking", "2"]);
    let mut sockets: Vec<TcpStream> = (0..4).map(|_| floor.connect()).collect();
    for socket in &mut sockets {
        assert!(ask(socket, REQUEST).contains("Connection: keep-alive\r\n"));
    }
    let begun = Instant::now();
    for _ in 0..ASKED {
        for socket in &mut sockets {
            socket.write_all(REQUEST).unwrap();
        }
        for socket in &mut sockets {
            assert!(ask(socket, b"").starts_with("HTTP/1.1 200 OK\r\n"));
        }
    }
    // From the first tick to the last; the time before the first may be almost zero.
    let least = Duration::from_millis(u64::from(ASKED) - 1);
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
}

#[test]
fn a_stall_is_long_and_answers_go_on_after_it() {
    let floor = Floor::start(&["stalling", "2"]);
    let mut socket = floor.connect();
    let begun = Instant::now();
    let mut longest = Duration::ZERO;
    while longest < Duration::from_millis(90) {
        assert!(begun.elapsed() < PATIENCE, "{longest:?}");
        let asked = Instant::now();
        ask(&mut socket, REQUEST);
        longest = longest.max(asked.elapsed());
    }
    assert!(ask(&mut socket, REQUEST).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn only_who_says_so_keeps_connections_of_old_clients() {
    for (mode, says) in [("kept", false), ("persistent", true)] {
        let floor = Floor::start(&[mode, "2"]);
        let answer = ask(&mut floor.connect(), REQUEST);
        assert_eq!(answer.contains("Connection: keep-alive\r\n"), says, "{answer}");
    }
}

#[test]
fn pipelined_requests_are_counted_by_their_length() {
    let length = REQUEST.len().to_string();
    let floor = Floor::start(&["pipelined", "2", &length]);
    let mut socket = floor.connect();
    // One byte short of two: one answer.
    let answer = ask(&mut socket, &REQUEST.repeat(2)[..2 * REQUEST.len() - 1]);
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 1);
}

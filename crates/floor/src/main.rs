//! The floor: what one thread, epoll and the kernel's TCP cost when the server does nothing at all.
//!
//! Receives, counts bytes at most, and sends fixed bytes. Never parses, keeps no state per connection (but `taking`:
//! what is left of a body), and imports nothing that it is compared with. Used by `cargo xtask bench floor` and
//! `generator`:
//!
//! ```text
//! floor ADDRESS kept BODY_BYTES                      one answer for each receive
//! floor ADDRESS persistent BODY_BYTES                the same, and says `Connection: keep-alive`, without which
//!                                                    a client of HTTP/1.0 does not keep the connection
//! floor ADDRESS pipelined BODY_BYTES REQUEST_BYTES   one answer for each REQUEST_BYTES received
//! floor ADDRESS taking BODY_BYTES REQUEST_BODY_BYTES one answer for each body of so many bytes, which are dropped
//! floor ADDRESS short BODY_BYTES                     accept, receive, answer, close: the end in the answer's segment
//! floor ADDRESS resp VALUE_BYTES                     a bulk string of so many bytes for each command of RESP
//! floor ADDRESS ticking BODY_BYTES                   as persistent, but only who has asked by a tick is answered,
//!                                                    at it: every millisecond
//! floor ADDRESS hub 0                                sends each message to all connections
//! floor ADDRESS stalling BODY_BYTES                  as persistent, but it stands still for 100 ms of every second
//! ```
#![expect(clippy::print_stderr, reason = "a tool says on stderr why it cannot run")]

mod rhythm;
mod taking;

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::ExitCode;

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use rhythm::Rhythm;
use taking::Bodies;

/// Events taken from the kernel by one wait.
const EVENTS_MAX: usize = 512;

/// Bytes received by one call.
const RECEIVE_BYTES: usize = 64 * 1024;

/// Answers sent by one call; more pipelined requests than that in one receive go unanswered.
const ANSWERS_MAX: usize = 64;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Seconds for which the kernel holds back a connection until its request arrives (TCP_DEFER_ACCEPT).
const DEFER_SECONDS: i32 = 1;

/// The body of the JSON workloads.
const JSON: &str = "{\"message\":\"Hello, World!\"}";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Kept,
    Persistent,
    Pipelined { request_bytes: usize },
    Taking { request_body_bytes: usize },
    Short,
    Hub,
    Resp,
}

struct Order {
    address: SocketAddr,
    mode: Mode,
    rhythm: Rhythm,
    body_bytes: usize,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(order) = read_order(&words) else {
        eprintln!(
            "usage: floor ADDRESS \
             kept|persistent|pipelined|taking|short|resp|ticking|stalling|hub \
             BODY_BYTES [REQUEST_BYTES]"
        );
        return ExitCode::from(2);
    };
    match serve(&order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floor: {}: {error}", order.address);
            ExitCode::FAILURE
        }
    }
}

fn read_order(words: &[String]) -> Option<Order> {
    let (mode, rhythm) = match words.get(1)?.as_str() {
        "kept" => (Mode::Kept, Rhythm::Always),
        "persistent" => (Mode::Persistent, Rhythm::Always),
        "short" => (Mode::Short, Rhythm::Always),
        "hub" => (Mode::Hub, Rhythm::Always),
        "resp" => (Mode::Resp, Rhythm::Always),
        "ticking" => (Mode::Persistent, Rhythm::Ticking { next_ns: 0 }),
        "stalling" => (Mode::Persistent, Rhythm::Stalling { next_ns: 0 }),
        "pipelined" => {
            let request_bytes = words.get(3)?.parse().ok().filter(|bytes| *bytes > 0)?;
            (Mode::Pipelined { request_bytes }, Rhythm::Always)
        }
        "taking" => {
            let request_body_bytes = words.get(3)?.parse().ok().filter(|bytes| *bytes > 0)?;
            (Mode::Taking { request_body_bytes }, Rhythm::Always)
        }
        _ => return None,
    };
    Some(Order {
        address: words.first()?.parse().ok()?,
        mode,
        rhythm,
        body_bytes: words.get(2)?.parse().ok()?,
    })
}

/// One answer with as many fields as a real server sends.
fn answer(body_bytes: usize, mode: Mode) -> Vec<u8> {
    if mode == Mode::Resp {
        let mut answer = format!("${body_bytes}\r\n").into_bytes();
        answer.extend(std::iter::repeat_n(b'x', body_bytes));
        answer.extend_from_slice(b"\r\n");
        return answer;
    }
    let connection = match mode {
        Mode::Short => "Connection: close\r\n",
        Mode::Persistent => "Connection: keep-alive\r\n",
        Mode::Kept | Mode::Pipelined { .. } | Mode::Taking { .. } | Mode::Hub | Mode::Resp => "",
    };
    let date = start_date();
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nServer: floor\r\nDate: {date}\r\n\
         Content-Type: application/json\r\n{connection}Content-Length: {body_bytes}\r\n\r\n"
    )
    .into_bytes();
    answer.extend(JSON.bytes().chain(std::iter::repeat(b' ')).take(body_bytes));
    answer
}

/// The date of all answers: for a cache one of long ago would not be fresh (RFC 9111, 4.2.3).
#[expect(clippy::disallowed_methods, reason = "read once, before the first turn")]
fn start_date() -> String {
    httpdate::fmt_http_date(std::time::SystemTime::now())
}

fn listen(order: &Order) -> Result<OwnedFd, Errno> {
    let family = if order.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let listener = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&listener, true)?;
    // Accepted sockets inherit it.
    sockopt::set_tcp_nodelay(&listener, true)?;
    if order.mode == Mode::Short {
        sys::descriptor::set_tcp_defer_accept(listener.as_fd(), DEFER_SECONDS)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))?;
    }
    rustix::net::bind(&listener, &order.address)?;
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

fn serve(order: &Order) -> Result<(), Errno> {
    let listener = listen(order)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, token(&listener), epoll::EventFlags::IN)?;
    let one = answer(order.body_bytes, order.mode);
    let is_pipelined = matches!(order.mode, Mode::Pipelined { .. } | Mode::Resp);
    let copies = if is_pipelined { ANSWERS_MAX } else { 1 };
    let mut floor = Floor {
        epoll,
        listener,
        mode: order.mode,
        answers: one.repeat(copies),
        answer_bytes: one.len(),
        receive: vec![0; RECEIVE_BYTES],
        connections: Vec::new(),
        bodies: match order.mode {
            Mode::Taking { request_body_bytes } => Some(Bodies::of(request_body_bytes)),
            _ => None,
        },
    };
    let mut rhythm = order.rhythm;
    let mut events = Vec::with_capacity(EVENTS_MAX);
    loop {
        let limit = rhythm.wait()?;
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&floor.epoll, room, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        for event in events.drain(..) {
            floor.on_event(event.data.u64())?;
        }
    }
}

/// A descriptor's number is its token: level-triggered epoll needs nothing else.
fn token(descriptor: &OwnedFd) -> epoll::EventData {
    epoll::EventData::new_u64(descriptor.as_raw_fd().cast_unsigned().into())
}

struct Floor {
    epoll: OwnedFd,
    listener: OwnedFd,
    mode: Mode,
    answers: Vec<u8>,
    answer_bytes: usize,
    receive: Vec<u8>,
    /// Open connections by descriptor number, kept only to close them.
    connections: Vec<Option<OwnedFd>>,
    bodies: Option<Bodies>,
}

impl Floor {
    fn on_event(&mut self, number: u64) -> Result<(), Errno> {
        if number == u64::from(self.listener.as_raw_fd().cast_unsigned()) {
            return self.accept_all();
        }
        let index = usize::try_from(number).expect("a descriptor number fits");
        let Some(Some(connection)) = self.connections.get(index) else { return Ok(()) };
        let keep = match rustix::net::recv(connection, &mut self.receive[..], RecvFlags::empty()) {
            Ok((_, 0)) => false,
            Ok((_, received))
                if let Some(bodies) = &mut self.bodies
                    && !bodies.take(index, &self.receive[..received]) =>
            {
                true
            }
            Ok((_, received)) => self.answer(connection, received),
            Err(error) => error == Errno::AGAIN,
        };
        if !keep {
            self.connections[index] = None;
        }
        Ok(())
    }

    fn accept_all(&mut self) -> Result<(), Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        while let Ok(connection) = rustix::net::accept_with(&self.listener, flags) {
            if self.mode == Mode::Short {
                let received =
                    rustix::net::recv(&connection, &mut self.receive[..], RecvFlags::empty());
                if let Ok((_, received @ 1..)) = received {
                    self.answer(&connection, received);
                }
                continue;
            }
            epoll::add(&self.epoll, &connection, token(&connection), epoll::EventFlags::IN)?;
            let index = usize::try_from(connection.as_raw_fd()).expect("an open descriptor");
            if self.connections.len() <= index {
                self.connections.resize_with(index + 1, || None);
            }
            self.connections[index] = Some(connection);
            if let Some(bodies) = &mut self.bodies {
                bodies.begin(index);
            }
        }
        Ok(())
    }

    /// Sends the answers to `received` bytes; false if the client has closed.
    fn answer(&self, connection: &OwnedFd, received: usize) -> bool {
        if self.mode == Mode::Hub {
            for connection in self.connections.iter().flatten() {
                // A connection that cannot take the answer is closed when its end is received.
                let _sent =
                    rustix::net::send(connection, &self.receive[..received], SendFlags::NOSIGNAL);
            }
            return true;
        }
        let count = match self.mode {
            Mode::Pipelined { request_bytes } => (received / request_bytes).min(ANSWERS_MAX),
            Mode::Resp => commands(&self.receive[..received]).min(ANSWERS_MAX),
            Mode::Kept | Mode::Persistent | Mode::Short | Mode::Taking { .. } | Mode::Hub => 1,
        };
        let due = &self.answers[..count * self.answer_bytes];
        // The kernel holds the answer back for the FIN that follows, and sends both in one segment.
        let more = if self.mode == Mode::Short { SendFlags::MORE } else { SendFlags::empty() };
        due.is_empty() || rustix::net::send(connection, due, SendFlags::NOSIGNAL | more).is_ok()
    }
}

/// The number of commands that begin in the input: an asterisk at the beginning of a line. The values of a benchmark
/// contain none.
fn commands(input: &[u8]) -> usize {
    let before = std::iter::once(&b'\n').chain(input);
    input.iter().zip(before).filter(|(byte, before)| (**byte, **before) == (b'*', b'\n')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_length_it_names() {
        for body_bytes in [0, JSON.len(), 1_406] {
            let text = String::from_utf8(answer(body_bytes, Mode::Kept)).expect("text");
            let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
            assert!(head.ends_with(&format!("Content-Length: {body_bytes}")));
            assert_eq!(body.len(), body_bytes);
        }
    }

    #[test]
    fn commands_of_resp_are_counted_where_they_begin() {
        let get = "*2\r\n$3\r\nGET\r\n$3\r\na*b\r\n";
        assert_eq!(commands(get.as_bytes()), 1);
        assert_eq!(commands(get.repeat(16).as_bytes()), 16);
        assert_eq!(commands(&get.as_bytes()[1..]), 0);
        assert_eq!(answer(3, Mode::Resp), b"$3\r\nxxx\r\n");
    }

    #[test]
    fn orders_are_read_and_nonsense_is_refused() {
        let read = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            read_order(&words).map(|order| order.mode)
        };
        assert!(read("127.0.0.1:1 pipelined 27 40") == Some(Mode::Pipelined { request_bytes: 40 }));
        assert!(read("127.0.0.1:1 pipelined 27 0").is_none());
        assert!(read("127.0.0.1:1 ticking 27") == Some(Mode::Persistent));
        assert!(read("127.0.0.1:1 dance 27").is_none());
        assert!(read("nowhere kept 27").is_none());
    }
}

//! The closed loop: each connection sends its next request when its answer is complete.
//!
//! Owns the sockets, one send and one receive for each request, and one clock reading, which ends
//! a request and begins the next. Never sets a timer and never allocates while it measures.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::answer::{self, First, Form};

/// An answer that takes longer than this counts as an error.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// Bytes of the largest answer that is accepted.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Polls without an answer between two clock readings: some tens of microseconds.
const VAIN_LOOKS: u32 = 128;

/// The parameters of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) connections: usize,
    pub(crate) duration: Duration,
}

/// The result of a run.
pub(crate) struct Counted {
    /// Response times, from sent to completely received, of all requests answered in the measured time.
    pub(crate) latencies: Histogram<u64>,
    /// The longest of them, exact.
    pub(crate) longest_ns: u64,
    /// The measured time.
    pub(crate) measured: Duration,
    /// Answers that were wrong, late or missing. A connection with one is not used again.
    pub(crate) errors: u64,
    /// Polls that found nothing: few of them per request mean that the client was the bottleneck, not the server.
    pub(crate) looks_in_vain: u64,
}

struct Connection {
    socket: OwnedFd,
    /// The incomplete answer; one byte longer than an answer, so that an excess byte is noticed.
    buffer: Vec<u8>,
    filled: usize,
    sent: Instant,
    in_use: bool,
}

/// The result of polling a connection.
#[derive(PartialEq, Eq)]
enum Found {
    Nothing,
    /// A part of an answer, or the end of the connection.
    Something,
    /// The rest of an answer.
    Answer,
}

struct Client {
    request: Vec<u8>,
    form: Form,
    connections: Vec<Connection>,
    latencies: Histogram<u64>,
    longest_ns: u64,
    errors: u64,
    looks_in_vain: u64,
    /// When the last answer was complete: the client's last clock reading.
    now: Instant,
}

pub(crate) fn run(order: &Order) -> Result<Counted, String> {
    let mut client = Client::open(order)?;
    let start = client.now;
    client.spin_until(start + order.duration);
    if client.connections.iter().all(|connection| !connection.in_use) {
        return Err(format!("every connection failed ({} errors)", client.errors));
    }
    let measured = client.now - start;
    let latencies = std::mem::replace(&mut client.latencies, no_times());
    let (longest_ns, looks_in_vain) = (client.longest_ns, client.looks_in_vain);
    client.await_the_last();
    Ok(Counted { latencies, longest_ns, measured, errors: client.errors, looks_in_vain })
}

/// Times up to the limit of an answer, in bins of at most one percent of their value. It does not grow.
fn no_times() -> Histogram<u64> {
    let limit = u64::try_from(ANSWER_LIMIT.as_nanos()).expect("it is short");
    Histogram::new_with_max(limit, 2).expect("the bounds are those of the crate")
}

/// The request, byte for byte what wrk sends.
fn request(order: &Order) -> Vec<u8> {
    format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", order.path, order.address).into_bytes()
}

impl Client {
    /// Connects, learns the form of answers from the first, and sends the first request on each.
    fn open(order: &Order) -> Result<Client, String> {
        let request = request(order);
        let sockets: Vec<OwnedFd> =
            (0..order.connections).map(|_| connect(order.address)).collect::<Result<_, _>>()?;
        let first = sockets.first().ok_or("no connections")?;
        let form = learn(first, &request)?;
        let mut connections = Vec::new();
        for socket in sockets {
            send(&socket, &request).map_err(|error| format!("sending: {error}"))?;
            let buffer = vec![0; form.bytes + 1];
            let sent = Instant::now();
            connections.push(Connection { socket, buffer, filled: 0, sent, in_use: true });
        }
        Ok(Client {
            request,
            form,
            connections,
            latencies: no_times(),
            longest_ns: 0,
            errors: 0,
            looks_in_vain: 0,
            now: Instant::now(),
        })
    }

    /// Servers answer in order, so the next connection in turn is the next to have an answer.
    fn spin_until(&mut self, end: Instant) {
        let mut looks_in_vain: u32 = 0;
        while self.now < end {
            for index in 0..self.connections.len() {
                match self.look_at(index) {
                    Found::Answer => self.ask_again(index),
                    Found::Something => {}
                    Found::Nothing => looks_in_vain += 1,
                }
            }
            if looks_in_vain >= VAIN_LOOKS {
                self.looks_in_vain += u64::from(looks_in_vain);
                looks_in_vain = 0;
                self.now = Instant::now();
            }
        }
        self.looks_in_vain += u64::from(looks_in_vain);
    }

    /// Waits for outstanding answers, so that a missing one is counted as an error.
    fn await_the_last(&mut self) {
        let deadline = Instant::now() + ANSWER_LIMIT;
        for index in 0..self.connections.len() {
            while self.connections[index].in_use && self.look_at(index) != Found::Answer {
                if Instant::now() >= deadline {
                    self.fail(index);
                }
            }
        }
    }

    /// Receives what is there; a complete answer is checked and its time recorded.
    fn look_at(&mut self, index: usize) -> Found {
        let connection = &mut self.connections[index];
        if !connection.in_use {
            return Found::Nothing;
        }
        let room = &mut connection.buffer[connection.filled..];
        match rustix::net::recv(&connection.socket, room, RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => return Found::Nothing,
            Ok((_, received)) if received > 0 => connection.filled += received,
            Ok(_) | Err(_) => {
                self.fail(index);
                return Found::Something;
            }
        }
        if connection.filled < self.form.bytes {
            return Found::Something;
        }
        if !self.form.fits(&connection.buffer[..connection.filled]) {
            self.fail(index);
            return Found::Something;
        }
        connection.filled = 0;
        self.now = Instant::now();
        let taken = self.now - connection.sent;
        let taken_ns = u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX);
        self.latencies.saturating_record(taken_ns);
        self.longest_ns = self.longest_ns.max(taken_ns);
        Found::Answer
    }

    /// Sends the next request; its time begins when the last answer was complete.
    fn ask_again(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.sent = self.now;
        if send(&connection.socket, &self.request).is_err() {
            self.fail(index);
        }
    }

    fn fail(&mut self, index: usize) {
        self.errors += 1;
        self.connections[index].in_use = false;
    }
}

fn connect(address: SocketAddr) -> Result<OwnedFd, String> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let connected = || -> Result<OwnedFd, Errno> {
        let socket =
            rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_LIMIT))?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        rustix::net::connect(&socket, &address)?;
        Ok(socket)
    };
    connected().map_err(|error| format!("connecting: {error}"))
}

/// Sends a whole request: it is far smaller than the send buffer of an idle socket.
fn send(socket: &OwnedFd, request: &[u8]) -> Result<(), Errno> {
    match rustix::net::send(socket, request, SendFlags::NOSIGNAL)? {
        sent if sent == request.len() => Ok(()),
        _ => Err(Errno::NOBUFS),
    }
}

/// Sends one request and waits for its answer, which all others are compared with.
fn learn(socket: &OwnedFd, request: &[u8]) -> Result<Form, String> {
    send(socket, request).map_err(|error| format!("sending: {error}"))?;
    let mut buffer = vec![0; ANSWER_BYTES_MAX];
    let mut filled = 0;
    loop {
        match rustix::net::recv(socket, &mut buffer[filled..], RecvFlags::empty()) {
            Ok((_, 0)) => return Err("the first answer did not come whole".to_owned()),
            Ok((_, received)) => filled += received,
            Err(error) => return Err(format!("the first answer: {error}")),
        }
        match answer::first(&buffer[..filled]) {
            First::Partial => {}
            First::Whole(form) => return Ok(form),
            First::Wrong(reason) => return Err(format!("the first answer: {reason}")),
        }
    }
}

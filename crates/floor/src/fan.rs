//! The client of a broadcast server: many connections, one of them sends, and all deliveries are counted.
//!
//! Used by `cargo xtask bench fan`. One thread; one member says so many lines of 100 bytes at once, and says the next when every
//! member has heard them all.
//!
//! ```text
//! floor-fan ADDRESS MEMBERS LINES_AT_ONCE SECONDS
//! ```
//!
//! Prints one line of JSON: deliveries, and deliveries per second.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool prints its outcome")]
#![expect(clippy::disallowed_methods, reason = "a tool measures wall time; it has no turns")]

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

/// Bytes of a line, its end included.
const LINE_BYTES: usize = 100;

/// Bytes received by one call.
const RECEIVE_BYTES: usize = 256 * 1024;

/// Events taken from the kernel by one wait.
const EVENTS_MAX: usize = 1024;

struct Order {
    address: SocketAddr,
    members: usize,
    lines: usize,
    duration: Duration,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(order) = read_order(&words) else {
        eprintln!("usage: floor-fan ADDRESS MEMBERS LINES_AT_ONCE SECONDS");
        return ExitCode::from(2);
    };
    match run(&order) {
        Ok((deliveries, seconds)) => {
            let per_second = deliveries as f64 / seconds;
            println!("{{\"deliveries\":{deliveries},\"deliveries_per_second\":{per_second:.1}}}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("floor-fan: {}: {error}", order.address);
            ExitCode::FAILURE
        }
    }
}

fn read_order(words: &[String]) -> Option<Order> {
    let [address, members, lines, seconds] = words else { return None };
    Some(Order {
        address: address.parse().ok()?,
        members: members.parse().ok().filter(|count| *count > 0)?,
        lines: lines.parse().ok().filter(|count| *count > 0)?,
        duration: Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
    })
}

fn run(order: &Order) -> Result<(u64, f64), Errno> {
    let mut room = Room {
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        members: Vec::new(),
        receive: vec![0; RECEIVE_BYTES],
        events: Vec::with_capacity(EVENTS_MAX),
    };
    for _ in 0..order.members {
        room.enter(order.address)?;
    }
    // Connections are accepted in their order: when the last is heard, all are in.
    room.say(b"\n", order.members)?;
    let lines = [&[b'x'; LINE_BYTES - 1][..], b"\n"].concat().repeat(order.lines);
    let start = Instant::now();
    let mut said = 0;
    while start.elapsed() < order.duration {
        room.say(&lines, lines.len() * order.members)?;
        said += 1;
    }
    Ok((said * (order.lines * order.members) as u64, start.elapsed().as_secs_f64()))
}

struct Room {
    epoll: OwnedFd,
    members: Vec<OwnedFd>,
    receive: Vec<u8>,
    events: Vec<epoll::Event>,
}

impl Room {
    fn enter(&mut self, address: SocketAddr) -> Result<(), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let member = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&member, true)?;
        rustix::net::connect(&member, &address)?;
        let number = epoll::EventData::new_u64(self.members.len() as u64);
        epoll::add(&self.epoll, &member, number, epoll::EventFlags::IN)?;
        self.members.push(member);
        Ok(())
    }

    /// The last member says something; waits until so many bytes were heard by all together.
    fn say(&mut self, bytes: &[u8], heard_by_all: usize) -> Result<(), Errno> {
        let Some(speaker) = self.members.last() else { return Ok(()) };
        rustix::net::send(speaker, bytes, SendFlags::NOSIGNAL)?;
        let Self { receive, events, .. } = self;
        let mut heard = 0;
        while heard < heard_by_all {
            let room = rustix::buffer::spare_capacity(&mut *events);
            match epoll::wait(&self.epoll, room, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
            for event in events.drain(..) {
                let index = usize::try_from(event.data.u64()).expect("it was an index");
                let (_, count) =
                    rustix::net::recv(&self.members[index], &mut receive[..], RecvFlags::empty())?;
                if count == 0 {
                    return Err(Errno::CONNRESET);
                }
                heard += count;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_nonsense_is_refused() {
        let read = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            read_order(&words)
        };
        let order = read("127.0.0.1:1 1000 16 2.5").expect("an order");
        assert_eq!((order.members, order.lines), (1000, 16));
        assert!(read("127.0.0.1:1 0 16 2").is_none());
        assert!(read("127.0.0.1:1 10 16").is_none());
    }
}

//! The client of a broadcast server: many connections, one of them sends, and all deliveries are counted.
//!
//! Used by `cargo xtask bench fan` and `bench channels`. One thread; the speaker sends a number of messages of 100
//! bytes at once, and the next ones when every member has received them all. Nothing is parsed: `protocol` has the
//! bytes.
//!
//! ```text
//! floor-fan ADDRESS PROTOCOL MEMBERS MESSAGES_AT_ONCE SECONDS [ADDRESS_OF_SPEAKER]
//! ```
//!
//! In a cluster the speaker may be at another node than the members.
//!
//! Prints one line of JSON: deliveries, and deliveries per second.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool prints its outcome")]
#![expect(clippy::disallowed_methods, reason = "a tool measures wall time; it has no turns")]

mod protocol;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use protocol::{MARK, Protocol};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

/// Bytes received by one call.
const RECEIVE_BYTES: usize = 256 * 1024;

/// Events taken from the kernel by one wait.
const EVENTS_MAX: usize = 1024;

struct Order {
    address: SocketAddr,
    speaker: SocketAddr,
    protocol: Protocol,
    members: usize,
    messages: usize,
    duration: Duration,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(order) = read_order(&words) else {
        eprintln!(
            "usage: floor-fan ADDRESS {} MEMBERS MESSAGES_AT_ONCE SECONDS [ADDRESS_OF_SPEAKER]",
            Protocol::names()
        );
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
    let [address, protocol, members, messages, seconds, speaker @ ..] = words else { return None };
    let speaker = match speaker {
        [] => address,
        [speaker] => speaker,
        _ => return None,
    };
    let protocol = Protocol::of_name(protocol)?;
    let are_whole =
        |members: &usize| *members > 0 && members.is_multiple_of(protocol.members_together());
    Some(Order {
        address: address.parse().ok()?,
        speaker: speaker.parse().ok()?,
        protocol,
        members: members.parse().ok().filter(are_whole)?,
        messages: messages.parse().ok().filter(|count| *count > 0)?,
        duration: Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
    })
}

fn run(order: &Order) -> Result<(u64, f64), Errno> {
    let protocol = order.protocol;
    let mut room = Room {
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        members: Vec::new(),
        receive: vec![0; RECEIVE_BYTES],
        events: Vec::with_capacity(EVENTS_MAX),
    };
    let hearing = order.members - usize::from(protocol.speaker_hears());
    let together = protocol.members_together();
    for _ in 0..hearing.div_ceil(together) {
        room.enter(order.address, &protocol.entry(), together)?;
    }
    room.enter(order.speaker, &protocol.speaker_entry(), 1)?;
    // Connections are accepted in order: once the last one receives a message, all are connected.
    let message = protocol.message();
    room.say(&message, order.members)?;
    let messages = message.repeat(order.messages);
    let start = Instant::now();
    let mut said = 0;
    while start.elapsed() < order.duration {
        room.say(&messages, order.messages * order.members)?;
        said += 1;
    }
    Ok((said * (order.messages * order.members) as u64, start.elapsed().as_secs_f64()))
}

struct Room {
    epoll: OwnedFd,
    /// The last one is the speaker.
    members: Vec<OwnedFd>,
    receive: Vec<u8>,
    events: Vec<epoll::Event>,
}

impl Room {
    fn enter(
        &mut self,
        address: SocketAddr,
        (said, answer): &(Vec<u8>, &'static [u8]),
        answers: usize,
    ) -> Result<(), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let member = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&member, true)?;
        rustix::net::connect(&member, &address)?;
        rustix::net::send(&member, said, SendFlags::NOSIGNAL)?;
        let mut heard = Vec::new();
        let have_come = |heard: &[u8]| {
            heard.windows(answer.len()).filter(|part| part == answer).count() >= answers
        };
        while !answer.is_empty() && !have_come(&heard) {
            let (_, count) = rustix::net::recv(&member, &mut self.receive[..], RecvFlags::empty())?;
            if count == 0 {
                return Err(Errno::CONNRESET);
            }
            heard.extend_from_slice(&self.receive[..count]);
        }
        let number = epoll::EventData::new_u64(self.members.len() as u64);
        epoll::add(&self.epoll, &member, number, epoll::EventFlags::IN)?;
        self.members.push(member);
        Ok(())
    }

    /// The speaker sends; waits until all members together have received this many messages.
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
                heard += receive[..count].iter().filter(|byte| **byte == MARK).count();
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
        let order = read("127.0.0.1:1 resp 1000 16 2.5").expect("an order");
        assert_eq!((order.members, order.messages, order.speaker), (1000, 16, order.address));
        let order = read("127.0.0.1:1 events 10 1 2.5 127.0.0.1:2").expect("an order");
        assert_eq!(order.speaker.port(), 2);
        assert!(read("127.0.0.1:1 events 10 1 2.5 127.0.0.1:2 127.0.0.1:3").is_none());
        assert!(read("127.0.0.1:1 lines 0 16 2").is_none());
        assert!(read("127.0.0.1:1 lines 10 16").is_none());
        assert!(read("127.0.0.1:1 streams 150 16 2").is_none(), "one connection has 100 of them");
        assert!(read("127.0.0.1:1 smoke 10 16 2").is_none());
    }
}

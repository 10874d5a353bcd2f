//! The open-loop sender: requests are due at fixed times whether or not answers came, and an answer's
//! time counts from when its request was due, so that a stalled server cannot hide its stall.
//!
//! Owns its connections and polls without sleeping, because it has a core to itself. Never adapts its
//! rate to the server.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::RecvFlags;
use rustix::time::Timespec;

use crate::bench::client::{self, GOOD_START, RECEIVE_BYTES};
use crate::bench::load;
use crate::failure::Failure;

/// After the last request was due, answers are waited for so long; a missing one is an error.
const TAIL_LIMIT: Duration = Duration::from_secs(2);

/// Poll, do not sleep: waking up would be counted as the server's time.
const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Events taken by one poll.
const EVENTS_MAX: usize = 256;

/// How requests are timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// So many a second, due at even distances.
    Open { per_second: f64 },
    /// The next request as soon as a connection is free: finds the maximum.
    Closed,
}

/// What a run brought.
pub(crate) struct Outcome {
    pub(crate) requests: u64,
    pub(crate) per_second: f64,
    /// Requests that were due and were not answered in time.
    pub(crate) errors: u64,
    /// From due to answered, in nanoseconds, sorted.
    pub(crate) latencies: Vec<u64>,
    /// How late the sender itself was at worst with a free connection at hand, in nanoseconds.
    pub(crate) sender_lag: u64,
}

struct Connection {
    socket: OwnedFd,
    due: Instant,
    missing_bytes: usize,
}

struct Sender {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    free: VecDeque<usize>,
    request: Vec<u8>,
    answer_bytes: usize,
    buffer: Vec<u8>,
    latencies: Vec<u64>,
}

/// Sends requests at the pace for the duration.
pub(crate) fn run(
    address: SocketAddr,
    path: &str,
    connections: usize,
    pace: Pace,
    duration: Duration,
) -> Result<Outcome, Failure> {
    let mut sender = Sender::open(address, path, connections)?;
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let start = Instant::now();
    let end = start + duration;
    let mut sent = 0u64;
    let mut sender_lag = Duration::ZERO;
    loop {
        let now = Instant::now();
        if now >= end && (sender.is_idle() || now >= end + TAIL_LIMIT) {
            break;
        }
        while let Some(due) = due_time(pace, start, sent, now).filter(|due| *due < end)
            && let Some(index) = sender.free.pop_front()
        {
            sender.connections[index].due = due;
            sender.send(index)?;
            sent += 1;
            if sender.free.len() + 1 == connections {
                sender_lag = sender_lag.max(now - due);
            }
        }
        epoll::wait(&sender.epoll, rustix::buffer::spare_capacity(&mut events), Some(&NO_WAIT))
            .or_else(|error| if error == Errno::INTR { Ok(0) } else { Err(error) })
            .map_err(std::io::Error::from)?;
        let now = Instant::now();
        for event in events.drain(..) {
            sender.receive(event.data.u64(), now)?;
        }
    }
    let mut latencies = sender.latencies;
    latencies.sort_unstable();
    Ok(Outcome {
        requests: latencies.len() as u64,
        per_second: latencies.len() as f64 / duration.as_secs_f64(),
        errors: due_count(pace, duration, sent) - latencies.len() as u64,
        latencies,
        sender_lag: nanoseconds(sender_lag),
    })
}

/// When the request after `sent` others is due; none while that time has not come.
fn due_time(pace: Pace, start: Instant, sent: u64, now: Instant) -> Option<Instant> {
    match pace {
        Pace::Closed => Some(now),
        Pace::Open { per_second } => {
            let due = start + Duration::from_secs_f64(sent as f64 / per_second);
            (due <= now).then_some(due)
        }
    }
}

/// How many requests should have been answered.
fn due_count(pace: Pace, duration: Duration, sent: u64) -> u64 {
    match pace {
        Pace::Closed => sent,
        Pace::Open { per_second } => sent.max((duration.as_secs_f64() * per_second) as u64),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Sender {
    fn open(address: SocketAddr, path: &str, count: usize) -> Result<Sender, Failure> {
        let request = load::request(address, path).into_bytes();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let mut connections = Vec::new();
        let mut answer_bytes = 0;
        for index in 0..count {
            let socket = client::connect(address).map_err(std::io::Error::from)?;
            // Every answer has the length of the first: the date keeps its width.
            answer_bytes = client::exchange(&socket, &request)?.len();
            ioctl_fionbio(&socket, true).map_err(std::io::Error::from)?;
            let token = epoll::EventData::new_u64(index as u64);
            epoll::add(&epoll, &socket, token, epoll::EventFlags::IN)
                .map_err(std::io::Error::from)?;
            connections.push(Connection { socket, due: Instant::now(), missing_bytes: 0 });
        }
        Ok(Sender {
            epoll,
            connections,
            free: (0..count).collect(),
            request,
            answer_bytes,
            buffer: vec![0; RECEIVE_BYTES],
            latencies: Vec::new(),
        })
    }

    fn is_idle(&self) -> bool {
        self.free.len() == self.connections.len()
    }

    fn send(&mut self, index: usize) -> Result<(), Failure> {
        self.connections[index].missing_bytes = self.answer_bytes;
        client::send(&self.connections[index].socket, &self.request)
    }

    fn receive(&mut self, token: u64, now: Instant) -> Result<(), Failure> {
        let index = usize::try_from(token).expect("tokens are indices");
        let connection = &mut self.connections[index];
        let wait = RecvFlags::DONTWAIT;
        let received = match rustix::net::recv(&connection.socket, &mut self.buffer[..], wait) {
            Ok((_, 0)) => return Err(Failure::Work("the server closed a connection".to_owned())),
            Ok((_, received)) => received,
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(Failure::Work(format!("receiving: {error}"))),
        };
        let is_first = connection.missing_bytes == self.answer_bytes;
        if received > connection.missing_bytes
            || (is_first && !self.buffer[..received].starts_with(GOOD_START))
        {
            return Err(Failure::Work("an answer differs from the first".to_owned()));
        }
        connection.missing_bytes -= received;
        if connection.missing_bytes == 0 {
            self.latencies.push(nanoseconds(now - connection.due));
            self.free.push_back(index);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_at_even_distances_whatever_was_answered() {
        let start = Instant::now();
        let pace = Pace::Open { per_second: 1_000.0 };
        let later = start + Duration::from_millis(5);
        assert_eq!(due_time(pace, start, 0, start), Some(start));
        assert_eq!(due_time(pace, start, 1, start), None);
        assert_eq!(due_time(pace, start, 3, later), Some(start + Duration::from_millis(3)));
        assert_eq!(due_time(Pace::Closed, start, 9, later), Some(later));
        assert_eq!(due_count(pace, Duration::from_secs(2), 1_500), 2_000);
    }
}

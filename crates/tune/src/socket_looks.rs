//! The server's TCP sockets, looked at several times between the two readings: queues of new connections, and answers
//! that are sent bit by bit.
//!
//! Owns the time that this may take, what is compared from one look to the next, and the text form of the sums, which
//! is read as a file. Judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::files::HostFiles;
use crate::limits::LOOKING_AT_SOCKETS;
use crate::tcp::{self, Side, TcpSocket};
use crate::upstreams::Upstreams;

/// The path under which the sums are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/socket-looks/{process}")
}

/// The sums over all looks.
#[derive(Debug, Default)]
pub(crate) struct SocketLooks {
    pub(crate) upstreams: Upstreams,
    looks: u64,
    /// Connections that waited to be accepted, by the port of their listener: at how many looks, and their sum.
    queues: BTreeMap<u16, (u64, u64)>,
    /// Accepted connections that were open.
    open: u64,
    answers: BTreeMap<(u16, String), Answer>,
    /// Bytes that were received from other servers: at the first look, and at most.
    fetched: (u64, u64),
    /// When it was looked first, and last, and the time that all looks took.
    begun: Option<Instant>,
    seen_for: Duration,
    taken: Duration,
}

/// What a client has been sent since its last request.
#[derive(Debug, Default)]
struct Answer {
    /// Segments with data that the client had sent.
    requests: u64,
    acknowledged: u64,
    /// Microseconds with something on its way, at the first look and now.
    busy_us: (u64, u64),
    /// Microseconds for which a full buffer of either side held it up.
    held_us: u64,
    /// Looks since its last request at which it had got more, with nothing waiting to be sent; and the most of any
    /// request.
    steps: u64,
    most_steps: u64,
    /// Bytes of these steps, and of all requests.
    bytes: u64,
    paced_bytes: u64,
}

/// Bytes from one look to the next that are a part of an answer, and not a message for itself.
const STEP: u64 = 8 << 10;

/// Microseconds in a full buffer from one look to the next from which the client, or the buffer, is what is slow.
const HELD_US: u64 = 20_000;

/// Parts of one answer from which it is sent bit by bit.
const STEPS: u64 = 2;

impl SocketLooks {
    /// Looks once at the sockets of these programs of this host, in the network namespace of the calling thread.
    #[expect(clippy::disallowed_methods, reason = "an audit has no turns; each look is timed")]
    pub(crate) fn look(&mut self, files: &HostFiles, members: &BTreeSet<u32>) {
        if self.taken > LOOKING_AT_SOCKETS {
            return;
        }
        let began = Instant::now();
        self.seen_for = began.duration_since(*self.begun.get_or_insert(began));
        if let Ok(text) = tcp::told(files, members) {
            self.note(&TcpSocket::read(&text));
        }
        self.taken += began.elapsed();
    }

    /// Adds the sockets of one look.
    fn note(&mut self, sockets: &[TcpSocket]) {
        self.upstreams.note(sockets);
        self.looks += 1;
        for one in sockets {
            match one.side {
                Side::Listens if one.number("received_queue") > 0 => {
                    let queue = self.queues.entry(one.port).or_default();
                    *queue = (queue.0 + 1, queue.1 + one.number("received_queue"));
                }
                Side::Accepted if one.state == ESTABLISHED => self.note_answer(one),
                Side::Accepted | Side::Opened | Side::Listens | Side::Beside => {}
            }
        }
        let fetched = |one: &&TcpSocket| one.side == Side::Opened;
        let fetched = sockets.iter().filter(fetched).map(|one| one.number("received_bytes"));
        let fetched = fetched.sum();
        self.fetched.0 = if self.looks == 1 { fetched } else { self.fetched.0 };
        self.fetched.1 = self.fetched.1.max(fetched);
    }

    fn note_answer(&mut self, one: &TcpSocket) {
        self.open += 1;
        let (requests, acknowledged) = (one.number("data_received"), one.number("acked_bytes"));
        let (busy_us, held_us) =
            (one.number("busy_us"), one.number("buffer_full_us") + one.number("peer_full_us"));
        let busy = (busy_us, busy_us);
        let new = || Answer { requests, acknowledged, busy_us: busy, held_us, ..Answer::default() };
        let answer = self.answers.entry((one.port, one.peer.clone())).or_insert_with(new);
        let more = acknowledged.saturating_sub(answer.acknowledged);
        if answer.requests != requests || one.number("received_queue") > 0 {
            (answer.steps, answer.bytes) = (0, 0);
        } else if more >= STEP && one.number("unsent") == 0 && held_us < answer.held_us + HELD_US {
            answer.steps += 1;
            answer.bytes += more;
            answer.most_steps = answer.most_steps.max(answer.steps);
            if answer.steps >= STEPS {
                answer.paced_bytes += std::mem::take(&mut answer.bytes);
            }
        }
        (answer.requests, answer.acknowledged) = (requests, acknowledged);
        (answer.busy_us.1, answer.held_us) = (busy_us, held_us);
    }

    /// The sums: lines of a name and a number.
    pub(crate) fn text(&self) -> String {
        let longest = self.queues.iter().max_by_key(|(_, queue)| **queue);
        let (port, (looks, waiting)) = longest.map_or((0, (0, 0)), |(port, queue)| (*port, *queue));
        let paced: Vec<&Answer> =
            self.answers.values().filter(|one| one.most_steps >= STEPS).collect();
        let bytes: u64 = paced.iter().map(|one| one.paced_bytes).sum();
        let busy = |one: &&Answer| one.busy_us.1.saturating_sub(one.busy_us.0);
        let busy: u64 = paced.iter().map(busy).sum();
        let time = self.seen_for.as_secs_f64() * paced.len() as f64;
        let of_time = |count: f64| if time > 0.0 { (count / time) as u64 } else { 0 };
        let lines = [
            ("looks", self.looks),
            ("open", self.open),
            ("queue_port", u64::from(port)),
            ("queue_looks", looks),
            ("queue_waiting", waiting),
            ("connections", self.answers.len() as u64),
            ("paced", paced.len() as u64),
            ("paced_rate", of_time(bytes as f64)),
            ("paced_busy_percent", of_time(busy as f64 / 1e4)),
            ("paced_bytes", bytes),
            ("fetched_bytes", self.fetched.1.saturating_sub(self.fetched.0)),
        ];
        lines.iter().map(|(name, number)| format!("{name} {number}\n")).collect()
    }
}

/// `TCP_ESTABLISHED` (include/net/tcp_states.h).
const ESTABLISHED: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::named;

    fn sums(looks: &[&str]) -> BTreeMap<String, u64> {
        let mut all = SocketLooks { seen_for: Duration::from_secs(1), ..SocketLooks::default() };
        looks.iter().for_each(|lines| all.note(&TcpSocket::read(lines)));
        named(&all.text())
    }

    #[test]
    fn an_answer_in_parts_is_told_from_requests_and_from_a_full_buffer() {
        let paced = |looks: [(u32, u32, u32); 4]| {
            let line = |(requests, acknowledged, unsent)| {
                format!(
                    "accepted 1 80 10.0.0.2/9 data_received={requests} acked_bytes={acknowledged} unsent={unsent}\n"
                )
            };
            let lines = looks.map(line);
            let sums = sums(&lines.each_ref().map(|line| &**line));
            (sums["paced"], sums["paced_rate"])
        };
        assert_eq!(
            paced([(1, 0, 0), (1, 50_000, 0), (1, 99_000, 0), (2, 150_000, 0)]),
            (1, 99_000)
        );
        // A request for each answer; a client that reads slowly; a kept connection; small messages.
        assert_eq!(paced([(1, 0, 0), (2, 50_000, 0), (3, 99_000, 0), (4, 150_000, 0)]).0, 0);
        assert_eq!(paced([(1, 0, 9), (1, 50_000, 9), (1, 99_000, 9), (1, 150_000, 9)]).0, 0);
        assert_eq!(paced([(1, 50_000, 0); 4]).0, 0);
        assert_eq!(paced([(1, 0, 0), (1, 90, 0), (1, 200, 0), (1, 300, 0)]).0, 0);
    }

    #[test]
    fn the_longest_queue_is_told() {
        let look = "listens 10 80 0.0.0.0/0 received_queue=7\naccepted 1 80 10.0.0.2/9\n";
        let other = "listens 10 81 0.0.0.0/0 received_queue=90\n";
        let sums = sums(&[look, look, other]);
        let told =
            ["looks", "open", "queue_port", "queue_looks", "queue_waiting"].map(|name| sums[name]);
        assert_eq!(told, [3, 2, 80, 2, 14]);
    }
}

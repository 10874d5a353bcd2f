//! The server's connections to other servers (its upstreams), looked at several times between the two readings.
//!
//! Owns which of them wait for an answer, and the text form of the sums, which is read as a file. Judges nothing.

use std::collections::BTreeMap;

use crate::tcp::{Side, TcpSocket};

/// The path under which the sums are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/upstreams/{process}")
}

/// The connections to one address, summed over all looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upstream {
    /// Connections that were there.
    pub(crate) seen: u64,
    /// Those that had sent a request and waited for its answer.
    pub(crate) waiting: u64,
    /// Those that were not open yet.
    pub(crate) opening: u64,
    /// Milliseconds for which one of them had waited, at most.
    pub(crate) longest_ms: u64,
}

/// The connections to all of them, by address and port (`10.0.0.9/80`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upstreams {
    pub(crate) looks: u64,
    servers: BTreeMap<String, Upstream>,
    /// Connections that may wait, by their own port and the other end.
    unsure: BTreeMap<(u16, String), Unsure>,
}

/// A connection that seemed to wait, or to be kept for later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unsure {
    /// Segments that it had sent at the first look, and at the last one.
    requests: (u64, u64),
    waits: u64,
    longest_ms: u64,
}

impl Upstreams {
    /// Adds the sockets of one look.
    pub(crate) fn note(&mut self, sockets: &[TcpSocket]) {
        self.looks += 1;
        let accepted = |one: &TcpSocket| one.side == Side::Accepted;
        let is_asked = sockets.iter().any(|one| accepted(one) && one.number("received_queue") > 0);
        for one in sockets.iter().filter(|one| one.side == Side::Opened) {
            let server = self.servers.entry(one.peer.clone()).or_default();
            server.seen += 1;
            server.opening += u64::from(one.state == SYN_SENT);
            let sent = one.number("last_sent_ms");
            let state = Wait::of(one, is_asked);
            if state == Wait::Sure {
                server.waiting += 1;
                server.longest_ms = server.longest_ms.max(sent);
            }
            let requests = one.number("data_sent");
            let unsure = self.unsure.entry((one.port, one.peer.clone()));
            let unsure =
                unsure.or_insert_with(|| Unsure { requests: (requests, 0), ..Unsure::default() });
            unsure.requests.1 = requests;
            if state == Wait::Unsure {
                unsure.waits += 1;
                unsure.longest_ms = unsure.longest_ms.max(sent);
            }
        }
    }

    /// The sums for each server. A connection on which nothing was sent between the first and the last look may be kept
    /// for later: it waits only if that is sure.
    pub(crate) fn servers(&self) -> BTreeMap<String, Upstream> {
        let mut all = self.servers.clone();
        let moved = self.unsure.iter().filter(|(_, one)| one.requests.0 != one.requests.1);
        for ((_, peer), one) in moved {
            let server = all.entry(peer.clone()).or_default();
            server.waiting += one.waits;
            server.longest_ms = server.longest_ms.max(one.longest_ms);
        }
        all
    }

    pub(crate) fn text(&self) -> String {
        let line = |(peer, one): (&String, &Upstream)| {
            format!("{peer} {} {} {} {}\n", one.seen, one.waiting, one.opening, one.longest_ms)
        };
        format!("{}\n{}", self.looks, self.servers().iter().map(line).collect::<String>())
    }

    /// Parses it; broken lines are left out.
    pub(crate) fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let looks = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
        let line = |line: &str| {
            let mut words = line.split(' ');
            let peer = words.next()?.to_owned();
            let mut number = || words.next()?.parse::<u64>().ok();
            let (seen, waiting) = (number()?, number()?);
            let (opening, longest_ms) = (number()?, number()?);
            Some((peer, Upstream { seen, waiting, opening, longest_ms }))
        };
        Self { looks, servers: lines.filter_map(line).collect(), ..Self::default() }
    }
}

/// `TCP_ESTABLISHED` and `TCP_SYN_SENT` (include/net/tcp_states.h).
const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;

/// Milliseconds without an answer from which a connection waits, and by which two times of the kernel's clock differ
/// at least if one was before the other: a tick, which is mostly 4 ms.
const SLOW_MS: u64 = 4;
const TICK_MS: u64 = 5;

/// Milliseconds after which a host acknowledges data at last, if it has nothing to send (RFC 1122 allows 500; Linux
/// takes at most 200).
const LATE_ACK_MS: u64 = 250;

/// Segments sent for each one received from which a connection only tells something, such as lines of a log.
const ONE_WAY: u64 = 20;

/// Whether a connection has sent a request and waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    No,
    Unsure,
    Sure,
}

impl Wait {
    /// With requests that nobody has read yet (`is_asked`), the server does nothing else meanwhile.
    fn of(one: &TcpSocket, is_asked: bool) -> Self {
        let (requests, answers) = (one.number("data_sent"), one.number("data_received"));
        let (sent, received) = (one.number("last_sent_ms"), one.number("last_received_ms"));
        let is_told_only = requests >= ONE_WAY && requests >= answers.saturating_mul(ONE_WAY);
        if one.state != ESTABLISHED || requests == 0 || sent < SLOW_MS || is_told_only {
            return Self::No;
        }
        if answers == 0 || received > sent + TICK_MS {
            return Self::Sure;
        }
        if received + TICK_MS < sent {
            return Self::No;
        }
        // A request that follows an answer at once has the same time as that answer. What it waits for is
        // unacknowledged, or was acknowledged by itself a moment later; or each segment but the last one was answered
        // with one.
        let acknowledged = one.number("last_ack_ms");
        let is_acked_later = acknowledged + TICK_MS < received.min(sent)
            && sent.saturating_sub(acknowledged) <= LATE_ACK_MS;
        if one.number("unacked") > 0 || (received >= sent && is_asked) {
            Self::Sure
        } else if is_acked_later || requests == answers + 1 {
            Self::Unsure
        } else {
            Self::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_written_and_read() {
        let one = Upstream { seen: 16, waiting: 9, opening: 1, longest_ms: 80 };
        let all = Upstreams {
            looks: 10,
            servers: BTreeMap::from([("10.0.0.9/80".to_owned(), one)]),
            ..Upstreams::default()
        };
        assert_eq!(Upstreams::read(&format!("{}nonsense\n", all.text())), all);
        assert_eq!(Upstreams::read(""), Upstreams::default());
    }

    /// At how many looks these connections wait.
    fn waiting(looks: &[&str]) -> u64 {
        let mut all = Upstreams::default();
        looks.iter().for_each(|lines| all.note(&TcpSocket::read(lines)));
        all.servers().values().map(|one| one.waiting).sum()
    }

    #[test]
    fn a_request_that_follows_an_answer_at_once_waits() {
        let at_once = "opened 1 4000 10.0.0.9/80 last_sent_ms=48 last_received_ms=48";
        for (rest, waits) in [
            ("data_sent=90 data_received=89 last_ack_ms=48", 1),
            ("data_sent=90 data_received=300 last_ack_ms=48 unacked=1", 1),
            ("data_sent=90 data_received=300 last_ack_ms=8", 1),
            // A pool's connection that nobody uses, and one that the other end has just probed.
            ("data_sent=90 data_received=90 last_ack_ms=48", 0),
            ("data_sent=90 data_received=300 last_ack_ms=47", 0),
        ] {
            let earlier = "opened 1 4000 10.0.0.9/80 data_sent=80";
            assert_eq!(waiting(&[earlier, &format!("{at_once} {rest}\n")]), waits, "{rest}");
        }
        // A pool's connection on which a segment was sent twice, long ago.
        let kept = format!("{at_once} data_sent=90 data_received=89 last_ack_ms=48\n");
        assert_eq!(waiting(&[&kept, &kept]), 0);
        let probed = "opened 1 4000 10.0.0.9/80 last_sent_ms=9000 last_received_ms=9000 last_ack_ms=8 \
                      data_sent=90 data_received=90\n";
        assert_eq!(waiting(&[probed]), 0);
    }

    #[test]
    fn first_requests_wait_and_lines_of_a_log_do_not() {
        let new = "opened 1 4000 10.0.0.9/80 last_sent_ms=40 last_received_ms=40 data_sent=1\n";
        assert_eq!(waiting(&[new]), 1);
        let log =
            "opened 1 4000 10.0.0.9/514 last_sent_ms=40 last_received_ms=9000 data_sent=500\n";
        assert_eq!(waiting(&[log]), 0);
        let quick = "opened 1 4000 10.0.0.9/80 last_sent_ms=0 last_received_ms=9 data_sent=1\n";
        assert_eq!(waiting(&[quick]), 0);
    }
}

//! A client of a store that writes at one address and reads at the others, while others load the store.
//!
//! Owns the check that it reads its own writes, and never an older value than before. It is one client with plain
//! connections, which waits for every answer, so what it sees does not depend on pipelines.
#![expect(
    clippy::disallowed_types,
    reason = "blocking connections of one thread, whose table no scheduler shares"
)]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sys::clock::monotonic_ns;

use crate::limits::{OWN_WRITES_ANSWER_BYTES, OWN_WRITES_PATIENCE_NS, OWN_WRITES_PAUSE_NS};
use crate::report::{LatencyReport, OwnWritesReport};
use crate::tally::Latency;

/// Where the client writes and reads.
#[derive(Clone, Debug)]
pub struct OwnWrites {
    /// The addresses; two at least.
    pub addresses: Vec<SocketAddr>,
    /// The only one at which it writes, as an index; `None`: at all in turn.
    pub write_to: Option<usize>,
    /// The key, which nobody else uses.
    pub key: String,
}

/// The reads that it has made.
#[derive(Default)]
struct Seen {
    writes: u64,
    at_once: u64,
    later: u64,
    unseen: u64,
    went_back: u64,
    failed: u64,
    first_failure: Option<String>,
    lag: Latency,
}

impl OwnWrites {
    /// Writes and reads until it is told to stop.
    pub fn watch(&self, stop: &AtomicBool) -> OwnWritesReport {
        let mut seen = Seen::default();
        let mut nodes: Vec<Node> =
            self.addresses.iter().map(|address| Node::new(*address, &self.key)).collect();
        let mut version = 0_u64;
        while !stop.load(Ordering::Acquire) {
            let writer = self.write_to.unwrap_or(version as usize % nodes.len().max(1));
            version += 1;
            if let Err(error) = self.once(writer, version, &mut nodes, &mut seen) {
                seen.failed += 1;
                seen.first_failure.get_or_insert(error);
            }
            std::thread::sleep(Duration::from_nanos(OWN_WRITES_PAUSE_NS));
        }
        if let Some(node) = nodes.get_mut(self.write_to.unwrap_or(0)) {
            // The key is of no use to anybody; if it cannot be removed, that was told above.
            let _removed = node.ask(&["DEL", &self.key]);
        }
        OwnWritesReport {
            writes: seen.writes,
            reads: seen.at_once + seen.later + seen.unseen,
            at_once: seen.at_once,
            later: seen.later,
            unseen: seen.unseen,
            went_back: seen.went_back,
            failed: seen.failed,
            first_failure: seen.first_failure,
            lag: LatencyReport::of(&seen.lag),
        }
    }

    /// One write, and its reads.
    fn once(
        &self,
        writer: usize,
        version: u64,
        nodes: &mut [Node],
        seen: &mut Seen,
    ) -> Result<(), String> {
        let answer = nodes[writer].ask(&["SET", &self.key, &version.to_string()])?;
        if answer != b"+OK\r\n" {
            return Err(nodes[writer].told(&answer));
        }
        seen.writes += 1;
        let written_ns = monotonic_ns();
        for at in (0..nodes.len()).filter(|at| *at != writer) {
            let mut reads = 0_u64;
            loop {
                let found = nodes[at].version()?;
                if nodes[at].advance(found) == Direction::Back {
                    seen.went_back += 1;
                }
                let after_ns = monotonic_ns().saturating_sub(written_ns);
                if found >= version {
                    seen.lag.record(after_ns);
                    *(if reads == 0 { &mut seen.at_once } else { &mut seen.later }) += 1;
                    break;
                }
                if after_ns > OWN_WRITES_PATIENCE_NS {
                    seen.unseen += 1;
                    break;
                }
                reads += 1;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

/// One address.
struct Node<'k> {
    address: SocketAddr,
    key: &'k str,
    stream: Option<TcpStream>,
    /// The highest version that it has shown.
    highest: u64,
}

impl<'k> Node<'k> {
    fn new(address: SocketAddr, key: &'k str) -> Self {
        Self { address, key, stream: None, highest: 0 }
    }

    /// A version was found; whether it is older than one before.
    fn advance(&mut self, found: u64) -> Direction {
        let direction = if found < self.highest { Direction::Back } else { Direction::Forward };
        self.highest = self.highest.max(found);
        direction
    }

    /// The version that it shows; 0 without one.
    fn version(&mut self) -> Result<u64, String> {
        let key = self.key;
        let answer = self.ask(&["GET", key])?;
        if answer == b"$-1\r\n" || answer == b"_\r\n" {
            return Ok(0);
        }
        let text = str::from_utf8(&answer).ok().filter(|text| text.starts_with('$'));
        let value = text.and_then(|text| text.split("\r\n").nth(1)?.parse().ok());
        value.ok_or_else(|| self.told(&answer))
    }

    /// Sends a command and waits for its answer.
    fn ask(&mut self, words: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = format!("*{}\r\n", words.len());
        for word in words {
            command.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        let address = self.address;
        let answer = self.exchange(command.as_bytes());
        if answer.is_err() {
            // The next command begins a new connection.
            self.stream = None;
        }
        answer.map_err(|error| format!("{address}: {error}"))
    }

    fn exchange(&mut self, command: &[u8]) -> io::Result<Vec<u8>> {
        let patience = Duration::from_nanos(OWN_WRITES_PATIENCE_NS);
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect_timeout(&self.address, patience)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(patience))?;
                none.insert(stream)
            }
        };
        stream.write_all(command)?;
        let mut answer = Vec::new();
        while !is_whole(&answer) {
            let mut piece = [0; 512];
            let count = stream.read(&mut piece)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            answer.extend_from_slice(&piece[..count]);
            if answer.len() > OWN_WRITES_ANSWER_BYTES {
                return Err(io::Error::other("an answer of more than 4 KiB"));
            }
        }
        Ok(answer)
    }

    fn told(&self, answer: &[u8]) -> String {
        let text = String::from_utf8_lossy(answer);
        let line: String = text.lines().next().unwrap_or_default().chars().take(100).collect();
        format!("{}: answered `{line}`", self.address)
    }
}

/// Whether an answer of one line, or of one text, has arrived.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(2).position(|end| end == b"\r\n") else { return false };
    let length = || str::from_utf8(answer.get(1..end)?).ok()?.parse::<usize>().ok();
    match (answer.first(), length()) {
        (Some(b'$'), Some(length)) => answer.len() >= end + 2 + length + 2,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        for whole in ["+OK\r\n", "$-1\r\n", "$2\r\n17\r\n", "-ERR no\r\n", "_\r\n"] {
            assert!(is_whole(whole.as_bytes()), "{whole:?}");
            for end in 0..whole.len() {
                assert!(!is_whole(&whole.as_bytes()[..end]), "{:?}", &whole[..end]);
            }
        }
    }

    #[test]
    fn an_older_value_than_before_goes_back() {
        let mut node = Node::new("127.0.0.1:1".parse().unwrap(), "k");
        assert!(node.advance(3) == Direction::Forward && node.advance(3) == Direction::Forward);
        assert!(node.advance(2) == Direction::Back && node.advance(4) == Direction::Forward);
    }
}

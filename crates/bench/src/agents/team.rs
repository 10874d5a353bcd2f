//! The side of a coordinator: several agents that measure together.
//!
//! Owns the order of a measurement over all of them, and their clocks. An agent that is lost once the measurement has
//! begun makes the result invalid; before, nothing is measured.
#![expect(
    clippy::disallowed_types,
    reason = "blocking connections of the main thread, which has no scheduler"
)]

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde::de::DeserializeOwned;
use sys::clock::monotonic_ns;

use super::AgentError;
use super::key::AgentKey;
use super::line::{Line, Side};
use super::words::{FromAgent, Task, ToAgent};
use crate::limits::{
    AGENT_CLOCK_READINGS, AGENT_GREETING_NS, AGENT_IDLE_NS, AGENT_PATIENCE_NS, AGENT_START_NS,
    AGENTS_MAXIMUM,
};
use crate::report::{AgentReport, AgentState};

/// An agent as its coordinator sees it.
#[derive(Debug)]
struct Member {
    address: String,
    line: Line,
    clock: Clock,
    lost: Option<String>,
}

/// How the clock of an agent differs.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// How much it shows more than this host's.
    offset_ns: i64,
    error_ns: u64,
}

/// An error of one agent.
#[derive(Debug, thiserror::Error)]
#[error("agent {address}: {error}")]
pub struct MemberError {
    address: String,
    error: AgentError,
}

/// Agents that measure together.
#[derive(Debug)]
pub struct Team {
    members: Vec<Member>,
}

impl Team {
    /// Connects to all agents and reads their clocks.
    ///
    /// # Errors
    /// The first agent that cannot be used.
    pub fn gather(addresses: &[String], key: &AgentKey) -> Result<Self, MemberError> {
        if addresses.len() > AGENTS_MAXIMUM {
            let (address, error) = (addresses.join(","), AgentError::TooMany(addresses.len()));
            return Err(MemberError { address, error });
        }
        let members = addresses.iter().map(|address| {
            Member::meet(address, key)
                .map_err(|error| MemberError { address: address.clone(), error })
        });
        Ok(Self { members: members.collect::<Result<_, _>>()? })
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Has all agents make ready for the same command line, each for its part. The result is how many connections each
    /// has open.
    ///
    /// # Errors
    /// The first agent that refuses, or is lost.
    pub fn prepare(&mut self, words: &[String], run: u16) -> Result<Vec<u64>, MemberError> {
        let generators = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        for (member, generator) in self.members.iter_mut().zip(0..) {
            let task = Task { words: words.to_vec(), generator, generators, run };
            member.line.send(&ToAgent::Prepare(task)).map_err(|error| member.blame(error))?;
        }
        let opening = Duration::from_nanos(AGENT_IDLE_NS);
        let ready = self.members.iter_mut().map(|member| match member.hear::<()>(opening) {
            Ok(FromAgent::Ready(open)) => Ok(open),
            Ok(FromAgent::Refused { why }) => Err(member.blame(AgentError::Refused(why))),
            Ok(_) => Err(member.blame(AgentError::Unexpected)),
            Err(error) => Err(member.blame(error)),
        });
        ready.collect()
    }

    /// Has all agents begin at the same moment.
    pub fn start(&mut self) {
        let furthest_ns = self.members.iter().map(|member| member.clock.error_ns).max();
        let begin_ns = monotonic_ns() + AGENT_START_NS + 4 * furthest_ns.unwrap_or(0);
        let offsets: Vec<i64> = self.members.iter().map(|member| member.clock.offset_ns).collect();
        for member in &mut self.members {
            let offset_ns = member.clock.offset_ns;
            let clocks = offsets.iter().map(|other_ns| offset_ns - other_ns).collect();
            let begin_ns = begin_ns.saturating_add_signed(offset_ns);
            let sent = member.line.send(&ToAgent::Start { begin_ns, clocks });
            member.lose_if(sent);
        }
    }

    /// Waits until all agents have published their messages, and tells each how many all of them are. Publishing takes
    /// this long.
    pub fn share_published(&mut self, takes: Duration) {
        let mut all: Vec<u64> = Vec::new();
        for member in &mut self.members {
            if let Some(FromAgent::Published(own)) = member.await_present::<()>(takes) {
                all.resize(all.len().max(own.len()), 0);
                for (sum, own) in all.iter_mut().zip(own) {
                    *sum += own;
                }
            }
        }
        for member in self.members.iter_mut().filter(|member| member.lost.is_none()) {
            let sent = member.line.send(&ToAgent::Published(all.clone()));
            member.lose_if(sent);
        }
    }

    /// Waits for the results, which take this long; `None` for each agent that was lost.
    pub fn results<T: DeserializeOwned>(&mut self, take: Duration) -> Vec<Option<T>> {
        let results =
            self.members.iter_mut().map(|member| match member.await_present::<T>(take)? {
                FromAgent::Result(result) => {
                    member.read_clock_again();
                    Some(result)
                }
                _ => None,
            });
        results.collect()
    }

    /// The nanoseconds to add to a time of each agent's clock to get this host's.
    pub fn offsets_ns(&self) -> Vec<i64> {
        self.members.iter().map(|member| -member.clock.offset_ns).collect()
    }

    /// The part of a report about each agent. `judge` says how much it has done, and why its part cannot be trusted.
    pub fn report(&self, mut judge: impl FnMut(usize) -> (u64, Vec<String>)) -> Vec<AgentReport> {
        let each = self.members.iter().enumerate().map(|(at, member)| {
            let (done, reasons) = judge(at);
            let (state, reasons) = match &member.lost {
                Some(why) => (AgentState::Lost, vec![why.clone()]),
                None if reasons.is_empty() => (AgentState::Valid, reasons),
                None => (AgentState::Invalid, reasons),
            };
            AgentReport {
                address: member.address.clone(),
                clock_offset_ns: member.clock.offset_ns,
                clock_error_ns: member.clock.error_ns,
                done,
                state,
                reasons,
            }
        });
        each.collect()
    }
}

impl Member {
    fn meet(text: &str, key: &AgentKey) -> Result<Self, AgentError> {
        let wrong = |why: String| AgentError::Address { text: text.to_owned(), why };
        let mut addresses = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
        let address = addresses.next().ok_or_else(|| wrong("no such address".to_owned()))?;
        let patience = Duration::from_nanos(AGENT_GREETING_NS);
        let stream = TcpStream::connect_timeout(&address, patience)?;
        let mut line = Line::begin(stream, Side::Coordinator, key)?;
        let clock = read_clock(&mut line)?;
        Ok(Self { address: text.to_owned(), line, clock, lost: None })
    }

    fn blame(&self, error: AgentError) -> MemberError {
        MemberError { address: self.address.clone(), error }
    }

    /// The answer of the agent, within the planned time and some more.
    fn hear<T: DeserializeOwned>(&mut self, takes: Duration) -> Result<FromAgent<T>, AgentError> {
        let takes_ns = u64::try_from(takes.as_nanos()).unwrap_or(u64::MAX);
        self.line.set_patience(takes_ns.saturating_add(AGENT_PATIENCE_NS))?;
        self.line.receive()
    }

    /// The same unless it was lost before, or is now.
    fn await_present<T: DeserializeOwned>(&mut self, takes: Duration) -> Option<FromAgent<T>> {
        if self.lost.is_some() {
            return None;
        }
        match self.hear(takes) {
            Ok(FromAgent::Refused { why }) => self.lost = Some(why),
            Ok(said) => return Some(said),
            Err(error) => self.lost = Some(error.to_string()),
        }
        None
    }

    fn lose_if(&mut self, sent: Result<(), AgentError>) {
        if let Err(error) = sent {
            self.lost.get_or_insert(error.to_string());
        }
    }

    /// Reads the clock after a run: by as much as it has moved meanwhile, times of the run may be wrong.
    fn read_clock_again(&mut self) {
        // Its result is there; a further run will notice that an agent has ended.
        if let Ok(Clock { offset_ns, error_ns }) = read_clock(&mut self.line) {
            let moved_ns = self.clock.offset_ns.abs_diff(offset_ns);
            self.clock.error_ns = self.clock.error_ns.max(error_ns).max(moved_ns);
        }
    }
}

/// The clock of an agent, by the reading with the shortest round trip.
fn read_clock(line: &mut Line) -> Result<Clock, AgentError> {
    let mut best: Option<Clock> = None;
    for _ in 0..AGENT_CLOCK_READINGS {
        let asked_ns = monotonic_ns();
        line.send(&ToAgent::Clock)?;
        let FromAgent::<()>::Clock(shown_ns) = line.receive()? else {
            return Err(AgentError::Unexpected);
        };
        let error_ns = (monotonic_ns() - asked_ns) / 2;
        let middle_ns = asked_ns + error_ns;
        if best.is_none_or(|best| error_ns < best.error_ns) {
            let offset_ns = i128::from(shown_ns) - i128::from(middle_ns);
            let offset_ns = i64::try_from(offset_ns).map_err(|_| AgentError::Garbage)?;
            best = Some(Clock { offset_ns, error_ns });
        }
    }
    Ok(best.unwrap_or_default())
}

//! The side of an agent: it waits for a coordinator and does what that says, one measurement after the other.
//!
//! Owns where it may listen, and the order of a task. Never makes a plan: its caller does, from the words of the task.
#![expect(
    clippy::disallowed_types,
    reason = "one blocking connection of the main thread, whose table the threads of a run do not share"
)]

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use serde::Serialize;
use sys::clock::monotonic_ns;

use super::AgentError;
use super::key::AgentKey;
use super::line::{CoordinatorPulse, Line, Side};
use super::words::{FromAgent, Task, ToAgent};
use crate::channel::{Conductor, Start};
use crate::limits::AGENT_IDLE_NS;
use crate::plan::Ownership;
use crate::run::RunError;

/// A place where coordinators find an agent.
#[derive(Debug)]
pub struct Agent {
    listener: TcpListener,
    key: AgentKey,
}

impl Agent {
    /// Listens. Beyond this host that takes a key, and the consent of the user: whoever has the key can load other
    /// hosts from this one.
    ///
    /// # Errors
    /// If it may not, or cannot.
    pub fn listen(text: &str, key: AgentKey, consent: Ownership) -> Result<Self, AgentError> {
        let wrong = |why: String| AgentError::Address { text: text.to_owned(), why };
        let mut addresses = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
        let address = addresses.next().ok_or_else(|| wrong("no such address".to_owned()))?;
        if !address.ip().is_loopback() {
            if key.is_none() {
                let why = format!(
                    "{address} can be reached from other hosts: give a --key-file, or listen at 127.0.0.1"
                );
                return Err(AgentError::Listen(why));
            }
            if consent == Ownership::Unsaid {
                let why = format!(
                    "whoever has the key could load other hosts from this one through {address}; confirm that \
                     with --i-own-this-host"
                );
                return Err(AgentError::Listen(why));
            }
        }
        Ok(Self { listener: TcpListener::bind(address)?, key })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn address(&self) -> Result<SocketAddr, AgentError> {
        Ok(self.listener.local_addr()?)
    }

    /// Waits for a coordinator, and greets it. The outer error is that of this host, the inner one that of the other.
    ///
    /// # Errors
    /// If no more can be accepted.
    pub fn accept(&self) -> Result<(SocketAddr, Result<AgentSession, AgentError>), AgentError> {
        let (stream, peer) = self.listener.accept()?;
        let line = Line::begin(stream, Side::Agent, &self.key);
        Ok((peer, line.map(|line| AgentSession { line })))
    }
}

/// The connection of a coordinator.
#[derive(Debug)]
pub struct AgentSession {
    line: Line,
}

impl AgentSession {
    /// Waits for a task; `None` when the coordinator has no more.
    ///
    /// # Errors
    /// If the coordinator says something else.
    pub fn task(&mut self) -> Result<Option<Task>, AgentError> {
        match self.hear() {
            Ok(ToAgent::Prepare(task)) => Ok(Some(task)),
            Err(AgentError::Connection(error))
                if error.kind() == std::io::ErrorKind::UnexpectedEof =>
            {
                Ok(None)
            }
            Ok(_) => Err(AgentError::Unexpected),
            Err(error) => Err(error),
        }
    }

    /// The next message. The clock can be asked at any time.
    fn hear(&mut self) -> Result<ToAgent, AgentError> {
        self.line.set_patience(AGENT_IDLE_NS)?;
        loop {
            match self.line.receive()? {
                ToAgent::Clock => self.line.send(&FromAgent::<()>::Clock(monotonic_ns()))?,
                other => return Ok(other),
            }
        }
    }

    /// Whether the coordinator is still there, while this side measures.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn pulse(&self) -> Result<CoordinatorPulse, AgentError> {
        self.line.pulse()
    }

    /// Refuses the task.
    ///
    /// # Errors
    /// If the coordinator is gone.
    pub fn refuse(&mut self, why: &str) -> Result<(), AgentError> {
        self.line.send(&FromAgent::<()>::Refused { why: why.to_owned() })
    }

    /// Hands over what was measured.
    ///
    /// # Errors
    /// If the coordinator is gone, or it is too much.
    pub fn finish(&mut self, result: &impl Serialize) -> Result<(), AgentError> {
        self.line.send(&FromAgent::Result(result))
    }
}

impl Conductor for AgentSession {
    fn start(&mut self, open: u64) -> Result<Start, RunError> {
        self.line.send(&FromAgent::<()>::Ready(open)).map_err(disagreed)?;
        match self.hear().map_err(disagreed)? {
            ToAgent::Start { begin_ns, clocks } => Ok(Start { begin_ns, clocks }),
            _ => Err(disagreed(AgentError::Unexpected)),
        }
    }

    fn published(&mut self, own: Vec<u64>) -> Result<Vec<u64>, RunError> {
        self.line.send(&FromAgent::<()>::Published(own)).map_err(disagreed)?;
        match self.hear().map_err(disagreed)? {
            ToAgent::Published(all) => Ok(all),
            _ => Err(disagreed(AgentError::Unexpected)),
        }
    }
}

fn disagreed(error: AgentError) -> RunError {
    RunError::Agreement(format!("the coordinator: {error}"))
}

//! A connection between a coordinator and an agent.
//!
//! Owns the frames: four bytes of length, that many bytes of JSON, and a code that only the other side can have made.
//! Owns the greeting. Never encrypts: a plan and its result are no secrets, but nobody else may give a plan.
#![expect(
    clippy::disallowed_types,
    reason = "one blocking connection of the main thread, whose table the threads of a run do not share"
)]

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::AgentError;
use super::key::{AgentKey, CODE_BYTES};
use super::words::{Greeting, Proof};
use crate::limits::{AGENT_GREETING_BYTES, AGENT_GREETING_NS, AGENT_MESSAGE_BYTES, AGENT_PROTOCOL};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Coordinator,
    Agent,
}

impl Side {
    fn name(self) -> &'static [u8] {
        match self {
            Self::Coordinator => b"coordinator",
            Self::Agent => b"agent",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Coordinator => Self::Agent,
            Self::Agent => Self::Coordinator,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Line {
    stream: TcpStream,
    side: Side,
    key: AgentKey,
    sent: u64,
    received: u64,
    longest: usize,
}

impl Line {
    /// Greets the other side; both prove that they have the key.
    pub(super) fn begin(
        stream: TcpStream,
        side: Side,
        secret: &AgentKey,
    ) -> Result<Self, AgentError> {
        stream.set_nodelay(true)?;
        let longest = AGENT_GREETING_BYTES;
        let mut line = Self { stream, side, key: AgentKey::none(), sent: 0, received: 0, longest };
        line.set_patience(AGENT_GREETING_NS)?;
        let mine = fresh_nonce()?;
        let greeting = |nonce: &str, proof| Greeting {
            protocol: AGENT_PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            nonce: nonce.to_owned(),
            proof,
        };
        let (theirs, nonces);
        if side == Side::Coordinator {
            line.send(&greeting(&mine, None))?;
            let answer: Greeting = line.receive()?;
            check_version(&answer)?;
            theirs = answer.nonce.clone();
            nonces = [mine.as_bytes(), theirs.as_bytes()];
            check_proof(answer.proof.as_deref(), secret, Side::Agent, nonces)?;
            line.send(&Proof { proof: proof(secret, side, nonces) })?;
        } else {
            let asked: Greeting = line.receive()?;
            theirs = asked.nonce.clone();
            nonces = [theirs.as_bytes(), mine.as_bytes()];
            // Also to another version, so that both sides can name both.
            line.send(&greeting(&mine, Some(proof(secret, side, nonces))))?;
            check_version(&asked)?;
            let answer: Proof = line.receive()?;
            check_proof(Some(&answer.proof), secret, Side::Coordinator, nonces)?;
        }
        line.key = secret.derive(&[b"session", nonces[0], nonces[1]]);
        line.longest = AGENT_MESSAGE_BYTES;
        Ok(line)
    }

    /// How long to wait for the other side.
    pub(super) fn set_patience(&self, nanoseconds: u64) -> Result<(), AgentError> {
        let time = Some(Duration::from_nanos(nanoseconds.max(1)));
        self.stream.set_read_timeout(time)?;
        Ok(self.stream.set_write_timeout(time)?)
    }

    /// Says something.
    pub(super) fn send(&mut self, message: &impl Serialize) -> Result<(), AgentError> {
        let body = serde_json::to_vec(message).map_err(|_| AgentError::Garbage)?;
        if body.len() > self.longest {
            return Err(AgentError::TooLong(body.len()));
        }
        let length = u32::try_from(body.len()).map_err(|_| AgentError::TooLong(body.len()))?;
        let code = self.key.code(&[self.side.name(), &self.sent.to_be_bytes(), &body]).bytes();
        self.sent += 1;
        let frame = [&length.to_be_bytes()[..], &body, &code].concat();
        Ok(self.stream.write_all(&frame)?)
    }

    /// Waits for what the other side says.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> Result<T, AgentError> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > self.longest {
            return Err(AgentError::TooLong(length));
        }
        // As it arrives, so that a length alone takes no memory.
        let mut body = Vec::new();
        (&self.stream).take(length as u64).read_to_end(&mut body)?;
        let mut code = [0; CODE_BYTES];
        self.stream.read_exact(&mut code)?;
        let number = self.received.to_be_bytes();
        if !self.key.has_made(&code, &[self.side.other().name(), &number, &body]) {
            return Err(AgentError::Forged);
        }
        self.received += 1;
        serde_json::from_slice(&body).map_err(|_| AgentError::Garbage)
    }

    /// A view of the connection that tells when the other side is gone, also while nobody reads.
    pub(super) fn pulse(&self) -> Result<CoordinatorPulse, AgentError> {
        Ok(CoordinatorPulse(self.stream.try_clone()?))
    }
}

/// Whether the other side of a connection is still there.
#[derive(Debug)]
pub struct CoordinatorPulse(TcpStream);

impl CoordinatorPulse {
    /// Whether it is gone. Never waits.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        // The other descriptor shares the mode, and nobody waits on it meanwhile.
        let asked = self.0.set_nonblocking(true).and_then(|()| self.0.peek(&mut [0]));
        let restored = self.0.set_nonblocking(false);
        match asked {
            Ok(0) => true,
            Ok(_) => restored.is_err(),
            Err(error) => error.kind() != io::ErrorKind::WouldBlock || restored.is_err(),
        }
    }
}

fn fresh_nonce() -> Result<String, AgentError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| AgentError::NoRandomness)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check_version(greeting: &Greeting) -> Result<(), AgentError> {
    let is_same =
        greeting.protocol == AGENT_PROTOCOL && greeting.version == env!("CARGO_PKG_VERSION");
    if is_same { Ok(()) } else { Err(AgentError::Version(greeting.version.clone())) }
}

fn proof(secret: &AgentKey, side: Side, [first, second]: [&[u8]; 2]) -> String {
    hex(&secret.code(&[side.name(), first, second]).bytes())
}

fn check_proof(
    given: Option<&str>,
    secret: &AgentKey,
    side: Side,
    [first, second]: [&[u8]; 2],
) -> Result<(), AgentError> {
    let bytes: Option<Vec<u8>> = given.filter(|given| given.is_ascii()).and_then(|given| {
        let pairs = given.as_bytes().chunks(2);
        pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
    });
    match bytes {
        Some(bytes) if secret.has_made(&bytes, &[side.name(), first, second]) => Ok(()),
        _ => Err(AgentError::Key),
    }
}

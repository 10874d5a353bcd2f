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
use sys::clock::monotonic_ns;

use super::AgentError;
use super::key::{AgentKey, CODE_BYTES};
use super::words::{Greeting, Proof};
use crate::limits::{AGENT_GREETING_BYTES, AGENT_GREETING_NS, AGENT_MESSAGE_BYTES, AGENT_PROTOCOL};

/// Bytes of a message that are read at a time.
const PIECE_BYTES: usize = 1 << 16;

/// The side that speaks.
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
    patience_ns: u64,
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
        let (key, patience_ns) = (AgentKey::none(), AGENT_GREETING_NS);
        let mut line = Self { stream, side, key, sent: 0, received: 0, longest, patience_ns };
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

    /// How long to wait for each message of the other side, from its first byte to its last.
    pub(super) fn set_patience(&mut self, nanoseconds: u64) -> Result<(), AgentError> {
        self.patience_ns = nanoseconds;
        Ok(self.stream.set_write_timeout(Some(Duration::from_nanos(nanoseconds.max(1))))?)
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
        let deadline_ns = monotonic_ns().saturating_add(self.patience_ns);
        let mut length = [0; 4];
        self.fill(&mut length, deadline_ns)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > self.longest {
            return Err(AgentError::TooLong(length));
        }
        // As it arrives, so that a length alone takes no memory.
        let mut body = Vec::new();
        while body.len() < length {
            let begin = body.len();
            body.resize(length.min(begin + PIECE_BYTES), 0);
            self.fill(&mut body[begin..], deadline_ns)?;
        }
        let mut code = [0; CODE_BYTES];
        self.fill(&mut code, deadline_ns)?;
        let number = self.received.to_be_bytes();
        if !self.key.has_made(&code, &[self.side.other().name(), &number, &body]) {
            return Err(AgentError::Forged);
        }
        self.received += 1;
        serde_json::from_slice(&body).map_err(|_| AgentError::Garbage)
    }

    /// Reads this many bytes until then. A side that sends a byte now and then gets no more time.
    fn fill(&self, mut place: &mut [u8], deadline_ns: u64) -> Result<(), AgentError> {
        while !place.is_empty() {
            let left_ns = deadline_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            self.stream.set_read_timeout(Some(Duration::from_nanos(left_ns)))?;
            match (&self.stream).read(place) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) => place = &mut place[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Both ends of a connection.
    fn pair() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let coordinator = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [coordinator, listener.accept().unwrap().0]
    }

    fn greeted(keys: [AgentKey; 2]) -> [Result<Line, AgentError>; 2] {
        let ([coordinator, agent], [first, second]) = (pair(), keys);
        let waits = std::thread::spawn(move || Line::begin(agent, Side::Agent, &second));
        let begun = Line::begin(coordinator, Side::Coordinator, &first);
        // If it gives up, the other one hears that.
        [begun, waits.join().unwrap()]
    }

    fn key(byte: u8) -> AgentKey {
        AgentKey::none().derive(&[&[byte]])
    }

    #[test]
    fn messages_arrive_between_sides_with_one_key() {
        let [Ok(mut coordinator), Ok(mut agent)] = greeted([key(1), key(1)]) else { panic!() };
        for number in 0..3_u64 {
            coordinator.send(&number).unwrap();
            assert_eq!(agent.receive::<u64>().unwrap(), number);
            agent.send(&(number + 7)).unwrap();
            assert_eq!(coordinator.receive::<u64>().unwrap(), number + 7);
        }
        let pulse = agent.pulse().unwrap();
        assert!(!pulse.is_lost());
        drop(coordinator);
        while !pulse.is_lost() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_side_without_the_key_is_found_out_by_the_other() {
        let [coordinator, agent] = greeted([key(1), key(2)]);
        assert!(matches!(coordinator, Err(AgentError::Key)));
        assert!(agent.is_err());
    }

    #[test]
    fn a_message_that_was_changed_or_repeated_is_refused() {
        let frame = |side: Side, key: &AgentKey, number: u64, body: &[u8]| {
            let code = key.code(&[side.name(), &number.to_be_bytes(), body]).bytes();
            [&(body.len() as u32).to_be_bytes()[..], body, &code].concat()
        };
        // Changed; with the number of an earlier one, as a repeated one has; and sent back to its author.
        for (side, back, change) in
            [(Side::Coordinator, 0, 1), (Side::Coordinator, 1, 0), (Side::Agent, 0, 0)]
        {
            let [Ok(mut coordinator), Ok(mut agent)] = greeted([key(1), key(1)]) else { panic!() };
            coordinator.send(&5_u64).unwrap();
            assert_eq!(agent.receive::<u64>().unwrap(), 5);
            let mut bytes = frame(side, &coordinator.key, coordinator.sent - back, b"6");
            bytes[4] ^= change;
            coordinator.stream.write_all(&bytes).unwrap();
            assert!(matches!(agent.receive::<u64>(), Err(AgentError::Forged)), "{side:?} {back}");
        }
    }

    #[test]
    fn a_length_beyond_the_bound_is_refused_before_the_message() {
        let [Ok(coordinator), Ok(mut agent)] = greeted([key(1), key(1)]) else { panic!() };
        let length = AGENT_MESSAGE_BYTES as u32 + 1;
        (&coordinator.stream).write_all(&length.to_be_bytes()).unwrap();
        assert!(matches!(agent.receive::<u64>(), Err(AgentError::TooLong(_))));
    }
}

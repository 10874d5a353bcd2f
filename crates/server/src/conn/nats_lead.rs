//! The first line of a server of NATS: it comes in clear, before the handshake of TLS.
//!
//! Owns that line until the handshake is over; then its process gets it as its first input, as on a plain connection.
//! Never reads more of it than its end, and whether the server offers TLS.

use std::rc::Rc;

use cluster::NatsInfo;
use runtime::transport::{Agreed, Transport, Violation};
use wire::limits::NATS_LINE_SIZE;
use wire::nats::NatsServerSaid;

/// A transport with the first line of a server before it.
pub(super) struct NatsLead {
    behind: Box<dyn Transport>,
    line: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The line comes.
    Line,
    /// The handshake.
    Handshake,
    /// The process has the line.
    Over,
}

impl NatsLead {
    pub(super) fn before(behind: Box<dyn Transport>) -> Self {
        Self { behind, line: Vec::new(), stage: Stage::Line }
    }

    /// Takes bytes of the line; returns how many of these belong to it.
    fn take_line(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let before = self.line.len();
        self.line.extend_from_slice(bytes);
        let length = match NatsServerSaid::read(&self.line, NATS_LINE_SIZE) {
            Ok(None) => return Ok(bytes.len()),
            Ok(Some((NatsServerSaid::Info(json), length))) => {
                let info = NatsInfo::read(json).ok_or(Violation::Protocol)?;
                if !info.offers_tls() {
                    return Err(Violation::OtherProtocol);
                }
                length
            }
            Ok(Some(_)) | Err(_) => return Err(Violation::OtherProtocol),
        };
        self.stage = Stage::Handshake;
        self.line.truncate(length);
        Ok(length - before)
    }
}

impl Transport for NatsLead {
    fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let mut taken = 0;
        if self.stage == Stage::Line {
            taken = self.take_line(bytes)?;
            if self.stage == Stage::Line {
                return Ok(());
            }
            // The first flight of the handshake.
            self.behind.open(&mut [], plain, wire)?;
        }
        let start = plain.len();
        self.behind.open(&mut bytes[taken..], plain, wire)?;
        if self.stage == Stage::Handshake && self.behind.agreed().is_some() {
            self.stage = Stage::Over;
            plain.splice(start..start, std::mem::take(&mut self.line));
        }
        Ok(())
    }

    fn agreed(&self) -> Option<&Rc<Agreed>> {
        self.behind.agreed()
    }

    fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>) -> Result<(), Violation> {
        self.behind.seal(bytes, wire)
    }

    fn end(&mut self, wire: &mut Vec<u8>) {
        if self.stage != Stage::Line {
            self.behind.end(wire);
        }
    }

    fn has_ended(&self) -> bool {
        self.behind.has_ended()
    }

    fn held_bytes(&self) -> usize {
        self.line.capacity() + self.behind.held_bytes()
    }
}

//! A PROXY header before the handshake: the load balancer sends it in clear, in front of the client's encrypted bytes.
//!
//! Owns that header until the handshake is over; then its process gets it as its first input, as on a plain connection.
//! Never believes it: the process checks who sent it.

use std::rc::Rc;

use runtime::transport::{Agreed, Transport, Violation};
use wire::proxy::{self, ParsedProxyHeader};

/// A transport with a PROXY header before it.
pub(super) struct ProxyLead {
    behind: Box<dyn Transport>,
    /// The header, as far as it has come.
    header: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The header comes.
    Header,
    Handshake,
    /// The process has the header.
    Over,
}

impl ProxyLead {
    pub(super) fn before(behind: Box<dyn Transport>) -> Self {
        Self { behind, header: Vec::new(), stage: Stage::Header }
    }

    /// Takes bytes of the header; returns how many of these belong to it.
    fn take_header(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let before = self.header.len();
        self.header.extend_from_slice(bytes);
        match proxy::parse(&self.header) {
            Ok(ParsedProxyHeader::Partial) => Ok(bytes.len()),
            Ok(ParsedProxyHeader::Complete { length, .. }) => {
                self.stage = Stage::Handshake;
                self.header.truncate(length);
                self.header.shrink_to_fit();
                Ok(length - before)
            }
            Err(_) => Err(Violation::Protocol),
        }
    }
}

impl Transport for ProxyLead {
    fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let taken = if self.stage == Stage::Header { self.take_header(bytes)? } else { 0 };
        if self.stage == Stage::Header {
            return Ok(());
        }
        let start = plain.len();
        self.behind.open(&mut bytes[taken..], plain, wire)?;
        if self.stage == Stage::Handshake && self.behind.agreed().is_some() {
            self.stage = Stage::Over;
            plain.splice(start..start, std::mem::take(&mut self.header));
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
        self.behind.end(wire);
    }

    fn has_ended(&self) -> bool {
        self.behind.has_ended()
    }

    fn held_bytes(&self) -> usize {
        self.header.capacity() + self.behind.held_bytes()
    }
}

//! Bytes in clear before a handshake: the PROXY header of a load balancer, and the first line of a server of NATS.
//!
//! Owns them until the handshake is over; then their process gets them as its first input, as on a plain connection.
//! Never believes them: the process checks who sent them. Never reads more than their end, and whether a server of NATS
//! offers TLS.

use std::rc::Rc;

use cluster::NatsInfo;
use runtime::transport::{Agreed, Transport, Violation};
use wire::limits::NATS_LINE_SIZE;
use wire::nats::NatsServerSaid;
use wire::proxy::{self, ParsedProxyHeader};

/// A transport with bytes in clear before it.
pub(super) struct Lead {
    behind: Box<dyn Transport>,
    kind: LeadKind,
    /// The bytes, as far as they have come.
    clear: Vec<u8>,
    stage: Stage,
}

/// The bytes that come in clear.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeadKind {
    /// A PROXY header, in front of the encrypted bytes of a client.
    ProxyHeader,
    /// The first line of a server of NATS. This side begins the handshake then.
    NatsLine,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// They come.
    Clear,
    Handshake,
    /// The process has them.
    Over,
}

impl LeadKind {
    /// The length of them all; `None`: there are more to come.
    fn length(self, clear: &[u8]) -> Result<Option<usize>, Violation> {
        match self {
            Self::ProxyHeader => match proxy::parse(clear) {
                Ok(ParsedProxyHeader::Partial) => Ok(None),
                Ok(ParsedProxyHeader::Complete { length, .. }) => Ok(Some(length)),
                Err(_) => Err(Violation::Protocol),
            },
            Self::NatsLine => match NatsServerSaid::read(clear, NATS_LINE_SIZE) {
                Ok(None) => Ok(None),
                Ok(Some((NatsServerSaid::Info(json), length))) => {
                    let info = NatsInfo::read(json).ok_or(Violation::Protocol)?;
                    if info.offers_tls() { Ok(Some(length)) } else { Err(Violation::OtherProtocol) }
                }
                Ok(Some(_)) | Err(_) => Err(Violation::OtherProtocol),
            },
        }
    }
}

impl Lead {
    pub(super) fn before(behind: Box<dyn Transport>, kind: LeadKind) -> Self {
        Self { behind, kind, clear: Vec::new(), stage: Stage::Clear }
    }

    /// Takes bytes; returns how many of these come in clear.
    fn take_clear(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let before = self.clear.len();
        self.clear.extend_from_slice(bytes);
        let Some(length) = self.kind.length(&self.clear)? else { return Ok(bytes.len()) };
        self.stage = Stage::Handshake;
        self.clear.truncate(length);
        self.clear.shrink_to_fit();
        Ok(length - before)
    }
}

impl Transport for Lead {
    fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let mut taken = 0;
        if self.stage == Stage::Clear {
            taken = self.take_clear(bytes)?;
            if self.stage == Stage::Clear {
                return Ok(());
            }
            if self.kind == LeadKind::NatsLine {
                // The first flight of the handshake.
                self.behind.open(&mut [], plain, wire)?;
            }
        }
        let start = plain.len();
        self.behind.open(&mut bytes[taken..], plain, wire)?;
        if self.stage == Stage::Handshake && self.behind.agreed().is_some() {
            self.stage = Stage::Over;
            plain.splice(start..start, std::mem::take(&mut self.clear));
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
        if self.stage != Stage::Clear || self.kind == LeadKind::ProxyHeader {
            self.behind.end(wire);
        }
    }

    fn has_ended(&self) -> bool {
        self.behind.has_ended()
    }

    fn held_bytes(&self) -> usize {
        self.clear.capacity() + self.behind.held_bytes()
    }
}

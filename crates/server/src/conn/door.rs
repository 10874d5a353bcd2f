//! The door of an encrypted connection: what is seen of it before its handshake is over.
//!
//! Owns the look at the first byte, and the place in the share of its address. A client that speaks the protocol of the
//! listener without encryption is told so in words that it understands: it cannot read an alert.

use std::rc::Rc;

use config::Protocol;
use runtime::transport::{Agreed, Transport, Violation};

use crate::handshakes::UnderWay;

const HTTP_ANSWER: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; \
                           charset=utf-8\r\nConnection: close\r\n\r\nThis port takes encrypted connections \
                           only: use https:// in place of http://.\n";

/// The answer to a command of Redis.
const RESP_ANSWER: &str =
    "-ERR this port takes encrypted connections only: use rediss:// or --tls\r\n";

/// A transport before which a client may forget to encrypt.
pub(crate) struct Door {
    behind: Box<dyn Transport>,
    protocol: Protocol,
    /// Whether anything has come: it encrypts, or fails in its own way.
    is_passed: bool,
    /// Until the handshake is over.
    under_way: Option<UnderWay>,
}

impl Door {
    /// Before a transport that carries this protocol and counts in the share of its address, if it has one.
    pub(crate) fn before(
        behind: Box<dyn Transport>,
        protocol: Protocol,
        under_way: Option<UnderWay>,
    ) -> Self {
        Self { behind, protocol, is_passed: false, under_way }
    }

    /// The answer to a connection that begins with this byte, if it is not encrypted. A record begins with its kind, at
    /// most 24; a method of HTTP is in capital letters, a command of Redis begins with an asterisk or a letter.
    fn answer(&self, first: u8) -> Option<&'static str> {
        match self.protocol {
            Protocol::Http => first.is_ascii_uppercase().then_some(HTTP_ANSWER),
            Protocol::Resp => (first == b'*' || first.is_ascii_alphabetic()).then_some(RESP_ANSWER),
        }
    }
}

impl Transport for Door {
    fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        if !self.is_passed
            && let Some(first) = bytes.first()
        {
            self.is_passed = true;
            if let Some(answer) = self.answer(*first) {
                wire.extend_from_slice(answer.as_bytes());
                return Err(Violation::Protocol);
            }
        }
        self.behind.open(bytes, plain, wire)?;
        if self.under_way.is_some() && self.behind.agreed().is_some() {
            self.under_way = None;
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
        self.behind.held_bytes()
    }
}

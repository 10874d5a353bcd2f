//! A session as the transport of a connection, of either side.
//!
//! Owns what is told of a handshake. Never chooses a certificate.

use std::rc::Rc;

use runtime::transport::{Agreed, Resumption, Transport, Violation};

use crate::failure::violation_of;
use crate::session::{Session, Unbuffered};

/// The transport of a connection.
pub(crate) struct Carrier<C> {
    session: Session<C>,
    /// The name that the client asked for, until the handshake is over.
    asked: Option<Box<str>>,
    agreed: Option<Rc<Agreed>>,
}

impl<C> Carrier<C> {
    pub(crate) fn new(session: Session<C>, asked: Option<Box<str>>) -> Self {
        Self { session, asked, agreed: None }
    }
}

impl<C: Unbuffered> Transport for Carrier<C> {
    fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        if self.agreed.is_some() {
            return self.session.open(bytes, plain, wire).map_err(|error| violation_of(&error));
        }
        // The rest of a hello on this thread, of a connection that failed.
        drop(C::take_asked());
        let opened = self.session.open(bytes, plain, wire);
        self.asked = C::take_asked().or_else(|| self.asked.take());
        opened.map_err(|error| violation_of(&error))?;
        if self.session.is_over() {
            let mut agreed = agreed_of(&self.session, self.asked.take());
            C::complete(&mut agreed);
            self.agreed = Some(Rc::new(agreed));
        }
        Ok(())
    }

    fn agreed(&self) -> Option<&Rc<Agreed>> {
        self.agreed.as_ref()
    }

    fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>) -> Result<(), Violation> {
        self.session.seal(bytes, wire).map_err(|_| Violation::Protocol)
    }

    fn end(&mut self, wire: &mut Vec<u8>) {
        self.session.end(wire);
    }

    fn has_ended(&self) -> bool {
        self.session.has_ended()
    }

    fn held_bytes(&self) -> usize {
        self.session.held_bytes()
    }
}

/// The terms that a session has agreed on.
fn agreed_of<C: Unbuffered>(session: &Session<C>, server_name: Option<Box<str>>) -> Agreed {
    let common = session.common();
    let version = match common.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
        _ => "TLSv1.3",
    };
    let cipher = common.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
    let group = common.negotiated_key_exchange_group().and_then(|group| group.name().as_str());
    let certificates = common.peer_certificates().unwrap_or_default();
    Agreed {
        version,
        cipher: cipher.map_or("", name_of_cipher),
        group: group.map_or("", name_of_group),
        resumption: if session.is_resumed() { Resumption::Resumed } else { Resumption::None },
        protocol: common.alpn_protocol().map(Into::into),
        server_name,
        peer_certificate: certificates.first().map(|der| der.as_ref().into()),
        client: None,
    }
}

/// The name in the registry of IANA, which writes two of them otherwise than rustls.
fn name_of_group(name: &'static str) -> &'static str {
    match name {
        "X25519" => "x25519",
        "secp256r1MLKEM768" => "SecP256r1MLKEM768",
        name => name,
    }
}

/// The name in the registry of IANA: rustls writes `TLS13_AES_128_GCM_SHA256` for `TLS_AES_128_GCM_SHA256`.
fn name_of_cipher(name: &'static str) -> &'static str {
    match name {
        "TLS13_AES_128_GCM_SHA256" => "TLS_AES_128_GCM_SHA256",
        "TLS13_AES_256_GCM_SHA384" => "TLS_AES_256_GCM_SHA384",
        "TLS13_CHACHA20_POLY1305_SHA256" => "TLS_CHACHA20_POLY1305_SHA256",
        name => name,
    }
}

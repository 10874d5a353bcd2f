//! The client's side of an encrypted connection in a world.
//!
//! Owns the transport of one client, and what a certificate and its trust are in these worlds. Keys come from the
//! system's random bytes, so a world with encryption comes again in what happens, not in every byte.

use std::cell::RefCell;
use std::sync::Arc;

use http::{Http, HttpSettings};
use runtime::transport::Transport;
use tls::{Acceptor, Certificates, ClientCertificates, Connector, Tickets, TrustedServers};

use crate::small::Small;
use crate::world::{Setting, Stage};

thread_local! {
    /// Made once for each thread of tests.
    static SIDES: RefCell<Option<(Acceptor, Connector)>> = const { RefCell::new(None) };
}

/// The two sides of all encrypted connections: sessions are resumed also across worlds.
pub(crate) fn sides() -> (Acceptor, Connector) {
    SIDES.with_borrow_mut(|sides| sides.get_or_insert_with(make_sides).clone())
}

fn make_sides() -> (Acceptor, Connector) {
    let identities = [tls::self_signed(&["example.test"]).unwrap()];
    let certificates = Certificates::Fixed(&identities);
    let tickets = Tickets::new().unwrap();
    let acceptor =
        Acceptor::new(certificates, &["http/1.1"], &ClientCertificates::Ignored, &tickets);
    (acceptor.unwrap(), Connector::new(&TrustedServers::Any, &["http/1.1"], None).unwrap())
}

/// A server of the small application behind TLS.
pub(crate) fn stage(setting: &Setting, acceptor: &Acceptor) -> Stage<Http<Small>> {
    let settings = Arc::new(HttpSettings::default());
    Stage::new(setting, Vec::new(), |_, _| {
        let mut small = Small::default();
        small.acceptor = Some(acceptor.clone());
        Http::new(small, Arc::clone(&settings), None)
    })
}

/// The transport of a client.
pub(crate) struct Secure(Box<dyn Transport>);

impl Secure {
    /// With the first bytes of its handshake.
    pub(crate) fn begin(connector: &Connector) -> (Self, Vec<u8>) {
        let mut secure = Self(connector.connect("example.test").unwrap());
        let wire = secure.open(&mut [], &mut Vec::new());
        (secure, wire)
    }

    /// Decodes bytes of the server; returns what the transport answers. No world changes a byte, so there is nothing
    /// that it could refuse.
    pub(crate) fn open(&mut self, bytes: &mut [u8], plain: &mut Vec<u8>) -> Vec<u8> {
        let mut wire = Vec::new();
        let opened = self.0.open(bytes, plain, &mut wire);
        opened.unwrap_or_else(|violation| panic!("the server's bytes are refused: {violation:?}"));
        wire
    }

    pub(crate) fn is_agreed(&self) -> bool {
        self.0.agreed().is_some()
    }

    pub(crate) fn seal(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut wire = Vec::new();
        self.0.seal(bytes, &mut wire).unwrap();
        wire
    }

    pub(crate) fn end(&mut self) -> Vec<u8> {
        let mut wire = Vec::new();
        self.0.end(&mut wire);
        wire
    }

    /// Whether the server has said that nothing follows.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.has_ended()
    }
}

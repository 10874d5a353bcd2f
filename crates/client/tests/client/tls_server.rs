//! Another server that speaks TLS, played by the test in the simulated world.
//!
//! Owns its end of one connection. Does not know the expected results.

use client::{HTTP1, OutgoingRequest, Url};
use runtime::transport::{Transport, Violation};
use tls::{
    Acceptor, Certificates, ClientCertificates, Connector, Identity, Tickets, TrustedServers,
};
use world::ClientId;

use crate::authority::Authority;
use crate::caller::{Calls, request};

/// The names in the certificate of the server.
pub(crate) const NAMES: [&str; 2] = ["10.0.0.9", "velodrome.example"];

/// The server's end of a connection.
pub(crate) struct TlsServer {
    pub(crate) socket: ClientId,
    pub(crate) transport: Box<dyn Transport>,
    /// Plain bytes that have arrived.
    pub(crate) heard: Vec<u8>,
    /// Bytes that are to be sent.
    wire: Vec<u8>,
    pub(crate) failure: Option<Violation>,
}

/// A server with this certificate, which asks clients for none.
pub(crate) fn acceptor(identity: Identity) -> Acceptor {
    acceptor_of(identity, &ClientCertificates::Ignored, HTTP1)
}

/// A server that speaks this protocol.
pub(crate) fn acceptor_of(
    identity: Identity,
    clients: &ClientCertificates,
    protocol: &str,
) -> Acceptor {
    let tickets = Tickets::new().unwrap();
    Acceptor::new(Certificates::Fixed(&[identity]), &[protocol], clients, &tickets).unwrap()
}

/// A connector that trusts an authority.
pub(crate) fn connector(authority: &Authority) -> Connector {
    connector_of(authority, &[HTTP1])
}

/// A connector that offers these protocols.
pub(crate) fn connector_of(authority: &Authority, protocols: &[&str]) -> Connector {
    Connector::new(&TrustedServers::Known(authority.trusted()), protocols, None).unwrap()
}

/// A request to the server over TLS.
pub(crate) fn secure(connector: &Connector, method: &str, path: &str) -> OutgoingRequest {
    let url = Url::parse(format!("https://10.0.0.9:80{path}").as_bytes()).unwrap();
    OutgoingRequest { url, connector: Some(connector.clone()), ..request(method, path) }
}

impl TlsServer {
    /// The other end of a new connection.
    pub(crate) fn accept(calls: &mut Calls, acceptor: &Acceptor) -> Self {
        Self::at(calls.accept().unwrap(), acceptor)
    }

    pub(crate) fn at(socket: ClientId, acceptor: &Acceptor) -> Self {
        let transport = acceptor.accept();
        Self { socket, transport, heard: Vec::new(), wire: Vec::new(), failure: None }
    }

    /// Takes what has arrived, and answers as its transport wants; returns whether anything was there.
    pub(crate) fn step(&mut self, calls: &mut Calls) -> bool {
        self.step_by(calls, usize::MAX)
    }

    /// The same with at most this many bytes in each direction.
    pub(crate) fn step_by(&mut self, calls: &mut Calls, most: usize) -> bool {
        calls.turn();
        let mut bytes = calls.world.client_read(self.socket, most);
        self.take(&mut bytes);
        let sent: Vec<u8> = self.wire.drain(..most.min(self.wire.len())).collect();
        calls.world.client_send(self.socket, &sent);
        calls.turn();
        !bytes.is_empty() || !sent.is_empty()
    }

    /// Takes bytes of the client.
    pub(crate) fn take(&mut self, bytes: &mut [u8]) {
        if self.failure.is_none() {
            let opened = self.transport.open(bytes, &mut self.heard, &mut self.wire);
            self.failure = opened.err();
        }
    }

    /// Steps until nothing happens.
    pub(crate) fn rest(&mut self, calls: &mut Calls) {
        while self.step(calls) {}
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.transport.seal(bytes, &mut self.wire).unwrap();
    }

    /// Announces its end.
    pub(crate) fn say_end(&mut self) {
        self.transport.end(&mut self.wire);
    }

    /// The bytes that it would send next.
    pub(crate) fn take_wire(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.wire)
    }

    /// Whether the client has announced its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.transport.has_ended()
    }

    /// The request that has arrived, as text.
    pub(crate) fn heard(&mut self, calls: &mut Calls) -> String {
        self.rest(calls);
        String::from_utf8(std::mem::take(&mut self.heard)).unwrap()
    }

    /// Sends an answer.
    pub(crate) fn answer(&mut self, calls: &mut Calls, bytes: &[u8]) {
        self.say(bytes);
        self.rest(calls);
    }
}

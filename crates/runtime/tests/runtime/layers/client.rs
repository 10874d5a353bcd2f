//! A client of a listener with a transport.
//!
//! Owns its end of the connection. Does not know the expected results.

use runtime::transport::Transport;
use world::{ClientId, World};

use super::address;
use super::scramble::{NAME, Scramble};

/// A client that uses its end of the transport.
pub(crate) struct Client {
    pub(crate) id: ClientId,
    pub(crate) transport: Scramble,
    pub(crate) heard: Vec<u8>,
    unsaid: Vec<u8>,
}

impl Client {
    pub(crate) fn enter(world: &World, port: u16) -> Option<Self> {
        let id = world.connect(&address(port))?;
        let transport = Scramble::client(NAME, &["strange", "quiet"]);
        let mut client = Self { id, transport, heard: Vec::new(), unsaid: Vec::new() };
        client.step(world);
        Some(client)
    }

    pub(crate) fn say(&mut self, world: &World, text: &[u8]) {
        self.unsaid.extend_from_slice(text);
        self.step(world);
    }

    /// Answers the received bytes.
    pub(crate) fn step(&mut self, world: &World) {
        let mut bytes = world.client_received(self.id);
        let mut wire = Vec::new();
        self.transport.open(&mut bytes, &mut self.heard, &mut wire).unwrap();
        if self.transport.is_ready() && !self.unsaid.is_empty() {
            let unsaid = std::mem::take(&mut self.unsaid);
            self.transport.seal(&unsaid, &mut wire).unwrap();
        }
        world.client_send(self.id, &wire);
    }

    pub(crate) fn end(&mut self, world: &World) {
        let mut wire = Vec::new();
        self.transport.end(&mut wire);
        world.client_send(self.id, &wire);
    }
}

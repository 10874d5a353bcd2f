//! Two transports that talk to each other in memory.

use std::rc::Rc;

use runtime::transport::{Agreed, Transport, Violation};

/// A client and a server, and what they have said.
pub(crate) struct Pair {
    pub(crate) client: Box<dyn Transport>,
    pub(crate) server: Box<dyn Transport>,
    /// Plain bytes that the client has received.
    pub(crate) to_client: Vec<u8>,
    /// Plain bytes that the server has received.
    pub(crate) to_server: Vec<u8>,
    /// Records to the server that are on their way.
    pub(crate) up: Vec<u8>,
    /// Records to the client that are on their way.
    pub(crate) down: Vec<u8>,
}

impl Pair {
    pub(crate) fn new(client: Box<dyn Transport>, server: Box<dyn Transport>) -> Self {
        let mut pair = Self {
            client,
            server,
            to_client: Vec::new(),
            to_server: Vec::new(),
            up: Vec::new(),
            down: Vec::new(),
        };
        pair.client.open(&mut [], &mut pair.to_client, &mut pair.up).unwrap();
        pair
    }

    /// Delivers what is on its way, this many bytes at a time, until nothing is.
    pub(crate) fn run(&mut self, most: usize) -> Result<(), (&'static str, Violation)> {
        while !self.up.is_empty() || !self.down.is_empty() {
            let mut part: Vec<u8> = self.up.drain(..most.min(self.up.len())).collect();
            let opened = self.server.open(&mut part, &mut self.to_server, &mut self.down);
            opened.map_err(|violation| ("server", violation))?;
            let mut part: Vec<u8> = self.down.drain(..most.min(self.down.len())).collect();
            let opened = self.client.open(&mut part, &mut self.to_client, &mut self.up);
            opened.map_err(|violation| ("client", violation))?;
        }
        Ok(())
    }

    /// The terms that both have agreed on: the client, the server.
    pub(crate) fn agreed(&self) -> Option<(Rc<Agreed>, Rc<Agreed>)> {
        Some((Rc::clone(self.client.agreed()?), Rc::clone(self.server.agreed()?)))
    }

    /// Shakes hands; returns what both have agreed on.
    pub(crate) fn agree(&mut self) -> (Rc<Agreed>, Rc<Agreed>) {
        self.run(usize::MAX).unwrap();
        self.agreed().unwrap()
    }

    pub(crate) fn say_to_server(&mut self, bytes: &[u8]) {
        self.client.seal(bytes, &mut self.up).unwrap();
    }

    pub(crate) fn say_to_client(&mut self, bytes: &[u8]) {
        self.server.seal(bytes, &mut self.down).unwrap();
    }
}

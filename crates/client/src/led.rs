//! A transport whose connection begins with bytes in clear, in front of the handshake.
//!
//! Owns these bytes until they are sent. Never looks at what follows.

use std::rc::Rc;

use runtime::transport::{Agreed, Transport, Violation};

/// A transport behind bytes that are sent first.
pub(crate) struct Led {
    /// `None` once they are sent.
    lead: Option<Rc<[u8]>>,
    behind: Box<dyn Transport>,
}

impl Led {
    /// The transport, behind these bytes if there are any.
    pub(crate) fn by(lead: Option<Rc<[u8]>>, behind: Box<dyn Transport>) -> Box<dyn Transport> {
        if lead.is_none() { behind } else { Box::new(Self { lead, behind }) }
    }
}

impl Transport for Led {
    fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        // It is called before there are bytes of the other side, for the first flight of the handshake.
        if let Some(lead) = self.lead.take() {
            wire.extend_from_slice(&lead);
        }
        self.behind.open(bytes, plain, wire)
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

//! The client's end of a connection.
//!
//! Owns what the client has not sent and not read, and what it was told about the connection.

use super::{Connection, End, Mark};

/// The state of a connection as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientState {
    /// It is open.
    Open,
    /// The server ended its output, and the client has received everything before the end.
    EndedByServer,
    /// The server reset it, or closed the listener before it was accepted.
    Reset,
    /// A fault of the world reset it at both ends.
    Cut,
    /// The client itself closed or reset it.
    Closed,
}

/// The activity that a client stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Nothing: it reads what arrives.
    Nothing,
    /// Reading: what the server sends fills the buffers until the server has no room.
    Reading,
}

impl Connection {
    /// The state as its client sees it.
    pub(crate) fn client_state(&self) -> ClientState {
        let reads_on = self.client == ClientState::EndedByServer && self.unread > 0;
        if reads_on { ClientState::Open } else { self.client }
    }

    /// Whether the client has neither closed nor lost it.
    pub(crate) fn has_client(&self) -> bool {
        matches!(self.client, ClientState::Open | ClientState::EndedByServer)
    }

    /// Whether the client's application has closed its socket.
    pub(crate) fn is_released(&self) -> bool {
        self.has(Mark::RELEASED)
    }

    /// Bytes arrive at the client; `false` if it takes none any more.
    pub(crate) fn deliver_to_client(&mut self, bytes: &[u8]) -> bool {
        let takes = self.client == ClientState::Open;
        if takes {
            self.to_client.arrived.append(bytes);
            if self.has(Mark::STALLED) {
                self.unread += u32::try_from(bytes.len()).expect("bounded by a capacity");
            }
        }
        takes
    }

    /// The end of the server's output arrives.
    pub(crate) fn end_to_client(&mut self) {
        if self.client == ClientState::Open {
            self.client = ClientState::EndedByServer;
            self.to_client.end = End::Arrived;
        }
    }

    /// The client loses the connection, unless it is over for it.
    pub(crate) fn lose_client_end(&mut self, state: ClientState) {
        if self.has_client() {
            self.client = state;
            self.unread = 0;
            self.unsent.clear();
            self.take(Mark::ENDING);
        }
    }

    /// The client wants to send bytes; `false` if it no longer can.
    pub(crate) fn offer(&mut self, bytes: &[u8]) -> bool {
        let sends = self.has_client() && !self.has(Mark::ENDING);
        if sends {
            self.unsent.append(bytes);
        }
        sends
    }

    /// Bytes that the client wants to send and has no room for.
    pub(crate) fn unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Takes what the client wants to send, as far as there is room.
    pub(crate) fn take_sendable(&mut self) -> Vec<u8> {
        let used = self.to_server.flying as usize + self.to_server.arrived.len();
        self.unsent.take((self.to_server.capacity as usize).saturating_sub(used))
    }

    /// The client will send no more; `false` if it cannot send anyway.
    pub(crate) fn end_client_output(&mut self) -> bool {
        let ends = self.has_client();
        if ends {
            self.set(Mark::ENDING);
        }
        ends
    }

    /// Whether the end of the client's output follows now, which it does once.
    pub(crate) fn take_client_end(&mut self) -> bool {
        let ends =
            self.has(Mark::ENDING) && self.unsent.is_empty() && self.to_server.end == End::Open;
        if ends {
            self.to_server.end = End::Sent;
        }
        ends
    }

    /// The client does not read from now on, or reads again, also what is there.
    pub(crate) fn stall(&mut self, stall: Stall) {
        match stall {
            Stall::Reading => self.set(Mark::STALLED),
            Stall::Nothing => {
                self.take(Mark::STALLED);
                self.unread = 0;
            }
        }
    }

    /// Whether bytes are there that the client has not read.
    pub(crate) fn has_unread(&self) -> bool {
        self.unread > 0
    }

    /// Bytes that the client has read, and the test has not taken.
    pub(crate) fn read_bytes(&self) -> usize {
        self.to_client.arrived.len() - self.unread as usize
    }

    /// Takes at most this many bytes, first those that the client has read, then unread ones.
    pub(crate) fn take_arrived(&mut self, most: usize) -> Vec<u8> {
        let taken = self.to_client.arrived.take(most);
        let left = u32::try_from(self.to_client.arrived.len()).unwrap_or(u32::MAX);
        self.unread = self.unread.min(left);
        taken
    }

    /// The client drops what it has not sent.
    pub(crate) fn drop_unsent(&mut self) {
        self.unsent.clear();
    }

    /// The client's application closes its socket.
    pub(crate) fn release(&mut self) {
        self.client = ClientState::Closed;
        self.unread = 0;
        self.to_client.arrived.clear();
        self.set(Mark::RELEASED);
    }
}

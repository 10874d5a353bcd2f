//! A transport on its socket: what is between the plain bytes of a process and the pollset.
//!
//! Owns one connection's transport and the encoded bytes for which its socket had no room. An idle layer holds no
//! bytes: the buffers for decoding and encoding are lent by the scheduler. Never interprets bytes.

mod opened;

use std::io::{self, IoSlice};
use std::rc::Rc;

use sys::file::FileHandle;
use sys::pollset::{Corking, Pollset, Received, Rest, Sent};

use crate::began::Began;
use crate::lent::Lent;
use crate::limits::{LAYER_KEPT_BYTES, LAYER_OWED_BYTES, LAYER_RECEIVES, LAYER_SEAL_BYTES};
use crate::outbox::{Sink, Transmitted};
use crate::transport::{Agreed, Transport, Violation};
pub(crate) use opened::Opened;

/// A connection's transport.
pub(crate) struct Layer {
    transport: Box<dyn Transport>,
    /// Encoded bytes that were not sent yet: the socket had no room, or more follows at once. Sent up to `sent`.
    owed: Vec<u8>,
    sent: usize,
    room: Room,
    stage: Stage,
    began: Began,
}

/// Whether the socket had room at the last send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Some,
    None,
}

/// How far a layer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Handshake,
    /// This side has agreed. The peer may still refuse: in TLS 1.3 it checks a client's certificate after that.
    Agreed,
    /// The peer has sent something.
    Confirmed,
    /// Our end of stream has been said.
    Ended,
}

impl Layer {
    /// The layer of a new connection.
    pub(crate) fn new(transport: Box<dyn Transport>, began: Began) -> Self {
        let (owed, room, stage) = (Vec::new(), Room::Some, Stage::Handshake);
        Self { transport, owed, sent: 0, room, stage, began }
    }

    /// The side that began its connection.
    pub(crate) fn began(&self) -> Began {
        self.began
    }

    /// The agreement, once the handshake is over.
    pub(crate) fn agreed(&self) -> Option<&Rc<Agreed>> {
        self.transport.agreed()
    }

    /// Whether its handshake is not over.
    pub(crate) fn is_in_handshake(&self) -> bool {
        self.stage == Stage::Handshake
    }

    /// Encoded bytes that wait for room in the socket.
    pub(crate) fn owed(&self) -> usize {
        if self.room == Room::None { self.unsent() } else { 0 }
    }

    /// Bytes of the peer that cannot be decoded yet.
    pub(crate) fn held_bytes(&self) -> usize {
        self.transport.held_bytes()
    }

    fn unsent(&self) -> usize {
        self.owed.len() - self.sent
    }

    /// Begins the handshake of a connection that this side began.
    pub(crate) fn begin<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        lent: &mut Lent,
    ) -> Result<(), Violation> {
        lent.wire.clear();
        let begun = self.transport.open(&mut [], &mut Vec::new(), &mut lent.wire);
        let sent = self.pass(pollset, socket, &lent.wire, Corking::Off);
        begun.and(sent.map_err(|_| Violation::Cut))
    }

    /// Receives and decodes into `plain`.
    pub(crate) fn receive<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        plain: &mut Vec<u8>,
        lent: &mut Lent,
    ) -> Opened {
        plain.clear();
        if self.transport.has_ended() {
            return Opened::End;
        }
        for _ in 0..LAYER_RECEIVES {
            lent.wire.clear();
            let (opened, rest) = match pollset.receive(socket) {
                Received::Bytes(bytes, rest) => {
                    (self.transport.open(bytes, plain, &mut lent.wire), rest)
                }
                Received::Blocked => return Opened::Blocked,
                Received::End | Received::Failed(_) => return self.failed(Violation::Cut),
            };
            let sent = self.pass(pollset, socket, &lent.wire, Corking::Off);
            // A peer that makes the transport answer, and does not read the answers.
            let is_full = self.owed() > LAYER_OWED_BYTES;
            match (opened, sent) {
                (Err(violation), _) => return self.failed(violation),
                (Ok(()), Err(_)) => return self.failed(Violation::Cut),
                (Ok(()), Ok(())) if is_full => return self.failed(Violation::Protocol),
                (Ok(()), Ok(())) => {}
            }
            let rest = if self.transport.has_ended() { Rest::Perhaps } else { rest };
            if self.stage == Stage::Handshake && self.transport.agreed().is_some() {
                self.stage = Stage::Agreed;
                return Opened::Agreed(rest);
            }
            if !plain.is_empty() {
                if self.stage == Stage::Agreed {
                    self.stage = Stage::Confirmed;
                }
                return Opened::Bytes(rest);
            }
            if self.transport.has_ended() {
                return Opened::End;
            }
            if rest == Rest::No {
                return Opened::Nothing(rest);
            }
        }
        Opened::Nothing(Rest::Perhaps)
    }

    fn failed(&self, violation: Violation) -> Opened {
        match self.stage {
            Stage::Handshake => Opened::Refused(violation),
            Stage::Agreed if matches!(violation, Violation::Alert(_)) => Opened::Refused(violation),
            Stage::Agreed | Stage::Confirmed | Stage::Ended => Opened::Failed(violation),
        }
    }

    /// Encodes and sends bytes of the process. Bytes that were encoded count as sent; [`owed`](Self::owed) has the
    /// rest.
    pub(crate) fn send<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        bytes: &[u8],
        follows: Corking,
        lent: &mut Lent,
    ) -> Sent {
        if self.room == Room::None
            && let Err(kind) = self.flush(pollset, socket, follows)
        {
            return Sent::Failed(kind);
        }
        let mut taken = 0;
        while taken < bytes.len() {
            // Nothing can be encoded before the handshake is over.
            if self.owed() > 0 || self.stage == Stage::Handshake {
                return Sent::Part(taken);
            }
            let end = bytes.len().min(taken + LAYER_SEAL_BYTES);
            lent.wire.clear();
            if self.transport.seal(&bytes[taken..end], &mut lent.wire).is_err() {
                return Sent::Failed(io::ErrorKind::InvalidData);
            }
            let follows = if end < bytes.len() { Corking::On } else { follows };
            if let Err(kind) = self.pass(pollset, socket, &lent.wire, follows) {
                return Sent::Failed(kind);
            }
            taken = end;
        }
        Sent::All
    }

    /// The sink through which an outbox is sent.
    pub(crate) fn sink<'a, P: Pollset>(
        &'a mut self,
        pollset: &'a mut P,
        socket: &'a P::Socket,
        lent: &'a mut Lent,
    ) -> Sealing<'a, P> {
        Sealing { layer: self, pollset, socket, lent }
    }

    /// Sends the transport's end of stream, once, together with what was kept for it. The connection may have failed:
    /// then no peer reads it. Before the handshake is over nothing is said; it stays under way until its process ends.
    pub(crate) fn say_end<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        lent: &mut Lent,
    ) {
        lent.wire.clear();
        if !matches!(self.stage, Stage::Handshake | Stage::Ended) {
            self.stage = Stage::Ended;
            self.transport.end(&mut lent.wire);
        }
        let sent = if self.unsent() > 0 {
            self.owed.extend_from_slice(&lent.wire);
            self.flush(pollset, socket, Corking::On)
        } else {
            self.send_wire(pollset, socket, &lent.wire, Corking::On)
        };
        if sent.is_err() {
            self.forget_owed();
        }
    }

    /// Sends encoded bytes behind those that are owed, or keeps a few if more follows at once. What the socket does not
    /// take is owed.
    fn pass<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        wire: &[u8],
        follows: Corking,
    ) -> Result<(), io::ErrorKind> {
        if wire.is_empty() {
            return self.flush(pollset, socket, follows);
        }
        let is_kept = follows == Corking::On && self.unsent() + wire.len() <= LAYER_KEPT_BYTES;
        if is_kept {
            self.owed.extend_from_slice(wire);
            return Ok(());
        }
        if self.unsent() > 0 {
            self.owed.extend_from_slice(wire);
            return self.flush(pollset, socket, follows);
        }
        self.send_wire(pollset, socket, wire, follows)
    }

    /// Sends encoded bytes when none are owed.
    fn send_wire<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        wire: &[u8],
        follows: Corking,
    ) -> Result<(), io::ErrorKind> {
        if wire.is_empty() {
            return Ok(());
        }
        let taken = match pollset.send_bytes(socket, wire, follows) {
            Sent::All => return Ok(()),
            Sent::Part(count) => count,
            Sent::Cold => 0,
            Sent::Failed(kind) => return Err(kind),
        };
        self.room = Room::None;
        self.owed.extend_from_slice(&wire[taken..]);
        Ok(())
    }

    /// Sends what is owed, as far as there is room.
    fn flush<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        follows: Corking,
    ) -> Result<(), io::ErrorKind> {
        if self.unsent() == 0 {
            return Ok(());
        }
        let taken = match pollset.send_bytes(socket, &self.owed[self.sent..], follows) {
            Sent::All => {
                self.forget_owed();
                return Ok(());
            }
            Sent::Part(count) => count,
            Sent::Cold => 0,
            Sent::Failed(kind) => return Err(kind),
        };
        self.room = Room::None;
        self.sent += taken;
        Ok(())
    }

    fn forget_owed(&mut self) {
        self.owed = Vec::new();
        self.sent = 0;
        self.room = Room::Some;
    }
}

/// An outbox's way through a layer.
/// A layer with its socket: plain bytes are encoded and sent.
pub(crate) struct Sealing<'a, P: Pollset> {
    layer: &'a mut Layer,
    pollset: &'a mut P,
    socket: &'a P::Socket,
    lent: &'a mut Lent,
}

impl<P: Pollset> Sink for Sealing<'_, P> {
    fn send_bytes(&mut self, bytes: &[u8], follows: Corking) -> Sent {
        self.layer.send(self.pollset, self.socket, bytes, follows, self.lent)
    }

    fn send(&mut self, parts: &[IoSlice<'_>], follows: Corking) -> Sent {
        if parts.len() > 1 && parts.iter().map(|part| part.len()).sum::<usize>() <= LAYER_SEAL_BYTES
        {
            return self.send_together(parts, follows);
        }
        let mut taken = 0;
        for (index, part) in parts.iter().enumerate() {
            let follows = if index + 1 < parts.len() { Corking::On } else { follows };
            match self.send_bytes(part, follows) {
                Sent::All => taken += part.len(),
                Sent::Part(count) => return Sent::Part(taken + count),
                failed => return failed,
            }
        }
        Sent::All
    }

    /// The file has to be encoded, so its bytes are read, if that does not wait for the disk.
    fn send_file(&mut self, file: &FileHandle, offset: u64, length: usize) -> Sent {
        if self.layer.room == Room::None
            && let Err(kind) = self.layer.flush(self.pollset, self.socket, Corking::On)
        {
            return Sent::Failed(kind);
        }
        if self.layer.owed() > 0 || self.layer.stage == Stage::Handshake {
            return Sent::Part(0);
        }
        let piece = length.min(LAYER_SEAL_BYTES);
        if !file.read_ready(offset, piece) {
            return Sent::Cold;
        }
        let mut bytes = std::mem::take(&mut self.lent.gathered);
        bytes.resize(LAYER_SEAL_BYTES, 0);
        let sent = match file.read_at(&mut bytes[..piece], offset) {
            Ok(0) => Sent::Failed(io::ErrorKind::UnexpectedEof),
            Ok(count) => match self.send_bytes(&bytes[..count], Corking::Off) {
                Sent::All if count < length => Sent::Part(count),
                sent => sent,
            },
            Err(error) => Sent::Failed(error.kind()),
        };
        self.lent.gathered = bytes;
        sent
    }
}

impl<P: Pollset> Sealing<'_, P> {
    /// After an outbox was sent through it: sends what is owed.
    pub(crate) fn finish(&mut self, transmitted: Transmitted, follows: Corking) -> Transmitted {
        if transmitted != Transmitted::All {
            return transmitted;
        }
        if follows == Corking::On && self.layer.room == Room::Some {
            return Transmitted::All;
        }
        match self.layer.flush(self.pollset, self.socket, follows) {
            Err(kind) => Transmitted::Failed(kind),
            Ok(()) if self.layer.owed() > 0 => Transmitted::Blocked,
            Ok(()) => Transmitted::All,
        }
    }

    /// Encodes several small parts as one, such as a head and its body: one record instead of two.
    fn send_together(&mut self, parts: &[IoSlice<'_>], follows: Corking) -> Sent {
        let mut bytes = std::mem::take(&mut self.lent.gathered);
        bytes.clear();
        for part in parts {
            bytes.extend_from_slice(part);
        }
        let sent = self.send_bytes(&bytes, follows);
        self.lent.gathered = bytes;
        sent
    }
}

//! One connection's TLS: records decoded into plain bytes, and plain bytes encoded into records.
//!
//! Owns a connection of rustls without buffers, and the part of a record that has arrived. An idle session holds keys
//! and counters, no buffer. The steps of rustls' unbuffered interface, which ends with its version 0.23, are in
//! this file; `server` and `client` only make its connections. Never chooses a certificate and never reads a clock.

use runtime::transport::Agreed;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, UnbufferedStatus, WriteTraffic,
};
use rustls::{CommonState, Error, HandshakeKind, ProtocolVersion};

use crate::limits::{FIRST_BYTES, FIRST_RECORD_BYTES, RECORD_BYTES, RECORD_EXTRA_BYTES};

/// The record of a fatal alert, `decode_error` (RFC 8446 sections 5.1 and 6.2).
const DECODE_ERROR: [u8; 7] = [21, 3, 3, 0, 2, 2, 50];

/// The same for `unexpected_message`.
const UNEXPECTED_MESSAGE: [u8; 7] = [21, 3, 3, 0, 2, 2, 10];

/// A connection of rustls, of either side.
pub(crate) trait Unbuffered {
    /// The state of its side.
    type Data;

    /// Processes records until something has to be done.
    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8])
    -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// The state that both sides have in common.
    fn common(&self) -> &CommonState;

    /// The name that the last hello on this thread asked for, on the side that is asked.
    fn take_asked() -> Option<Box<str>> {
        None
    }

    /// Adds what only one side learns.
    fn complete(_: &mut Agreed) {}
}

/// One connection's TLS.
pub(crate) struct Session<C> {
    connection: C,
    /// Bytes of records that are not complete.
    held: Vec<u8>,
    /// The most that may be held: more cannot be one message.
    held_max: usize,
    /// Plain bytes that were encoded since the peer last sent something.
    sealed_bytes: usize,
    has_ended: bool,
    /// Whether a message of this side has been encoded.
    has_spoken: bool,
    /// Why it cannot go on.
    failure: Option<Error>,
}

impl<C: Unbuffered> Session<C> {
    /// The session of a new connection, which holds at most this many bytes of messages that are not complete.
    pub(crate) fn new(connection: C, held_max: usize) -> Self {
        Self {
            connection,
            held: Vec::new(),
            held_max,
            sealed_bytes: 0,
            has_ended: false,
            has_spoken: false,
            failure: None,
        }
    }

    /// Whether the peer has announced its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Bytes of messages that are not complete.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.capacity()
    }

    /// The terms agreed so far.
    pub(crate) fn common(&self) -> &CommonState {
        self.connection.common()
    }

    /// Whether the handshake is over.
    pub(crate) fn is_over(&self) -> bool {
        let common = self.connection.common();
        // A server's handshake is over when the client's last message has been seen.
        !common.is_handshaking() && common.handshake_kind().is_some()
    }

    /// Whether keys of an earlier connection were used again.
    pub(crate) fn is_resumed(&self) -> bool {
        self.connection.common().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Decodes what arrived: appends plain bytes to `plain`, and answers of the protocol to `wire`.
    ///
    /// # Errors
    /// If the connection cannot go on. An alert is in `wire`.
    pub(crate) fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.sealed_bytes = 0;
        if self.held.is_empty() {
            let used = self.process(bytes, plain, wire)?;
            self.held = bytes[used..].to_vec();
            return self.check_held(wire);
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        let used = self.process(&mut held, plain, wire)?;
        if used == held.len() {
            return Ok(());
        }
        held.drain(..used);
        // A large message may have been before it.
        held.shrink_to(2 * held.len());
        self.held = held;
        self.check_held(wire)
    }

    fn check_held(&mut self, wire: &mut Vec<u8>) -> Result<(), Error> {
        if self.held.len() <= self.held_max {
            return Ok(());
        }
        let too_large = rustls::InvalidMessage::HandshakePayloadTooLarge;
        Err(self.fail(Error::InvalidMessage(too_large), wire))
    }

    /// Processes records; returns the number of bytes that are done with.
    fn process(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        let mut start = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.connection.process(&mut bytes[start..]);
            let mut waits = false;
            match state {
                Ok(ConnectionState::ReadTraffic(mut records)) => {
                    while let Some(record) = records.next_record() {
                        let record = record?;
                        discard += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    self.has_spoken = true;
                    let encoded = append(wire, RECORD_EXTRA_BYTES, |room| {
                        message.encode(room).map_err(Short::of_message)
                    });
                    debug_assert!(encoded.is_some(), "a message that waits is encoded");
                }
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.has_ended = true,
                Ok(_) => waits = true,
                Err(error) => return Err(self.fail(error, wire)),
            }
            start += discard;
            if waits {
                // After the peer's end, nothing is read.
                return Ok(if self.has_ended { bytes.len() } else { start });
            }
        }
    }

    /// The session cannot go on for this reason: appends what waits to be sent, at its end the alert that says why.
    /// Nothing is read any more.
    fn fail(&mut self, error: Error, wire: &mut Vec<u8>) -> Error {
        self.failure = Some(error.clone());
        let before = wire.len();
        self.append_waiting(wire);
        // Rustls has no alert for some breaches, such as a message that is too long. One in clear can be said while
        // nothing is encrypted yet.
        if wire.len() == before && self.speaks_in_clear() {
            match error {
                Error::AlertReceived(_) => {}
                Error::InvalidMessage(_) => wire.extend_from_slice(&DECODE_ERROR),
                _ => wire.extend_from_slice(&UNEXPECTED_MESSAGE),
            }
        }
        error
    }

    /// Whether the next record of this side would not be encrypted: before its first message, and in a full handshake
    /// of TLS 1.2 until it is over.
    fn speaks_in_clear(&self) -> bool {
        let common = self.connection.common();
        let is_older = common.protocol_version() == Some(ProtocolVersion::TLSv1_2);
        let is_full = common.handshake_kind() != Some(HandshakeKind::Resumed);
        !self.has_spoken || is_older && is_full && common.is_handshaking()
    }

    fn append_waiting(&mut self, wire: &mut Vec<u8>) {
        while self.connection.common().wants_write() {
            let Ok(ConnectionState::EncodeTlsData(mut message)) =
                self.connection.process(&mut []).state
            else {
                return;
            };
            let encode = |room: &mut [u8]| message.encode(room).map_err(Short::of_message);
            if append(wire, RECORD_EXTRA_BYTES, encode).is_none() {
                return;
            }
        }
    }

    /// Encodes these bytes and appends the records to `wire`. The first records of an answer are small, so that the
    /// peer can decode them before all of a large one has arrived; a small answer is one record.
    ///
    /// # Errors
    /// If the keys may not be used for more.
    pub(crate) fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>) -> Result<(), Exhausted> {
        let mut sealed_bytes = self.sealed_bytes;
        let sealed = self.with_traffic(wire, |traffic, wire| {
            let mut rest = bytes;
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(piece_of(sealed_bytes, rest.len()));
                let room = piece.len() + piece.len().div_ceil(RECORD_BYTES) * RECORD_EXTRA_BYTES;
                let encode = |room: &mut [u8]| traffic.encrypt(piece, room).map_err(Short::of_data);
                append(wire, room, encode).ok_or(Exhausted)?;
                sealed_bytes += piece.len();
                rest = behind;
            }
            Ok(())
        });
        self.sealed_bytes = sealed_bytes;
        sealed.unwrap_or(Err(Exhausted))
    }

    /// Appends the end of this side, `close_notify` (RFC 8446 section 6.1), if the handshake is over.
    pub(crate) fn end(&mut self, wire: &mut Vec<u8>) {
        let _cannot_be_said = self.with_traffic(wire, |traffic, wire| {
            append(wire, RECORD_EXTRA_BYTES, |room| {
                traffic.queue_close_notify(room).map_err(Short::of_data)
            })
        });
    }

    /// Does something with a connection that may send, after what waits; `None`: it may not.
    fn with_traffic<T>(
        &mut self,
        wire: &mut Vec<u8>,
        work: impl FnOnce(&mut WriteTraffic<'_, C::Data>, &mut Vec<u8>) -> T,
    ) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        loop {
            // Rustls needs what it has not finished with, whatever it is asked.
            let UnbufferedStatus { discard, state } = self.connection.process(&mut self.held);
            match state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let done = work(&mut traffic, wire);
                    self.held.drain(..discard);
                    return Some(done);
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    append(wire, RECORD_EXTRA_BYTES, |room| {
                        message.encode(room).map_err(Short::of_message)
                    })?;
                }
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.has_ended = true,
                Ok(_) | Err(_) => return None,
            }
            self.held.drain(..discard);
        }
    }
}

/// The keys of a connection may not be used for more, and it cannot have others (TLS 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// The size of the next piece, after this many bytes of an answer.
fn piece_of(sealed_bytes: usize, rest: usize) -> usize {
    if sealed_bytes >= FIRST_BYTES {
        return rest;
    }
    if sealed_bytes == 0 && rest <= RECORD_BYTES { rest } else { rest.min(FIRST_RECORD_BYTES) }
}

/// Why nothing was written.
enum Short {
    /// It needs this much room.
    Of(usize),
    /// It cannot be written at all.
    Refused,
}

impl Short {
    fn of_message(error: EncodeError) -> Self {
        match error {
            EncodeError::InsufficientSize(size) => Self::Of(size.required_size),
            EncodeError::AlreadyEncoded => Self::Refused,
        }
    }

    fn of_data(error: EncryptError) -> Self {
        match error {
            EncryptError::InsufficientSize(size) => Self::Of(size.required_size),
            EncryptError::EncryptExhausted => Self::Refused,
        }
    }
}

/// Lets something write behind the bytes of `wire`, with this much room at first.
fn append(
    wire: &mut Vec<u8>,
    mut room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Short>,
) -> Option<()> {
    let start = wire.len();
    loop {
        wire.resize(start + room, 0);
        match write(&mut wire[start..]) {
            Ok(written) => {
                wire.truncate(start + written);
                return Some(());
            }
            Err(Short::Of(size)) if size > room => room = size,
            Err(_) => {
                wire.truncate(start);
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_answer_is_one_record_and_a_large_one_begins_with_small_ones() {
        assert_eq!(piece_of(0, 700), 700);
        assert_eq!(piece_of(0, RECORD_BYTES), RECORD_BYTES);
        assert_eq!(piece_of(0, RECORD_BYTES + 1), FIRST_RECORD_BYTES);
        assert_eq!(piece_of(FIRST_RECORD_BYTES, 1 << 20), FIRST_RECORD_BYTES);
        assert_eq!(piece_of(FIRST_BYTES, 1 << 20), 1 << 20);
    }

    #[test]
    fn a_record_that_needs_more_room_gets_it_and_a_refused_one_leaves_nothing() {
        let mut wire = b"ab".to_vec();
        let written = append(&mut wire, 1, |room| match room {
            [first, second, ..] => {
                (*first, *second) = (b'c', b'd');
                Ok(2)
            }
            _ => Err(Short::Of(5)),
        });
        assert_eq!((written, &*wire), (Some(()), &b"abcd"[..]));
        assert_eq!(append(&mut wire, 3, |_| Err(Short::Refused)), None);
        assert_eq!(append(&mut wire, 3, |_| Err(Short::Of(2))), None, "it had that room");
        assert_eq!(&*wire, b"abcd");
    }
}

//! The head of a request as it is sent.
//!
//! Owns that nothing in it changes where the request ends or which server receives it: the fields that say so are
//! written here alone. Never decides what else is in it.

use wire::http::fields::FRAMING;
use wire::http::response::append_field_as_spelt;

use crate::body::{ContinueWait, OutgoingBody};
use crate::failure::ExchangeFailure;

/// A head that is being written.
#[derive(Clone, Debug)]
pub struct HeadWriter(Vec<u8>);

impl HeadWriter {
    /// Begins with the request line. `room`: about so many bytes of fields follow.
    ///
    /// # Errors
    /// If the target has characters that a request line cannot have.
    pub fn new(method: &str, target: &str, room: usize) -> Result<Self, ExchangeFailure> {
        let is_visible = target.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_visible || target.is_empty() {
            return Err(ExchangeFailure::Field);
        }
        let mut out = Vec::with_capacity(256 + target.len() + room);
        for piece in [method, " ", target, " HTTP/1.1\r\n"] {
            out.extend_from_slice(piece.as_bytes());
        }
        Ok(Self(out))
    }

    /// Adds a field. Those that determine the end of the message or the use of the connection are left out, because the
    /// client sets them (RFC 9110, 7.6.1; RFC 9112, 6).
    ///
    /// # Errors
    /// If it is not a field (RFC 9110, 5.5).
    pub fn field(&mut self, name: &str, value: &[u8]) -> Result<(), ExchangeFailure> {
        // Most names have another length than all of these, or another first letter.
        let is_framing = matches!(name.len(), 2 | 6 | 7 | 10 | 14 | 16 | 17)
            && FRAMING.iter().any(|framing| name.eq_ignore_ascii_case(framing));
        if is_framing { Ok(()) } else { write(&mut self.0, name, value) }
    }

    /// Adds the fields of the body and of the connection, and ends the head.
    pub(crate) fn end(
        mut self,
        method: &str,
        body: &OutgoingBody,
        upgrade: Option<&str>,
        expectation: ContinueWait,
    ) -> Result<Vec<u8>, ExchangeFailure> {
        let out = &mut self.0;
        if let Some(protocol) = upgrade {
            write(out, "Connection", b"Upgrade")?;
            write(out, "Upgrade", protocol.as_bytes())?;
        } else {
            write_framing(method, body, out)?;
        }
        if expectation == ContinueWait::Continue {
            write(out, "Expect", b"100-continue")?;
        }
        out.extend_from_slice(b"\r\n");
        Ok(self.0)
    }
}

fn write_framing(
    method: &str,
    body: &OutgoingBody,
    out: &mut Vec<u8>,
) -> Result<(), ExchangeFailure> {
    let length = match body {
        // A method that defines a meaning for a body states a length of 0 if there is none (RFC 9110, 8.6).
        OutgoingBody::None if matches!(method, "POST" | "PUT" | "PATCH") => 0,
        OutgoingBody::None => return Ok(()),
        OutgoingBody::Whole(bytes) => bytes.len() as u64,
        OutgoingBody::Streamed(Some(length)) => *length,
        OutgoingBody::Streamed(None) => return write(out, "Transfer-Encoding", b"chunked"),
    };
    write(out, "Content-Length", itoa::Buffer::new().format(length).as_bytes())
}

fn write(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), ExchangeFailure> {
    append_field_as_spelt(out, name, value).map_err(|_| ExchangeFailure::Field)
}

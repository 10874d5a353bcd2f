//! The head of a request as it is sent.
//!
//! Owns that nothing in it changes where the request ends or which server receives it: the fields that say so are
//! written here alone. Never decides what else is in it.

use wire::http::fields::FRAMING;
use wire::http::response::append_field_as_spelt;

use crate::body::{BodyLength, ContinueWait, OutgoingBody, check_trailers};
use crate::failure::ExchangeFailure;

/// A head that is being written.
#[derive(Clone, Debug)]
pub struct HeadWriter {
    text: Vec<u8>,
    /// The names of fields that may stand behind the body.
    declared: Vec<u8>,
}

/// A head that was written. Plain data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrittenHead {
    /// The head as HTTP/1.1 sends it.
    pub(crate) text: Vec<u8>,
    /// The value of `Trailer` if only HTTP/2 has a place for such fields.
    pub(crate) declared: Option<Box<[u8]>>,
}

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
        let mut text = Vec::with_capacity(256 + target.len() + room);
        for piece in [method, " ", target, " HTTP/1.1\r\n"] {
            text.extend_from_slice(piece.as_bytes());
        }
        Ok(Self { text, declared: Vec::new() })
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
        if is_framing { Ok(()) } else { write(&mut self.text, name, value) }
    }

    /// Adds names of fields that may stand behind the body. `Trailer` says them (RFC 9110, 6.6.2) where such fields
    /// have a place.
    pub fn declare_trailers(&mut self, names: &[u8]) {
        if !self.declared.is_empty() {
            self.declared.extend_from_slice(b", ");
        }
        self.declared.extend_from_slice(names);
    }

    /// Adds the fields of the body and of the connection, and ends the head.
    pub(crate) fn end(
        mut self,
        method: &str,
        body: &OutgoingBody,
        upgrade: Option<&str>,
        expectation: ContinueWait,
    ) -> Result<WrittenHead, ExchangeFailure> {
        if let OutgoingBody::Trailed(body) = body {
            check_trailers(&body.trailers)?;
        }
        let out = &mut self.text;
        let mut declared = Some(self.declared).filter(|names| !names.is_empty());
        if length_of(body).is_none()
            && let Some(names) = declared.take()
        {
            write(out, "Trailer", &names)?;
        }
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
        let declared = declared.filter(|_| *body != OutgoingBody::None).map(Into::into);
        Ok(WrittenHead { text: self.text, declared })
    }
}

/// The length that the head says; `None`: HTTP/1.1 sends the body in chunks.
fn length_of(body: &OutgoingBody) -> Option<u64> {
    match body {
        OutgoingBody::None => Some(0),
        OutgoingBody::Whole(bytes) => Some(bytes.len() as u64),
        OutgoingBody::Trailed(body) => {
            (body.length == BodyLength::Said).then_some(body.content.len() as u64)
        }
        OutgoingBody::Streamed(length) => *length,
    }
}

fn write_framing(
    method: &str,
    body: &OutgoingBody,
    out: &mut Vec<u8>,
) -> Result<(), ExchangeFailure> {
    // A method that defines a meaning for a body states a length of 0 if there is none (RFC 9110, 8.6).
    if *body == OutgoingBody::None && !matches!(method, "POST" | "PUT" | "PATCH") {
        return Ok(());
    }
    match length_of(body) {
        Some(length) => write(out, "Content-Length", itoa::Buffer::new().format(length).as_bytes()),
        None => write(out, "Transfer-Encoding", b"chunked"),
    }
}

fn write(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), ExchangeFailure> {
    append_field_as_spelt(out, name, value).map_err(|_| ExchangeFailure::Field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::TrailedBody;
    use wire::http::fields::FieldList;

    #[test]
    fn trailers_are_declared_where_there_is_a_place_for_them() {
        let trailed = |length| {
            let (content, trailers) = (b"a".into(), FieldList::of(&[("x-a", "1")]));
            OutgoingBody::Trailed(Box::new(TrailedBody { content, trailers, length }))
        };
        let (here, there, nowhere) =
            (("Trailer: x-a, x-b\r\n", None), ("", Some(&b"x-a, x-b"[..])), ("", None));
        for (body, expected) in [
            (OutgoingBody::Streamed(None), here),
            (trailed(BodyLength::Unsaid), here),
            (OutgoingBody::Streamed(Some(1)), there),
            (trailed(BodyLength::Said), there),
            (OutgoingBody::Whole(b"a".into()), there),
            (OutgoingBody::None, nowhere),
        ] {
            let mut head = HeadWriter::new("POST", "/", 0).expect("a head");
            head.declare_trailers(b"x-a");
            head.declare_trailers(b"x-b");
            let head = head.end("POST", &body, None, ContinueWait::Nothing).expect("a head");
            let framing = match length_of(&body) {
                Some(length) => format!("Content-Length: {length}"),
                None => "Transfer-Encoding: chunked".to_owned(),
            };
            let text = format!("POST / HTTP/1.1\r\n{}{framing}\r\n\r\n", expected.0);
            assert_eq!(String::from_utf8_lossy(&head.text), text, "{body:?}");
            assert_eq!(head.declared.as_deref(), expected.1, "{body:?}");
        }
    }
}

//! The answer of a handler.
//!
//! Owns status, header fields and body. Never writes: `run` does.

use std::borrow::Cow;

use serde::Serialize;
use wire::http::fields::FieldList;
use wire::http::status::Status;

use super::Failure;
use crate::encoder::has_length;
use crate::{Reply, json};

/// An answer.
///
/// ```
/// use http::{Response, Status};
///
/// let response = Response::text("created").status(Status::CREATED).field("Location", "/users/7")?;
/// # let _ = response;
/// # Ok::<(), http::Failure>(())
/// ```
#[derive(Debug)]
pub struct Response {
    kind: Kind,
    status: Status,
    content_type: Cow<'static, str>,
    fields: FieldList,
    body: Vec<u8>,
}

/// Fields that frame the message or belong to the connection. A second one could end a body early.
const OWN_FIELDS: [&str; 9] = [
    "Connection",
    "Content-Length",
    "Content-Type",
    "Date",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
];

/// A field that a handler must not add.
#[derive(Debug, thiserror::Error)]
#[error("the field `{}` is set by the server", .0)]
struct OwnField(String);

/// Whether there is an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Yes.
    Whole,
    /// Not yet: the call waits.
    Later,
}

impl Response {
    /// 200 with text.
    pub fn text(body: impl Into<String>) -> Self {
        Self::bytes("text/plain; charset=utf-8", body.into())
    }

    /// 200 with HTML.
    pub fn html(body: impl Into<String>) -> Self {
        Self::bytes("text/html; charset=utf-8", body.into())
    }

    /// 200 with a body of a media type.
    pub fn bytes(content_type: impl Into<Cow<'static, str>>, body: impl Into<Vec<u8>>) -> Self {
        Self {
            kind: Kind::Whole,
            status: Status::OK,
            content_type: content_type.into(),
            fields: FieldList::new(),
            body: body.into(),
        }
    }

    /// 200 with a value as JSON.
    ///
    /// # Errors
    /// If the value cannot be written as JSON, such as a map whose keys are not strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        let mut body = Vec::new();
        json::write(value, &mut body)?;
        Ok(Self::bytes("application/json", body))
    }

    /// A status without a body.
    pub fn empty(status: Status) -> Self {
        Self { content_type: Cow::Borrowed(""), ..Self::bytes("", Vec::new()) }.status(status)
    }

    /// With another status.
    pub fn status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }

    /// With one more field.
    ///
    /// # Errors
    /// If the name or value cannot be in a head (RFC 9110 section 5.5), or the server sets this field itself.
    pub fn field(mut self, name: &str, value: &str) -> Result<Self, Failure> {
        if OWN_FIELDS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(OwnField(name.to_owned()).into());
        }
        self.fields.add(name, value.as_bytes())?;
        Ok(self)
    }

    /// The call waits: there is no answer yet.
    pub(super) fn later() -> Self {
        Self { kind: Kind::Later, ..Self::bytes("", Vec::new()) }
    }

    /// Whether the call waits.
    pub(super) fn is_later(&self) -> bool {
        self.kind == Kind::Later
    }

    /// Answers with it.
    pub(super) fn write(&self, reply: &mut Reply<'_>) {
        // An interim status is not an answer.
        let is_interim = self.status.code() < 200;
        let status = if is_interim { Status::INTERNAL_SERVER_ERROR } else { self.status };
        reply.begin(status);
        reply.fields(self.fields.fields());
        if self.content_type.is_empty() || !has_length(status) {
            return reply.end_head_without_body(status);
        }
        if reply.field("Content-Type", self.content_type.as_bytes()).is_err() {
            debug_assert!(false, "a media type of the program is no field value");
        }
        reply.end_head_with_length(self.body.len() as u64);
        reply.body(&self.body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_frames_the_message_is_refused() {
        for (name, value) in [
            ("content-length", "1"),
            ("Transfer-Encoding", "chunked"),
            ("X A", "1"),
            ("X-A", "\r\nB: 1"),
        ] {
            let failure = Response::text("a").field(name, value).unwrap_err();
            assert_eq!(failure.status(), Status::INTERNAL_SERVER_ERROR, "{name}");
        }
        let response = Response::text("a").field("X-A", "1");
        assert_eq!(response.unwrap().fields, FieldList::of(&[("X-A", "1")]));
    }
}

//! How a reply is rendered: a closed set of encoders.
//!
//! Owns the choice, and what each encoder makes of the steps of a head. [`Reply`](crate::Reply) says what is
//! answered; only the files here know how that looks. Never decides an answer.

pub(super) mod block;
mod parts;
mod text;

use runtime::output::Output;
use wire::http::body::write_last_chunk;
use wire::http::fields::FieldList;
use wire::http::head::{Fields, HttpVersion};
use wire::http::response::{InvalidField, append_field, append_status_line};
use wire::http::status::{Class, Status};

use crate::framing::StreamFraming;
pub(super) use parts::ReplyParts;

/// The encoder of one reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoder {
    /// The text of HTTP/1, directly in the output.
    Text {
        /// The client's version.
        version: HttpVersion,
        /// Whether the connection continues.
        persistence: Persistence,
    },
    /// Head blocks for the carrier of a stream, which marks the end of the body itself.
    Blocks {
        /// The meaning of the bytes behind a head of success for the client.
        behind: Behind,
    },
}

/// The meaning of the bytes behind a head of success (2xx) for the client of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// A body.
    Body,
    /// The protocol that it has asked for (RFC 8441 section 4).
    Protocol,
    /// The same, but none may begin any more.
    NoProtocol,
}

/// The fields of another server's answer that decide how it is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedHead {
    /// The status.
    pub status: Status,
    /// The length of the body, if that server says it.
    pub length: Option<u64>,
    /// Whether its fields have a date, which is kept (RFC 9110 section 6.6.1).
    pub dating: Dating,
}

/// Whether the fields of an answer have its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dating {
    /// They have.
    Dated,
    /// They have not, so it gets one.
    Undated,
}

/// Whether a connection continues after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    /// Yes, as is the default in HTTP/1.1.
    Kept,
    /// Yes, and an HTTP/1.0 client has to be told.
    KeptAlive,
    /// No: it is closed after the reply.
    Closed,
}

impl Encoder {
    /// HTTP/1.1, for the last reply of a connection.
    pub(super) const LAST_TEXT: Self =
        Self::Text { version: HttpVersion::Http11, persistence: Persistence::Closed };

    /// Whether its heads are plain ones of HTTP/1.1, for which prepared ones exist.
    #[inline]
    pub(super) fn is_plain(self) -> bool {
        matches!(self, Self::Text { persistence: Persistence::Kept, .. })
    }

    /// Whether nothing follows the reply on what carries it.
    #[inline]
    pub(super) fn is_last(self) -> bool {
        matches!(self, Self::Blocks { .. } | Self::Text { persistence: Persistence::Closed, .. })
    }

    /// Whether what carries the reply can change to another protocol after it.
    pub(super) fn can_change(self) -> bool {
        self == Self::Text { version: HttpVersion::Http11, persistence: Persistence::Kept }
            || self == Self::Blocks { behind: Behind::Protocol }
    }

    /// The status with which that begins.
    pub(super) fn status_of_change(self) -> Status {
        match self {
            Self::Text { .. } => Status::SWITCHING_PROTOCOLS,
            Self::Blocks { .. } => Status::OK,
        }
    }

    /// Whether the client takes an answer with this status for one in another protocol, which it is only if the
    /// application says so.
    pub(super) fn means_change(self, status: Status) -> bool {
        let expects_one =
            matches!(self, Self::Blocks { behind: Behind::Protocol | Behind::NoProtocol });
        expects_one && status.class() == Class::Success
    }

    /// Makes this the last reply on what carries it.
    pub(super) fn close(&mut self) {
        if let Self::Text { persistence, .. } = self {
            *persistence = Persistence::Closed;
        }
    }

    /// Begins a head: status, date, and the fields of the connection.
    #[inline]
    pub(super) fn begin(self, status: Status, parts: &mut ReplyParts, output: &mut Output) {
        match self {
            Self::Text { persistence, .. } => {
                text::begin(persistence, status, parts, output.buffer());
            }
            Self::Blocks { .. } => parts.begin_block(status),
        }
    }

    /// Begins a head and says how its body, whose length is unknown, ends.
    pub(super) fn begin_unmeasured(
        &mut self,
        status: Status,
        parts: &mut ReplyParts,
        output: &mut Output,
    ) -> StreamFraming {
        // RFC 9112 section 6.1: no transfer coding without a body, whatever the method.
        let has_body = has_length(status) && status != Status::RESET_CONTENT;
        let framing = match *self {
            _ if !has_body => StreamFraming::Omitted,
            Self::Blocks { .. } => StreamFraming::Carried,
            Self::Text { version: HttpVersion::Http10, .. } => {
                self.close();
                StreamFraming::UntilClose
            }
            Self::Text { .. } => StreamFraming::Chunked,
        };
        self.begin(status, parts, output);
        if framing == StreamFraming::Chunked {
            text::put_line(output.buffer(), "Transfer-Encoding", b"chunked");
        } else if status == Status::RESET_CONTENT {
            self.put("Content-Length", b"0", parts, output);
        }
        framing
    }

    /// Begins the head of an answer of another server, and says how its body ends.
    pub(super) fn begin_passed(
        &mut self,
        head: &PassedHead,
        parts: &mut ReplyParts,
        output: &mut Output,
    ) -> StreamFraming {
        let has_body = has_length(head.status) && head.status != Status::RESET_CONTENT;
        let framing = match (*self, head.length) {
            _ if !has_body => StreamFraming::Omitted,
            (Self::Blocks { .. }, _) => StreamFraming::Carried,
            (Self::Text { .. }, Some(_)) => StreamFraming::Counted,
            (Self::Text { version: HttpVersion::Http10, .. }, None) => {
                self.close();
                StreamFraming::UntilClose
            }
            (Self::Text { .. }, None) => StreamFraming::Chunked,
        };
        match (*self, head.dating) {
            (_, Dating::Undated) => self.begin(head.status, parts, output),
            (Self::Blocks { .. }, Dating::Dated) => parts.block().begin(head.status),
            (Self::Text { persistence, .. }, Dating::Dated) => {
                text::begin_undated(persistence, head.status, output.buffer());
            }
        }
        let length = match framing {
            StreamFraming::Chunked => {
                text::put_line(output.buffer(), "Transfer-Encoding", b"chunked");
                None
            }
            _ if has_body => head.length,
            _ if head.status == Status::RESET_CONTENT => Some(0),
            _ => None,
        };
        if let Some(length) = length {
            let text = &mut itoa::Buffer::new();
            self.put("Content-Length", text.format(length).as_bytes(), parts, output);
        }
        framing
    }

    /// Writes a whole interim head. A client of HTTP/1.0 gets none (RFC 9110 section 15.2).
    pub(super) fn interim(
        self,
        status: Status,
        fields: Fields<'_, '_>,
        parts: &mut ReplyParts,
        output: &mut Output,
    ) {
        match self {
            Self::Text { version: HttpVersion::Http10, .. } => return,
            Self::Text { .. } => append_status_line(output.buffer(), status),
            Self::Blocks { .. } => parts.block().begin(status),
        }
        self.fields(fields, parts, output);
        self.end(parts, output);
    }

    /// Adds a field.
    pub(super) fn field(
        self,
        name: &str,
        value: &[u8],
        parts: &mut ReplyParts,
        output: &mut Output,
    ) -> Result<(), InvalidField> {
        match self {
            Self::Text { .. } => append_field(output.buffer(), name, value),
            Self::Blocks { .. } => parts.block().field(name, value),
        }
    }

    /// Adds a field of the program itself, which is valid and spelt as in all answers.
    #[inline]
    pub(super) fn put(
        self,
        name: &'static str,
        value: &[u8],
        parts: &mut ReplyParts,
        output: &mut Output,
    ) {
        match self {
            Self::Text { .. } => text::put_line(output.buffer(), name, value),
            Self::Blocks { .. } => parts.block().put(name, value),
        }
    }

    /// Adds prepared fields.
    #[inline]
    pub(super) fn fields(
        self,
        fields: Fields<'_, '_>,
        parts: &mut ReplyParts,
        output: &mut Output,
    ) {
        match self {
            Self::Text { .. } => output.put(fields.lines()),
            Self::Blocks { .. } => {
                for (name, value) in fields.iter() {
                    parts.block().put(name, value);
                }
            }
        }
    }

    /// Ends a head.
    #[inline]
    pub(super) fn end(self, parts: &mut ReplyParts, output: &mut Output) {
        match self {
            Self::Text { .. } => output.put(b"\r\n"),
            Self::Blocks { .. } => put_head(output, parts.block().finish()),
        }
    }

    /// Ends the parts of a body with trailers, if it is framed so that they can follow.
    pub(super) fn end_parts(
        framing: StreamFraming,
        trailers: &FieldList,
        parts: &mut ReplyParts,
        output: &mut Output,
    ) {
        match framing {
            StreamFraming::Chunked => write_last_chunk(output.buffer(), trailers.fields()),
            StreamFraming::Carried if !trailers.is_empty() => {
                parts.block().begin_trailers();
                for (name, value) in trailers.fields().iter() {
                    parts.block().put(name, value);
                }
                put_head(output, parts.block().finish());
            }
            StreamFraming::Carried
            | StreamFraming::UntilClose
            | StreamFraming::Counted
            | StreamFraming::Omitted => {}
        }
    }

    /// Writes an interim head (RFC 9110 section 15.2): a client that waits before it sends a body may go on.
    pub(super) fn go_on(self, parts: &mut ReplyParts, output: &mut Output) {
        match self {
            Self::Text { .. } => text::go_on(output.buffer()),
            Self::Blocks { .. } => {
                parts.block().begin(Status::CONTINUE);
                self.end(parts, output);
            }
        }
    }
}

/// RFC 9110 section 8.6: no length in 1xx and 204, nor in 304, which has no representation to measure.
pub(super) fn has_length(status: Status) -> bool {
    !(status.code() < 200 || status == Status::NO_CONTENT || status == Status::NOT_MODIFIED)
}

/// Hands a whole head block to the carrier of a stream. It says its own length, so a carrier finds its end.
fn put_head(output: &mut Output, block: &[u8]) {
    output.put_head(block);
}

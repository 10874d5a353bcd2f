//! The body of a request, as its requester gives it.
//!
//! Owns the choice. How its end is marked is in `head` and `outgoing`.

use wire::http::fields::FieldList;
use wire::limits::TRAILER_SIZE;

use crate::failure::ExchangeFailure;

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OutgoingBody {
    /// There is none.
    #[default]
    None,
    /// These bytes, which can be sent again on another connection.
    Whole(Vec<u8>),
    /// The same, with fields behind them.
    Trailed(Box<TrailedBody>),
    /// The bytes that the requester sends later: exactly this many, or as many as it likes (chunked, RFC 9112, 7.1).
    /// [`Client::end_body`](crate::Client::end_body) ends it.
    Streamed(Option<u64>),
}

/// A whole body with trailers (RFC 9110, 6.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailedBody {
    /// The body.
    pub content: Vec<u8>,
    /// The fields behind it.
    pub trailers: FieldList,
    /// Whether the head says its length.
    pub length: BodyLength,
}

/// Whether a head says the length of a body that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// It does, so a server of HTTP/1.1 gets no trailers: nothing can stand behind the body.
    Said,
    /// It does not: a server of HTTP/1.1 gets chunks.
    Unsaid,
}

/// Refuses trailers that are too long.
pub(crate) fn check_trailers(trailers: &FieldList) -> Result<(), ExchangeFailure> {
    let is_long = trailers.fields().lines().len() > TRAILER_SIZE as usize;
    if is_long { Err(ExchangeFailure::Field) } else { Ok(()) }
}

/// Whether a body waits for `100 Continue` (RFC 9110, 10.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContinueWait {
    /// It does not.
    #[default]
    Nothing,
    /// It does, for [`CONTINUE_TIME`](crate::limits::CONTINUE_TIME) at most.
    Continue,
}

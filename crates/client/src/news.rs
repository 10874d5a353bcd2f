//! The news that a requester gets of its exchange.
//!
//! Owns the closed set.

use wire::http::fields::FieldList;

use crate::failure::ExchangeFailure;

/// The head of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status, 100 to 999.
    pub status: u16,
    /// The fields, with their names as written.
    pub fields: FieldList,
}

/// One thing that happened to an exchange, in this order for each: interim answers, the head, the body, trailers, the
/// end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeNews {
    /// An interim answer (RFC 9110, 15.2), which is not the last.
    Interim(ResponseHead),
    /// The head of the answer. With status 101, bytes of the other protocol follow as the body, and what the requester
    /// sends goes to the other server as it is.
    Head(ResponseHead),
    /// A part of its body, never empty.
    Body(Vec<u8>),
    /// A streamed body that could not be sent completely may be sent further.
    Room,
    /// The trailer section, if the answer has one.
    Trailers(FieldList),
    /// The answer is complete. The exchange is over.
    End,
    /// It failed, after the parts of the body that arrived before. The exchange is over.
    Failed(ExchangeFailure),
}

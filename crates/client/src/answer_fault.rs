//! The faults of an answer that comes in frames.
//!
//! Owns one variant for each rule. Never judges an answer: `framed` does.

use wire::h2::MalformedResponse;
use wire::http::refusal::Reason;
use wire::limits::RESPONSE_INTERIM_COUNT;

/// A rule that the answer of a stream breaks. The server is at fault, and only this stream ends (RFC 9113, 8.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// Its head.
    #[error("{0}")]
    Head(MalformedResponse),
    /// Its trailers.
    #[error("a trailer section with a wrong field: {}", .0.text())]
    Trailers(Reason),
    /// Trailers do not end the stream.
    #[error("trailers that do not end the stream")]
    TrailersGoOn,
    /// An interim head ends the stream.
    #[error("an interim answer that ends the stream")]
    InterimEnd,
    /// There are more than 32 interim heads.
    #[error("more than {RESPONSE_INTERIM_COUNT} interim answers")]
    TooManyInterim,
    /// Content or trailers without a head.
    #[error("content before the head")]
    NoHead,
    /// Content where there is none (RFC 9110, 6.4.1).
    #[error("content in an answer that has none")]
    Content,
    /// More or less content than announced.
    #[error("content that is not as long as its content-length")]
    Length,
    /// More content than the window allows (RFC 9113, 6.9.1).
    #[error("more content than the window allows")]
    Window,
}

//! The use of a block of fields, and the parts in which it comes (RFC 9113, 4.3).
//!
//! Owns neither: `wire` keeps a block until it is whole.

use wire::h2::{AfterHead, ErrorCode};

/// The use of a block of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockUse {
    /// It begins a stream.
    Request(AfterHead),
    /// It ends the content of one.
    Trailers,
    /// None: it is decoded, and then the stream is reset if there is a code.
    Dropped(Option<ErrorCode>),
}

/// A part of a block of fields. Plain data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'f> {
    pub(crate) bytes: &'f [u8],
    /// Whether the block is whole with it.
    pub(crate) is_last: bool,
}

//! A fetch request from a page.
//!
//! Owns the conversion of the request. Never sends it: the host does.

use std::time::Duration;

use crate::engine::ffi::Stack;

/// A request of a page to another server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetch {
    /// The method, in capitals.
    pub method: String,
    /// The URL, as the page passed it.
    pub url: Vec<u8>,
    /// Names and values of fields, one per line.
    pub fields: Vec<u8>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// How long it may take.
    pub timeout: Duration,
    /// How the page gets the body of the answer.
    pub delivery: BodyDelivery,
}

/// How a page gets the body of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyDelivery {
    /// With the answer.
    #[default]
    Whole,
    /// Piece by piece, by [`Wait::ReadFetched`](crate::engine::Wait::ReadFetched).
    Pieces,
}

impl Fetch {
    /// The values that fetch.lua yielded after the tag.
    pub(super) fn of(stack: Stack) -> Self {
        let bytes = |index| stack.bytes_at(index).unwrap_or_default().to_vec();
        let timeout = Duration::try_from_secs_f64(stack.number_at(5)).unwrap_or(Duration::MAX);
        Self {
            method: String::from_utf8_lossy(&bytes(2)).into_owned(),
            url: bytes(3),
            fields: bytes(4),
            body: stack.bytes_at(6).map(<[u8]>::to_vec),
            timeout,
            delivery: if stack.number_at(7) == 1.0 {
                BodyDelivery::Pieces
            } else {
                BodyDelivery::Whole
            },
        }
    }
}

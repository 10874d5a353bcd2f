//! The body of a request, as its requester gives it.
//!
//! Owns the choice. How its end is marked is in `head` and `outgoing`.

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OutgoingBody {
    /// There is none.
    #[default]
    None,
    /// These bytes, which can be sent again on another connection.
    Whole(Vec<u8>),
    /// The bytes that the requester sends later: exactly this many, or as many as it likes (chunked, RFC 9112, 7.1).
    Streamed(Option<u64>),
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

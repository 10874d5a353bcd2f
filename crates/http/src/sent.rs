//! The answer that a client was sent, in two numbers, which the log has together.

use wire::http::status::Status;

/// The status and the bytes of the body that a client was sent. Plain data.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentAnswer {
    pub(crate) status: Status,
    pub(crate) body_bytes: u64,
}

//! The answer that a client was sent, in two numbers.
//!
//! Owns these two numbers, which the log has together. Never counts them.

use wire::http::status::Status;

/// The status and the bytes of the body that a client was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentAnswer {
    status: Status,
    body_bytes: u64,
}

impl SentAnswer {
    pub(super) fn new(status: Status, body_bytes: u64) -> Self {
        Self { status, body_bytes }
    }

    pub(super) fn status(self) -> Status {
        self.status
    }

    pub(super) fn body_bytes(self) -> u64 {
        self.body_bytes
    }
}

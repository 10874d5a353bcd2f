//! An error for which a connection ends at once (RFC 9113, 5.4.1).
//!
//! Owns its code and its words. Never ends a connection.

use wire::h2::ErrorCode;

use super::guard::TooBusy;

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionError {
    code: ErrorCode,
    text: &'static str,
}

impl ConnectionError {
    /// This code, and in words for people.
    pub(super) const fn new(code: ErrorCode, text: &'static str) -> Self {
        Self { code, text }
    }

    /// The client breaks a rule for which there is no other code.
    pub(super) const fn protocol(text: &'static str) -> Self {
        Self::new(ErrorCode::ProtocolError, text)
    }

    /// Why it ends without an error: there are no words for that.
    pub(super) const fn none() -> Self {
        Self::new(ErrorCode::NoError, "")
    }

    pub(super) fn code(self) -> ErrorCode {
        self.code
    }

    pub(super) fn text(self) -> &'static str {
        self.text
    }
}

impl From<TooBusy> for ConnectionError {
    fn from(_: TooBusy) -> Self {
        Self::new(ErrorCode::EnhanceYourCalm, "too many frames that are of no use to a request")
    }
}

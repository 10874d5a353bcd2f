//! Why a handler has no answer, and what its client and its operator see of that.
//!
//! Owns the two messages: the client gets the status and a text meant for it, the log gets the
//! cause. Never shows a cause to a client.

use std::error::Error;
use std::fmt;

use runtime::clock::Now;
use runtime::diagnostic::{self, Level};
use wire::http::status::Status;

use crate::limits::FAILURES_LOGGED_PER_SECOND;

/// An error as the answer to a request.
///
/// `?` turns every error into one: status 500, with a cause that is logged but not shown to the client.
///
/// ```
/// use http::{Failure, Status};
///
/// fn number(text: &str) -> Result<u32, Failure> {
///     text.parse().map_err(|_| Failure::new(Status::BAD_REQUEST, "not a number"))
/// }
/// assert_eq!(number("x").unwrap_err().status(), Status::BAD_REQUEST);
///
/// fn read() -> Result<u32, Failure> {
///     Ok("x".parse::<u32>()?)
/// }
/// assert_eq!(read().unwrap_err().status(), Status::INTERNAL_SERVER_ERROR);
/// ```
#[derive(Debug)]
pub struct Failure {
    status: Status,
    message: String,
    cause: Option<Box<dyn Error>>,
}

impl Failure {
    /// With a status and a text for the client.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), cause: None }
    }

    /// 404.
    pub fn not_found() -> Self {
        Self::new(Status::NOT_FOUND, "")
    }

    /// The status.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The body for the client.
    pub(super) fn text(&self) -> String {
        let (code, reason) = (self.status.code(), self.status.reason());
        if self.message.is_empty() {
            format!("{code} {reason}\n")
        } else {
            format!("{code} {reason}: {}\n", self.message)
        }
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            status: Status::INTERNAL_SERVER_ERROR,
            message: String::new(),
            cause: Some(Box::new(error)),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text().trim_end())
    }
}

/// Writes causes to standard error, a limited number per second. The next line says how many were left out.
#[derive(Debug, Default)]
pub(super) struct FailureLog {
    second: u64,
    written: u32,
    left_out: u64,
}

impl FailureLog {
    /// Logs the cause of a failure.
    pub(super) fn note(&mut self, failure: &Failure, path: &str, now: Now) {
        let Some(cause) = &failure.cause else { return };
        if self.second != now.unix_seconds {
            self.second = now.unix_seconds;
            self.written = 0;
        }
        if self.written == FAILURES_LOGGED_PER_SECOND {
            self.left_out += 1;
            return;
        }
        self.written += 1;
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            diagnostic::write(Level::Warn, format_args!("{left_out} failures were not logged"));
        }
        diagnostic::write(Level::Warn, format_args!("{path}: {cause}"));
    }
}

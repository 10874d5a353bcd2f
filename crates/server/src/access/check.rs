//! One password to verify, and the result.
//!
//! Owns what goes to the helper and back. Never shows a password.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runtime::slots::ProcessId;
use sys::clock::monotonic_ns;

use super::file::UserFile;

/// Stands for a name and a password of one file of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digest(pub(super) [u8; 32]);

/// A password to verify.
pub struct PasswordCheck {
    /// The process whose request shows it.
    pub(crate) process: ProcessId,
    pub(super) digest: Digest,
    pub(super) users: Arc<UserFile>,
    pub(super) name: Box<str>,
    pub(super) password: Box<[u8]>,
    /// Held by the scheduler too, as long as the request waits.
    pub(super) interest: Arc<()>,
}

/// Whether a password was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Yes.
    Right,
    /// No, or there is no such user.
    Wrong,
    /// Nobody wanted to know any more.
    Abandoned,
}

/// The result of a check.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// The process whose request has shown the password.
    pub(crate) process: ProcessId,
    pub(super) digest: Digest,
    pub(super) verdict: Verdict,
    /// How long it took.
    pub(super) time: Duration,
}

impl PasswordCheck {
    /// Verifies it, which takes as long as its hash was made to take; at once if the client has closed meanwhile.
    pub(crate) fn carry_out(&self) -> Checked {
        let began_ns = monotonic_ns();
        let verdict = if Arc::strong_count(&self.interest) == 1 {
            Verdict::Abandoned
        } else if self.users.knows(&self.name, &self.password) {
            Verdict::Right
        } else {
            Verdict::Wrong
        };
        let time = Duration::from_nanos(monotonic_ns().saturating_sub(began_ns));
        Checked { process: self.process, digest: self.digest, verdict, time }
    }
}

impl fmt::Debug for PasswordCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PasswordCheck").field("name", &self.name).finish_non_exhaustive()
    }
}

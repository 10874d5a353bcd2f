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
pub(crate) struct Digest(pub(super) [u8; 32]);

/// A name and a password that a request shows. Plain data.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'s> {
    pub(crate) name: &'s str,
    pub(crate) password: &'s [u8],
}

/// A password to verify.
pub struct PasswordCheck {
    /// The process whose request shows it.
    pub(crate) process: ProcessId,
    digest: Digest,
    users: Arc<UserFile>,
    name: Box<str>,
    password: Box<[u8]>,
    interest: Arc<()>,
}

/// Whether a password was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes.
    Right,
    /// No, or there is no such user.
    Wrong,
    /// Nobody wanted to know any more.
    Abandoned,
}

/// The result of a check. Plain data.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// The process whose request has shown the password.
    pub(crate) process: ProcessId,
    pub(crate) digest: Digest,
    pub(crate) verdict: Verdict,
    /// How long it took.
    pub(crate) time: Duration,
}

impl PasswordCheck {
    /// The check of what a request shows, which this digest stands for.
    pub(super) fn new(
        process: ProcessId,
        digest: Digest,
        users: &Arc<UserFile>,
        Shown { name, password }: Shown<'_>,
    ) -> Self {
        let (users, interest) = (Arc::clone(users), Arc::default());
        Self { process, digest, users, name: name.into(), password: password.into(), interest }
    }

    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// Held by the scheduler as long as the request waits.
    pub(super) fn interest(&self) -> Arc<()> {
        Arc::clone(&self.interest)
    }

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

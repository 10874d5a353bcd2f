//! One password to verify, and the result.
//!
//! Owns what goes to the helper and back. Never shows a password.

use std::fmt;
use std::sync::Arc;

use runtime::slots::ProcessId;

use super::file::UserFile;

/// Stands for a name and a password of one file of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub(super) [u8; 32]);

/// A password to verify.
pub struct PasswordCheck {
    /// The process whose request shows it.
    pub(crate) process: ProcessId,
    pub(crate) digest: Digest,
    pub(super) users: Arc<UserFile>,
    pub(super) name: Box<str>,
    pub(super) password: Box<[u8]>,
}

/// Whether a password was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Right,
    /// No, or there is no such user.
    Wrong,
}

impl PasswordCheck {
    /// Verifies it, which takes as long as its hash was made to take.
    pub(crate) fn carry_out(&self) -> Verdict {
        if self.users.knows(&self.name, &self.password) { Verdict::Right } else { Verdict::Wrong }
    }
}

impl fmt::Debug for PasswordCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PasswordCheck").field("name", &self.name).finish_non_exhaustive()
    }
}

//! The passwords that clients have shown on a scheduler: those that were right lately, and those being verified.
//!
//! Owns the bounds of both. Never keeps a password: a digest with a secret of this process stands for a name and a
//! password of one file, and for nothing that could be tried elsewhere.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use ahash::HashMap;
use runtime::slots::ProcessId;
use sha2::{Digest as _, Sha256};

use super::check::{Digest, PasswordCheck, Verdict};
use super::file::UserFile;
use crate::limits::{
    PASSWORD_CHECKS, PASSWORD_CHECKS_PER_CLIENT, PASSWORD_KNOWN_MS, PASSWORDS_KNOWN,
};

/// A name and a password that a request shows.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'s> {
    pub(crate) name: &'s str,
    pub(crate) password: &'s [u8],
}

/// What is known of them.
#[derive(Debug)]
pub(crate) enum Standing {
    /// They are right.
    Right,
    /// They are wrong.
    Wrong,
    /// They are being verified: the process is resumed.
    Awaited,
    /// Nothing: this has to be sent to the helper.
    Unknown(Box<PasswordCheck>),
    /// Nothing, and too much is being verified already.
    Crowded,
}

/// The passwords of one scheduler.
#[derive(Debug)]
pub(crate) struct Passwords {
    secret: [u8; 32],
    /// When each may have changed: on the monotonic clock, in milliseconds.
    right: HashMap<Digest, u64>,
    /// The same, in the order in which they were verified.
    order: VecDeque<(Digest, u64)>,
    checks: Vec<Check>,
}

/// A check of a process whose request is not let in yet.
#[derive(Debug)]
struct Check {
    process: ProcessId,
    client: IpAddr,
    digest: Digest,
    verdict: Option<Verdict>,
}

impl Passwords {
    /// Nothing is known.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self { secret, right: HashMap::default(), order: VecDeque::new(), checks: Vec::new() })
    }

    /// What is known of the name and the password in a request of this process and client.
    pub(crate) fn look_up(
        &self,
        users: &Arc<UserFile>,
        shown: Shown<'_>,
        (process, client): (ProcessId, IpAddr),
        now_ms: u64,
    ) -> Standing {
        let digest = self.digest(users, shown);
        if self.right.get(&digest).is_some_and(|until_ms| now_ms < *until_ms) {
            return Standing::Right;
        }
        let known = |check: &&Check| check.process == process && check.digest == digest;
        match self.checks.iter().find(known).map(|check| check.verdict) {
            Some(Some(Verdict::Right)) => return Standing::Right,
            Some(Some(Verdict::Wrong)) => return Standing::Wrong,
            Some(None) => return Standing::Awaited,
            None => {}
        }
        let of_client = self.checks.iter().filter(|check| is_same_client(check.client, client));
        if self.checks.len() >= PASSWORD_CHECKS || of_client.count() >= PASSWORD_CHECKS_PER_CLIENT {
            return Standing::Crowded;
        }
        let Shown { name, password } = shown;
        let users = Arc::clone(users);
        let (name, password) = (name.into(), password.into());
        Standing::Unknown(Box::new(PasswordCheck { process, digest, users, name, password }))
    }

    /// A check was sent to the helper.
    pub(crate) fn begin(&mut self, process: ProcessId, client: IpAddr, digest: Digest) {
        self.checks.push(Check { process, client, digest, verdict: None });
    }

    /// The helper has answered.
    pub(crate) fn learn(
        &mut self,
        process: ProcessId,
        digest: Digest,
        verdict: Verdict,
        now_ms: u64,
    ) {
        let mut checks = self.checks.iter_mut();
        if let Some(check) = checks.find(|check| check.process == process && check.digest == digest)
        {
            check.verdict = Some(verdict);
        }
        if verdict == Verdict::Right {
            self.remember(digest, now_ms);
        }
    }

    /// Whether a password of this process was found to be wrong.
    pub(crate) fn is_refused(&self, process: ProcessId) -> bool {
        let is_wrong =
            |check: &Check| check.process == process && check.verdict == Some(Verdict::Wrong);
        !self.checks.is_empty() && self.checks.iter().any(is_wrong)
    }

    /// The request is let in, refused or gone.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        if !self.checks.is_empty() {
            self.checks.retain(|check| check.process != process);
        }
    }

    /// The files of users were read again.
    pub(crate) fn forget_known(&mut self) {
        self.right.clear();
        self.order.clear();
    }

    fn remember(&mut self, digest: Digest, now_ms: u64) {
        while let Some((oldest, until_ms)) = self.order.front().copied() {
            if now_ms < until_ms && self.order.len() < PASSWORDS_KNOWN {
                break;
            }
            self.order.pop_front();
            if self.right.get(&oldest) == Some(&until_ms) {
                self.right.remove(&oldest);
            }
        }
        let until_ms = now_ms.saturating_add(PASSWORD_KNOWN_MS);
        self.right.insert(digest, until_ms);
        self.order.push_back((digest, until_ms));
    }

    fn digest(&self, users: &Arc<UserFile>, shown: Shown<'_>) -> Digest {
        let mut hasher = Sha256::new();
        hasher.update(self.secret);
        hasher.update(users.number().0.to_le_bytes());
        hasher.update(users.number().1.to_le_bytes());
        hasher.update(shown.name.len().to_le_bytes());
        hasher.update(shown.name);
        hasher.update(shown.password);
        Digest(hasher.finalize().into())
    }
}

/// A client of IPv6 has a network of 2^64 addresses.
fn is_same_client(one: IpAddr, other: IpAddr) -> bool {
    match (one, other) {
        (IpAddr::V6(one), IpAddr::V6(other)) => one.to_bits() >> 64 == other.to_bits() >> 64,
        _ => one == other,
    }
}

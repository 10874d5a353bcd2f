//! The passwords that clients have shown on a scheduler: those that were right lately, and those being verified.
//!
//! Owns the bounds of both. Never keeps a password: a digest with a secret of this process stands for a name and a
//! password of one file, and for nothing that could be tried elsewhere.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ahash::HashMap;
use runtime::slots::ProcessId;
use sha2::{Digest as _, Sha256};

use super::check::{Checked, Digest, PasswordCheck, Shown, Verdict};
use super::file::UserFile;
use crate::limits::{
    PASSWORD_CHECKS, PASSWORD_CHECKS_PER_CLIENT, PASSWORD_KNOWN_MS, PASSWORD_WAIT, PASSWORDS_KNOWN,
};

/// The standing of a name and a password.
#[derive(Debug)]
pub(crate) enum Standing {
    Right,
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
    /// How long a check takes, lately.
    usual: Duration,
}

/// A check that the helper has not answered, or of a process whose request is not let in yet.
#[derive(Debug)]
struct Check {
    process: ProcessId,
    client: IpAddr,
    digest: Digest,
    verdict: Option<Verdict>,
    /// `None`: the client has closed. The check still counts, until the helper has put it aside: otherwise one client
    /// could fill the helper's queue with checks that nobody waits for.
    interest: Option<Arc<()>>,
}

impl Passwords {
    /// Nothing is known.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self {
            secret,
            right: HashMap::default(),
            order: VecDeque::new(),
            checks: Vec::new(),
            usual: Duration::ZERO,
        })
    }

    /// The standing of the name and the password in a request of this process and client.
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
        let known = |check: &&Check| {
            check.process == process && check.digest == digest && check.interest.is_some()
        };
        match self.checks.iter().find(known).map(|check| check.verdict) {
            Some(Some(Verdict::Right)) => return Standing::Right,
            Some(Some(Verdict::Wrong | Verdict::Abandoned)) => return Standing::Wrong,
            Some(None) => return Standing::Awaited,
            None => {}
        }
        let of_client = self.checks.iter().filter(|check| is_same_client(check.client, client));
        let open = self.checks.iter().filter(|check| check.verdict.is_none()).count();
        let wait = self.usual.saturating_mul(u32::try_from(open).unwrap_or(u32::MAX));
        if self.checks.len() >= PASSWORD_CHECKS
            || of_client.count() >= PASSWORD_CHECKS_PER_CLIENT
            || wait >= PASSWORD_WAIT
        {
            return Standing::Crowded;
        }
        Standing::Unknown(Box::new(PasswordCheck::new(process, digest, users, shown)))
    }

    /// A check is about to be sent to the helper.
    pub(crate) fn begin(&mut self, check: &PasswordCheck, client: IpAddr) {
        let (process, digest, interest) = (check.process, check.digest(), Some(check.interest()));
        self.checks.push(Check { process, client, digest, verdict: None, interest });
    }

    /// It could not be sent.
    pub(crate) fn begin_not(&mut self) {
        self.checks.pop();
    }

    /// The helper has answered.
    pub(crate) fn learn(&mut self, checked: Checked, now_ms: u64) {
        let Checked { process, digest, verdict, time } = checked;
        let is_it = |check: &Check| {
            check.process == process && check.digest == digest && check.verdict.is_none()
        };
        if let Some(place) = self.checks.iter().position(is_it) {
            match self.checks.get_mut(place) {
                Some(check) if check.interest.is_some() => check.verdict = Some(verdict),
                _ => {
                    self.checks.swap_remove(place);
                }
            }
        }
        if verdict != Verdict::Abandoned {
            self.usual = (self.usual * 3 + time) / 4;
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

    /// The request is let in or refused, or its client has closed.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        for check in self.checks.iter_mut().filter(|check| check.process == process) {
            check.interest = None;
        }
        self.checks.retain(|check| check.interest.is_some() || check.verdict.is_none());
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const SECRET: &str = "ada:$2b$04$wtwkAmQvcanQdKV9TyYf4eGTRXFGLqzsENuK4Xk5kRQtVm2fmLPSi";
    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn shown(password: &[u8]) -> Shown<'_> {
        Shown { name: "ada", password }
    }

    fn begin(passwords: &mut Passwords, users: &Arc<UserFile>, number: u8) -> Box<PasswordCheck> {
        let process = ProcessId::from_bits(u64::from(number));
        match passwords.look_up(users, shown(&[number]), (process, CLIENT), 0) {
            Standing::Unknown(check) => {
                passwords.begin(&check, CLIENT);
                check
            }
            other => panic!("{number}: {other:?}"),
        }
    }

    #[test]
    fn checks_of_clients_that_close_count_until_the_helper_has_put_them_aside() {
        let users = Arc::new(UserFile::of_test(SECRET));
        let mut passwords = Passwords::new().unwrap();
        let most = u8::try_from(PASSWORD_CHECKS_PER_CLIENT).unwrap();
        let checks: Vec<_> =
            (0..most).map(|number| begin(&mut passwords, &users, number)).collect();
        for check in &checks {
            passwords.forget(check.process);
        }
        let next = ProcessId::from_bits(99);
        let look_up =
            |passwords: &Passwords| passwords.look_up(&users, shown(b"x"), (next, CLIENT), 0);
        assert!(matches!(look_up(&passwords), Standing::Crowded));
        for check in checks {
            let checked = check.carry_out();
            assert_eq!(checked.verdict, Verdict::Abandoned);
            passwords.learn(checked, 0);
        }
        assert!(matches!(look_up(&passwords), Standing::Unknown(_)));
        assert!(passwords.checks.is_empty());
    }

    #[test]
    fn verification_wait_is_bounded_by_request_deadline() {
        let users = Arc::new(UserFile::of_test(SECRET));
        let mut passwords = Passwords::new().unwrap();
        let check = begin(&mut passwords, &users, 0);
        let slow = Checked { time: PASSWORD_WAIT * 8, ..check.carry_out() };
        passwords.learn(slow, 0);
        let _open = begin(&mut passwords, &users, 1);
        let next = (ProcessId::from_bits(99), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
        assert!(matches!(passwords.look_up(&users, shown(b"x"), next, 0), Standing::Crowded));
    }
}

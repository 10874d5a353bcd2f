//! The control thread: looks at every certificate, does what the schedule says, and waits.
//!
//! Owns what is known about each certificate between two looks. It decides nothing that `schedule` and `ledger` decide.

mod records;

use std::collections::BTreeMap;
use std::time::Duration;

use self::records::LEDGER;
use crate::attempt::Attempt;
use crate::authority::Line;
use crate::clock;
use crate::ending::{Ended, Ending};
use crate::failure::Failure;
use crate::keeping::Kept;
use crate::ledger::{Failed, LimitReached, OrderLedger, Renewal};
use crate::limits::{
    FOLLOWER_LOOK, LOOK, RENEWAL_LEFT, RENEWAL_LEFT_LEAST, RETRY_FIRST_S, WINDOW_ASKED_AGAIN_S,
};
use crate::moment::{Fraction, UtcSecond};
use crate::names::CertificateNames;
use crate::reports::Reports;
use crate::schedule::{self, CertificateFacts, RenewalPlan, RenewalWindow, Turn};
use crate::settings::RenewalSettings;
use crate::sink::{AcmeEvent, IssuedCertificate, Severity, Sink};
use crate::state::{Lock, State, Stored};
use crate::status::{Board, CertificateStatus};

/// The things that the control thread works with.
pub(crate) struct Control {
    settings: RenewalSettings,
    sink: Box<dyn Sink>,
    state: State,
    line: Line,
    ending: Ending,
    board: Board,
    lock: Option<Lock>,
    ledger: OrderLedger,
    /// The certificates in use, by key.
    kept: BTreeMap<String, Kept>,
    reports: Reports,
}

/// Whether this server orders certificates, or another one that has the lock of the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Leads,
    Follows,
}

impl Control {
    /// Asks for the lock and passes the certificates of the state on.
    pub(crate) fn open(
        (settings, state): (RenewalSettings, State),
        sink: Box<dyn Sink>,
        line: Line,
        ending: Ending,
        board: Board,
    ) -> Self {
        let mut control = Self {
            settings,
            sink,
            state,
            line,
            ending,
            board,
            lock: None,
            ledger: OrderLedger::default(),
            kept: BTreeMap::new(),
            reports: Reports::default(),
        };
        match control.state.lock() {
            Ok(lock) => {
                let event = if lock.is_some() { AcmeEvent::Leads } else { AcmeEvent::Follows };
                control.lock = lock;
                control.sink.tell(event);
            }
            // With a full disk, for example: what is there is used, and the lock is asked for again at each look.
            Err(error) => control.reports.on_not_stored(&error, control.sink.as_mut()),
        }
        control.load();
        control.show();
        control
    }

    /// Looks at the certificates and waits, in turn, until the server ends.
    pub(crate) fn run(mut self) {
        while let Ok(pause) = self.look() {
            self.show();
            if self.ending.wait_or_woken(pause).is_err() {
                return;
            }
        }
    }

    /// One look at every certificate; how long to wait before the next.
    fn look(&mut self) -> Result<Duration, Ended> {
        if self.role() == Role::Follows {
            self.load();
            return Ok(FOLLOWER_LOOK);
        }
        if self.reports.unreadable(LEDGER).is_some() {
            self.load();
            let still = self.reports.unreadable(LEDGER).is_some();
            return Ok(if still { FOLLOWER_LOOK } else { Duration::ZERO });
        }
        self.line.forget_directories();
        self.ledger.on_time(clock::now());
        let mut pause = LOOK;
        for index in 0..self.settings.certificates.len() {
            self.ending.check()?;
            let Some(names) = self.settings.certificates.get(index).cloned() else { break };
            self.restore(&names);
            self.ask_window(&names)?;
            if self.plan(&names).at <= clock::now() {
                self.attempt(&names)?;
            }
            self.tell_wait(&names);
            pause = pause.min(self.plan(&names).at.after(clock::now()));
        }
        // A second, so that a plan for right now is not a busy loop.
        Ok(pause.max(Duration::from_secs(1)))
    }

    /// Whether this server orders. It does as soon as no other has the lock.
    fn role(&mut self) -> Role {
        if self.lock.as_ref().is_some_and(|lock| self.state.is_locked_by(lock)) {
            return Role::Leads;
        }
        let has_led = self.lock.take().is_some();
        match self.state.lock() {
            Ok(Some(lock)) => {
                self.lock = Some(lock);
                self.load();
                self.sink.tell(AcmeEvent::Leads);
                Role::Leads
            }
            Ok(None) => {
                if has_led {
                    self.sink.tell(AcmeEvent::Follows);
                }
                self.reports.on_written(Ok(()), self.sink.as_mut());
                Role::Follows
            }
            Err(error) => {
                self.reports.on_not_stored(&error, self.sink.as_mut());
                Role::Follows
            }
        }
    }

    fn put_in_use(&mut self, names: &CertificateNames, kept: Kept, issued: IssuedCertificate) {
        self.kept.insert(names.key().to_owned(), kept);
        self.sink.use_certificate(issued);
    }

    /// Asks the authority when to renew, if it is time to ask.
    fn ask_window(&mut self, names: &CertificateNames) -> Result<(), Ended> {
        let Some(kept) = self.kept.get(names.key()) else { return Ok(()) };
        let Some(identifier) = kept.renewal_identifier() else { return Ok(()) };
        let Some(record) = self.ledger.record(names) else { return Ok(()) };
        let Some(directory) = record.issuer.clone() else { return Ok(()) };
        let now = clock::now();
        let last = record.renewal.clone().filter(|renewal| renewal.identifier == identifier);
        if last.as_ref().is_some_and(|renewal| renewal.ask_at > now) || kept.not_after() < now {
            return Ok(());
        }
        let asked =
            self.line.directory(&directory).and_then(|directory| match directory.renewal_info {
                Some(url) => Ok(Some(self.line.suggestion(&url, &identifier)?)),
                None => Ok(None),
            });
        let (window, ask_after_s) = match asked {
            Ok(Some(suggestion)) => (suggestion.window, suggestion.ask_after_s),
            Ok(None) => (None, WINDOW_ASKED_AGAIN_S),
            Err(Failure::Ended) => return Err(Ended),
            // An authority that is not reached now keeps what it said before.
            Err(_) => (last.and_then(|renewal| renewal.window), WINDOW_ASKED_AGAIN_S),
        };
        let renewal = Renewal { identifier, window, ask_at: now.plus(ask_after_s) };
        self.ledger.record_mut(names).renewal = Some(renewal);
        self.write_ledger();
        Ok(())
    }

    fn plan(&self, names: &CertificateNames) -> RenewalPlan {
        let now = clock::now();
        let record = self.ledger.record(names);
        let kept = self.kept.get(names.key());
        let allowed_at = self.ledger.allowed_at(names, now).max(self.turn(names, now).at);
        schedule::plan(&CertificateFacts {
            life: kept.map(Kept::life),
            window: kept.and_then(|kept| self.window(names, kept)),
            spread: kept.map_or(Fraction::NONE, Kept::spread),
            retry_at: record.and_then(|record| record.retry_at),
            allowed_at,
        })
    }

    /// The limit of authorities that decides when a certificate is ordered.
    fn waits_for(&self, names: &CertificateNames) -> Option<LimitReached> {
        let reached = self.ledger.reached(names, clock::now())?;
        (self.plan(names).at == reached.until).then_some(reached)
    }

    fn tell_wait(&mut self, names: &CertificateNames) {
        if let Some(reached) = self.waits_for(names) {
            let severity = self.severity(names);
            self.reports.on_wait(names, reached, severity, self.sink.as_mut());
        }
    }

    /// How much it matters that a certificate is not ordered now.
    fn severity(&self, names: &CertificateNames) -> Severity {
        let life = self.kept.get(names.key()).map(Kept::life);
        let is_late = life.is_none_or(|life| life.when_left(RENEWAL_LEFT_LEAST) <= clock::now());
        if is_late { Severity::Error } else { Severity::Warning }
    }

    /// The window for the certificate in use.
    fn window(&self, names: &CertificateNames, kept: &Kept) -> Option<RenewalWindow> {
        let renewal = self.ledger.record(names)?.renewal.as_ref()?;
        let identifier = kept.renewal_identifier()?;
        renewal.window.filter(|_| renewal.identifier == identifier)
    }

    fn turn(&self, names: &CertificateNames, now: UtcSecond) -> Turn {
        let failures = self.ledger.record(names).map_or(0, |record| record.failures);
        let issuers = self.settings.issuers.iter();
        let held: Vec<_> =
            issuers.map(|issuer| self.ledger.held_until(&issuer.directory)).collect();
        schedule::issuer_in_turn(failures, &held, now)
    }

    fn attempt(&mut self, names: &CertificateNames) -> Result<(), Ended> {
        let turn = self.turn(names, clock::now());
        let issuer = self.settings.issuers.get(turn.issuer).cloned();
        let issuer = issuer.expect("a turn is the index of an issuer");
        let reason = self.plan(names).reason;
        let directory = issuer.directory.clone();
        self.line.noted().for_each(drop);
        let mut attempt = Attempt {
            names,
            issuer: &issuer,
            reason,
            settings: &self.settings,
            old: self.kept.get(names.key()),
            line: &self.line,
            ending: &self.ending,
            state: &self.state,
            ledger: &mut self.ledger,
            sink: self.sink.as_mut(),
        };
        match attempt.run() {
            Ok((kept, issued)) => self.on_issued(names, directory, kept, issued),
            Err(Failure::Ended) => return Err(Ended),
            Err(failure) => self.on_failed(names, directory, &failure),
        }
        Ok(())
    }

    fn on_issued(
        &mut self,
        names: &CertificateNames,
        directory: String,
        kept: Kept,
        issued: IssuedCertificate,
    ) {
        if self.is_worse(names, &kept) {
            // If it cannot be removed, the next attempt gets the same certificate, which is not used either.
            let _ = self.state.remove(&Stored::Order(names.key()));
            return self.on_failed(names, directory, &Failure::Ending);
        }
        let (not_after, pem) = (kept.not_after(), kept.pem().to_vec());
        self.put_in_use(names, kept, issued);
        self.ledger.on_issued(names, &directory);
        // The order is forgotten only when its certificate is safe: until then a restart gets it again.
        let stored = self.state.write(&Stored::Certificate(names.key()), &pem);
        let stored = stored.and_then(|()| self.state.remove(&Stored::Order(names.key())));
        self.reports.on_written(stored, self.sink.as_mut());
        if self.plan(names).at <= clock::now() {
            // Without this the next look would order again, and again.
            return self.on_failed(names, directory, &Failure::Clock);
        }
        self.ledger.on_success(names);
        self.write_ledger();
        self.show();
        self.sink.tell(AcmeEvent::Issued { names: names.clone(), issuer: directory, not_after });
    }

    /// Whether a new certificate is to be renewed at once and ends before the one in use. If only the clock of this
    /// machine is wrong, the new one ends later.
    fn is_worse(&self, names: &CertificateNames, new: &Kept) -> bool {
        let is_due = new.life().when_left(RENEWAL_LEFT) <= clock::now();
        let used = self.kept.get(names.key());
        is_due && used.is_some_and(|used| new.not_after() < used.not_after())
    }

    fn on_failed(&mut self, names: &CertificateNames, directory: String, failure: &Failure) {
        let now = clock::now();
        let asked = self.line.noted().filter(|note| matches!(note.status, 429 | 503)).last();
        if let Some(seconds) = asked.and_then(|note| note.retry_after_s) {
            self.ledger.on_hold(&directory, seconds, now);
        } else if matches!(failure, Failure::Agent(_)) {
            // It is as far away for every other name.
            self.ledger.on_hold(&directory, RETRY_FIRST_S, now);
        }
        if let Failure::NotStored(error) = failure {
            let record = self.ledger.record_mut(names);
            record.retry_at = Some(now.plus(RETRY_FIRST_S));
            record.error = Some(failure.line());
            self.show();
            return self.reports.on_not_stored(error, self.sink.as_mut());
        }
        let jitter = Fraction::from_bits(fastrand::u32(..));
        let failed = Failed { names: failure.failed_names(), error: failure.line(), jitter };
        self.ledger.on_failed(names, failed, now);
        self.write_ledger();
        self.show();
        let severity = self.severity(names);
        self.sink.tell(AcmeEvent::Failed {
            names: names.clone(),
            issuer: directory,
            error: failure.line(),
            next: self.plan(names).at,
            not_after: self.kept.get(names.key()).map(Kept::not_after),
            severity,
        });
    }

    /// Why the state stops all orders of this server: without the ledger, or the lock that it could not ask for.
    fn state_error(&self) -> Option<String> {
        let no_lock = || self.reports.not_stored().filter(|_| self.lock.is_none());
        self.reports.unreadable(LEDGER).or_else(no_lock)
    }

    fn show(&self) {
        let state_error = self.state_error();
        let orders = self.lock.is_some() && state_error.is_none();
        let statuses = self.settings.certificates.iter().map(|names| {
            let record = self.ledger.record(names);
            CertificateStatus {
                names: names.clone(),
                not_after: self.kept.get(names.key()).map(|kept| kept.not_after()),
                issuer: record.and_then(|record| record.issuer.clone()),
                next_attempt: orders.then(|| self.plan(names).at),
                limit: self.waits_for(names).map(|reached| reached.limit).filter(|_| orders),
                failures: record.map_or(0, |record| record.failures),
                last_error: record.and_then(|record| record.error.clone()),
                state_error: state_error.clone(),
            }
        });
        self.board.show(statuses.collect());
    }
}

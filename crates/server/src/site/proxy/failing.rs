//! An exchange with a server has failed.
//!
//! Owns what that says of the server, whether the request goes to another one, and the line in the log.

use client::{Deadline, Failure};
use proxy::Outcome;
use runtime::diagnostic::{self, Level};
use runtime::slots::ProcessId;

use super::carried::{Carried, Idempotence, Place, Refused, Stage};
use super::desk::Proxies;

/// The next step of a request whose exchange has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Then {
    /// It is sent again, to another server.
    Again,
    /// It has no answer of a server.
    Refuse(Refused),
}

impl Proxies {
    /// The exchange of a request has failed before any of its answer was passed on.
    pub(in crate::site) fn after_failure(
        &mut self,
        process: ProcessId,
        failure: Failure,
        now_ns: u64,
    ) -> Then {
        let place = self.note_failure(process, failure, now_ns);
        let (upstreams, Some(carried)) = self.parts(process) else {
            return Then::Refuse(Refused::Failed);
        };
        carried.early.clear();
        let refused = refused_for(failure);
        carried.failed = Some(refused);
        let live = carried.upstream.and_then(|id| upstreams.get_mut(id));
        let Some(live) = live else { return Then::Refuse(refused) };
        let may_repeat = carried.repeats < live.config().retries
            && may_go_again(carried, failure)
            && live.servers.may_repeat();
        let is_whole = may_repeat && carried.upload.as_mut().is_none_or(|upload| upload.rewind());
        if !is_whole {
            carried.stage = Stage::Refused(refused);
            return Then::Refuse(refused);
        }
        carried.repeats += 1;
        carried.wish.sticky = None;
        if let Some(place) = place {
            carried.wish.tried.add(place.server);
        }
        Then::Again
    }

    /// Tells the log and the health of the server, and gives the place back.
    pub(in crate::site) fn note_failure(
        &mut self,
        process: ProcessId,
        failure: Failure,
        now_ns: u64,
    ) -> Option<Place> {
        let outcome = match failure {
            Failure::TooMany
            | Failure::Stopping
            | Failure::RequestLength
            | Failure::Field
            | Failure::Timeout(Deadline::Requester) => Outcome::Abandoned,
            _ => Outcome::Failed,
        };
        self.note(process, (outcome, &|address| failure.at(address).to_string()), now_ns)
    }

    /// The same for an answer that is well formed and cannot be passed on.
    pub(in crate::site) fn note_misfit(&mut self, process: ProcessId, why: &str, now_ns: u64) {
        self.note(process, (Outcome::Failed, &|_| why.to_owned()), now_ns);
    }

    /// An answer is not passed on for a reason that is not the server's.
    pub(in crate::site) fn note_unwanted(&mut self, process: ProcessId) {
        let (_, Some(carried)) = self.parts(process) else { return };
        carried.exchange = None;
        if let Some(place) = carried.place.take() {
            self.give_up(place);
        }
    }

    fn note(
        &mut self,
        process: ProcessId,
        (outcome, what): (Outcome, &dyn Fn(&str) -> String),
        now_ns: u64,
    ) -> Option<Place> {
        let (upstreams, carried) = self.parts(process);
        let carried = carried?;
        carried.exchange = None;
        let place = carried.place.take()?;
        let has_head = place.first_byte_ns.is_some();
        let outcome = if has_head && outcome == Outcome::Failed { Outcome::Cut } else { outcome };
        let live = upstreams.get_mut(place.upstream)?;
        if let Some(left_out) = live.gate.admit(now_ns) {
            let (name, address) = (&live.config().name, live.address(place.server));
            let what = what(&address);
            diagnostic::write(
                Level::Warn,
                format_args!("upstream {name}, {address}: {what}{left_out}"),
            );
        }
        self.release(place, outcome, now_ns);
        Some(place)
    }
}

/// Whether a request does no harm if another server gets it too: the server cannot have seen it, or it is idempotent
/// and the server did not say anything (RFC 9110 section 9.2.2).
fn may_go_again(carried: &Carried, failure: Failure) -> bool {
    let is_unseen = matches!(
        failure,
        Failure::Refused
            | Failure::Unreachable
            | Failure::NotConnected
            | Failure::NameNotFound
            | Failure::Timeout(Deadline::Connect)
    );
    let is_silent =
        matches!(failure, Failure::Closed | Failure::Tls(_) | Failure::Timeout(Deadline::Head));
    let is_whole = carried.upload.as_ref().is_none_or(|upload| upload.is_whole());
    is_whole && (is_unseen || is_silent && carried.idempotence == Idempotence::Yes)
}

fn refused_for(failure: Failure) -> Refused {
    match failure {
        Failure::Timeout(_) => Refused::TooLate,
        Failure::TooMany | Failure::Stopping => Refused::Busy,
        Failure::Method | Failure::Field | Failure::RequestLength => Refused::Request,
        _ => Refused::Failed,
    }
}

//! An exchange with a server has failed.
//!
//! Owns what that says of the server, and whether the request goes to another one.

use client::{Client, Deadline, ExchangeFailure};
use proxy::{RequestOutcome, ServerIndex};
use runtime::slots::ProcessId;
use wire::h2::ErrorCode;

use super::carried::{Idempotence, Refused};
use super::desk::Proxies;
use super::{Carried, Place};

/// The next step of a request whose exchange has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Then {
    /// It is sent again, to another server.
    Again,
    /// It has no answer of a server.
    Refuse(Refused),
}

/// The next step with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Answered {
    /// The client gets it.
    PassOn,
    /// It is dropped, and the request is sent again, to another server.
    Again,
}

impl Proxies {
    /// The exchange of a request has failed before any of its answer was passed on.
    pub(in crate::site) fn after_failure(
        &mut self,
        process: ProcessId,
        failure: ExchangeFailure,
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
        if may_repeat && carried.go_again(place) {
            return Then::Again;
        }
        carried.refuse(refused);
        Then::Refuse(refused)
    }

    /// A server has answered with this status, which may count as a failure. `Answered::Again`: the answer is dropped,
    /// and another server gets the request.
    pub(in crate::site) fn after_status(
        &mut self,
        process: ProcessId,
        status: u16,
        client: &mut Client,
        now_ns: u64,
    ) -> Answered {
        let (upstreams, Some(carried)) = self.parts(process) else { return Answered::PassOn };
        let mut tried = carried.wish.tried;
        if let Some(server) = carried.place.and_then(|place| carried.number_of(place)) {
            tried.add(server);
        }
        let live = carried.upstream.and_then(|id| upstreams.get_mut(id));
        let (Some(live), Some(place)) = (live, &mut carried.place) else { return Answered::PassOn };
        if place.has_failed || !live.config().next_on.contains(&status) {
            return Answered::PassOn;
        }
        let place = *place;
        let may_repeat = carried.repeats < live.config().retries
            && carried.idempotence == Idempotence::Yes
            && carried.has_whole_body()
            && live.servers.has_another(tried)
            && live.servers.may_repeat();
        if may_repeat && carried.go_again(Some(place)) {
            carried.early.clear();
            carried.failed = Some(Refused::Failed);
            carried.exchange.into_iter().for_each(|id| client.cancel(id));
            self.note(process, (RequestOutcome::Failed, &|_| format!("status {status}")), now_ns);
            return Answered::Again;
        }
        if let Some(place) = &mut carried.place {
            place.has_failed = true;
        }
        if let Some(live) = upstreams.get_mut(place.upstream) {
            live.warn(place.server, &|_| format!("status {status}"), now_ns);
        }
        Answered::PassOn
    }

    /// Tells the log and the health of the server, and gives the place back.
    pub(in crate::site) fn note_failure(
        &mut self,
        process: ProcessId,
        failure: ExchangeFailure,
        now_ns: u64,
    ) -> Option<Place> {
        let outcome = match failure {
            ExchangeFailure::TooMany
            | ExchangeFailure::Stopping
            | ExchangeFailure::RequestLength
            | ExchangeFailure::Field
            | ExchangeFailure::Timeout(Deadline::Requester) => RequestOutcome::Abandoned,
            _ => RequestOutcome::Failed,
        };
        self.note(process, (outcome, &|address| failure.in_log(address)), now_ns)
    }

    /// The same for an answer that is well formed and cannot be passed on.
    pub(in crate::site) fn note_misfit(&mut self, process: ProcessId, why: &str, now_ns: u64) {
        self.note(process, (RequestOutcome::Failed, &|_| why.to_owned()), now_ns);
    }

    /// An answer is not passed on for a reason that is not the server's.
    pub(in crate::site) fn note_unwanted(&mut self, process: ProcessId) {
        let (_, Some(carried)) = self.parts(process) else { return };
        if let Some(place) = carried.leave_server() {
            self.give_up(place);
        }
    }

    fn note(
        &mut self,
        process: ProcessId,
        what: (RequestOutcome, &dyn Fn(&str) -> String),
        now_ns: u64,
    ) -> Option<Place> {
        let (_, carried) = self.parts(process);
        let carried = carried?;
        let place = carried.leave_server()?;
        carried.met.extend(carried.number_of(place));
        let (outcome, what) = what;
        let has_head = place.first_byte_ns.is_some();
        let outcome = if has_head && outcome == RequestOutcome::Failed {
            RequestOutcome::Cut
        } else {
            outcome
        };
        self.note_at(place, (outcome, what), now_ns);
        Some(place)
    }

    /// The same for an exchange that belongs to no request any more.
    pub(in crate::site) fn note_at(
        &mut self,
        place: Place,
        (outcome, what): (RequestOutcome, &dyn Fn(&str) -> String),
        now_ns: u64,
    ) {
        let Some(live) = self.upstream_mut(place.upstream) else { return };
        live.warn(place.server, what, now_ns);
        if place.first_byte_ns.is_none() && outcome == RequestOutcome::Failed {
            live.time(now_ns.saturating_sub(place.since_ns));
        }
        self.release(place, outcome, now_ns);
    }
}

impl Carried {
    /// Whether another server can get its body.
    fn has_whole_body(&self) -> bool {
        self.upload.as_ref().is_none_or(|upload| upload.is_whole())
    }

    /// The number of the server of a place in its upstream; `None`: a reload has removed that server.
    fn number_of(&self, place: Place) -> Option<ServerIndex> {
        (self.upstream == Some(place.upstream)).then_some(place.server)
    }

    /// Begins again, for another server than the one at this place. `false`: its body is no longer there.
    fn go_again(&mut self, place: Option<Place>) -> bool {
        let is_whole = self.upload.as_mut().is_none_or(|upload| upload.rewind());
        if is_whole {
            self.repeats += 1;
            self.wish.sticky = None;
            let met = place.and_then(|place| self.number_of(place));
            met.into_iter().for_each(|server| self.wish.tried.add(server));
        }
        is_whole
    }
}

/// Whether a request does no harm if another server gets it too: the server cannot have seen it, or it is idempotent
/// and the server did not say anything (RFC 9110 section 9.2.2).
fn may_go_again(carried: &Carried, failure: ExchangeFailure) -> bool {
    let is_unseen = matches!(
        failure,
        ExchangeFailure::Refused
            | ExchangeFailure::Unreachable
            | ExchangeFailure::NotConnected
            | ExchangeFailure::NameNotFound
            | ExchangeFailure::Timeout(Deadline::Connect)
            | ExchangeFailure::NotServed(_)
            | ExchangeFailure::StreamReset(ErrorCode::RefusedStream)
    );
    let is_silent = matches!(
        failure,
        ExchangeFailure::Closed
            | ExchangeFailure::Tls(_)
            | ExchangeFailure::StreamReset(_)
            | ExchangeFailure::GoneAway(_)
            | ExchangeFailure::Timeout(Deadline::Head)
    );
    carried.has_whole_body() && (is_unseen || is_silent && carried.idempotence == Idempotence::Yes)
}

fn refused_for(failure: ExchangeFailure) -> Refused {
    match failure {
        ExchangeFailure::Timeout(_) => Refused::TooLate,
        ExchangeFailure::TooMany | ExchangeFailure::Stopping => Refused::Busy,
        ExchangeFailure::Method | ExchangeFailure::Field | ExchangeFailure::RequestLength => {
            Refused::Request
        }
        _ => Refused::Failed,
    }
}

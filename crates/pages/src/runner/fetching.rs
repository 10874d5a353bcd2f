//! Pages ask other servers.
//!
//! Owns the meaning of these waits. The tables of fetches are in `fetches`; the client sends and receives.

use std::time::Duration;

use actors::RunKey;
use runtime::trace;
use script::engine::{AnswerForm, Arguments};

use super::Runner;
use super::calls::{Caller, Callers, PageCall, call};
use crate::delivery::{Delivery, Fetched, WaitOutcome};
use crate::fetch::{
    ExchangeFailure, FetchOwner, FetchRequest, Got, Number, PageFetches, ResponseDelivery, told,
};
use crate::limits::FETCH_STREAMS_PER_PAGE;
use crate::traced;

/// The arguments of the first are those of a whole request, and read where it is begun.
pub(super) const CALLS: &[PageCall] = &[
    PageCall::new(
        "fetch",
        AnswerForm::AsGiven,
        "an answer (fetch)",
        Callers::Any,
        Runner::begin_fetch,
    ),
    call!("answer.read"(number: number) -> AsGiven, "a part of an answer (fetch)", Any, Runner::read_fetched),
    call!("answer.close"(number: number) -> Values, "a part of an answer \
        (fetch)", Any, Runner::close_fetched),
];

/// The answer to a page that reads an answer which has ended, or which belongs to another page.
const CLOSED: &str = "the answer is closed";

impl Runner {
    /// Requests a fetch, which begins at the end of the turn.
    fn begin_fetch(&mut self, caller: &mut Caller<'_>, given: &mut Arguments<'_>) -> WaitOutcome {
        let key = caller.key;
        let mut asked = asked_with(key, given);
        let is_full = self.fetches.streams(key) >= FETCH_STREAMS_PER_PAGE;
        if asked.wanted == ResponseDelivery::Pieces && is_full {
            let failure = Fetched::Failure(told(ExchangeFailure::TooMany, None));
            return WaitOutcome::Now(Delivery::Fetched(Box::new(failure)));
        }
        caller.host.pass_on(&mut asked.fields);
        // The fetch ends with the page's own time.
        let now_ns = caller.moment.now_ns;
        let left_ns = caller.life.due_by(u64::MAX).saturating_sub(now_ns);
        asked.timeout = asked.timeout.min(Duration::from_nanos(left_ns));
        if trace::is_noting() {
            traced::fetch(key, &asked);
        }
        self.fetches.want(key, asked);
        WaitOutcome::Later { due_ns: u64::MAX }
    }

    /// A page wants the next piece of an answer.
    fn read_fetched(&mut self, caller: &mut Caller<'_>, number: u64) -> WaitOutcome {
        if !self.fetches.want_piece(caller.key, Number(number)) {
            let failure = Fetched::Failure(CLOSED.to_owned());
            return WaitOutcome::Now(Delivery::Fetched(Box::new(failure)));
        }
        WaitOutcome::Later { due_ns: u64::MAX }
    }

    /// A page does not want the rest of an answer.
    fn close_fetched(&mut self, caller: &mut Caller<'_>, number: u64) -> WaitOutcome {
        self.fetches.close(caller.key, Number(number));
        WaitOutcome::Now(Delivery::Done)
    }

    /// At the end of a turn, after all pages: begins their fetches.
    pub fn begin_fetches(&mut self, client: &mut PageFetches, now_ns: u64) {
        self.fetches.tell(client, now_ns);
    }

    /// At the end of a turn: pages with a result become ready.
    pub fn take_fetched(&mut self, client: &mut PageFetches, now_ns: u64) {
        for (number, result) in client.outcomes(now_ns) {
            let Some((key, server)) = self.fetches.settle(number) else { continue };
            if trace::is_noting() {
                traced::fetched(key, &result);
            }
            if matches!(result, Ok(Got::End) | Err(_)) {
                self.fetches.forget_stream(key, number);
            }
            if let Err(failure) = &result {
                self.remark_on_fetch(key, *failure, server.as_deref());
            }
            let fetched = Fetched::of(number, server.as_deref(), result);
            self.hand_over(key, Delivery::Fetched(Box::new(fetched)));
        }
    }
}

/// The arguments that fetch.lua passes.
fn asked_with(key: RunKey, given: &mut Arguments<'_>) -> FetchRequest {
    FetchRequest {
        method: String::from_utf8_lossy(&given.text()).into_owned(),
        url: given.text(),
        fields: given.text(),
        timeout: given.time(),
        body: given.text_or_none(),
        wanted: match given.number() {
            1 => ResponseDelivery::Pieces,
            _ => ResponseDelivery::Whole,
        },
        owner: match key {
            RunKey::Request(_) | RunKey::Socket(_) => FetchOwner::Request,
            RunKey::Spawned(_) => FetchOwner::Process,
        },
    }
}

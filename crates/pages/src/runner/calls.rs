//! A call of pages that suspends them, as a row says it; and the run that calls.
//!
//! Owns the form of a row. Each row stands in the file that does what it says; `call_table` has all of them.

use std::time::Duration;

use actors::RunKey;
use runtime::clock::nanoseconds;
use script::engine::{AnswerForm, Arguments, Carries, HostCall, PageHost, Run};

use super::{Moment, Runner};
use crate::delivery::{CLOSED_SOCKET, Delivery, WaitOutcome};
use crate::process::Life;
use crate::traced;

/// A call of pages.
#[derive(Clone, Copy)]
pub(super) struct PageCall {
    call: HostCall,
    waits_for: &'static str,
    callers: Callers,
    start: Start,
}

type Start = fn(&mut Runner, &mut Caller<'_>, &mut Arguments<'_>) -> WaitOutcome;

/// A row of the table: what pages call, its arguments and how each is read ([`Arguments`]), how they get the answer
/// ([`AnswerForm`]), what they wait for in a few words, who may call it ([`Callers`]), and what starts it.
macro_rules! call {
    ($name:literal($($argument:ident: $read:ident),*) -> $answer:ident, $waits_for:literal, $callers:ident, $start:path) => {
        $crate::runner::calls::PageCall::new(
            $name,
            script::engine::AnswerForm::$answer,
            $waits_for,
            $crate::runner::calls::Callers::$callers,
            |runner, caller, _given| {
                $(let $argument = _given.$read();)*
                $start(runner, caller $(, $argument)*)
            },
        )
    };
}
pub(super) use call;

/// The runs that may call something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Callers {
    /// Every page and process.
    Any,
    /// Pages that answer a request.
    Requests,
    /// Modules that talk to the client of a WebSocket.
    Conversations,
}

impl PageCall {
    pub(super) const fn new(
        name: &'static str,
        answer: AnswerForm,
        waits_for: &'static str,
        callers: Callers,
        start: Start,
    ) -> Self {
        let call = HostCall { name, answer, carries: Carries::Arguments };
        Self { call, waits_for, callers, start }
    }

    /// The same, and [`Runner::output`] has what the page has written so far. It has no arguments.
    pub(super) const fn with_output(self) -> Self {
        let call = HostCall { carries: Carries::Output, ..self.call };
        Self { call, ..self }
    }

    /// The declaration of the call, for the engine.
    pub(super) const fn host_call(&self) -> HostCall {
        self.call
    }

    /// Does what a page waits for, or arranges that it is told later.
    pub(super) fn start(
        &self,
        runner: &mut Runner,
        run: &mut Run,
        mut caller: Caller<'_>,
    ) -> WaitOutcome {
        let (key, life) = (caller.key, &mut *caller.life);
        life.wait_for(self.waits_for);
        if self.call.carries == Carries::Arguments {
            traced::note(key, traced::WAITS, format_args!("{}", self.waits_for));
        }
        match self.callers {
            Callers::Requests if !matches!(key, RunKey::Request(_)) => {
                WaitOutcome::Now(NOT_IN_A_PROCESS)
            }
            Callers::Conversations if !life.talks() => WaitOutcome::Now(CLOSED_SOCKET),
            _ => {
                let outcome = (self.start)(runner, &mut caller, &mut run.arguments());
                run.forget_arguments();
                outcome
            }
        }
    }
}

/// The run that calls. Plain data.
pub(super) struct Caller<'call> {
    pub(crate) key: RunKey,
    pub(crate) life: &'call mut Life,
    pub(crate) moment: Moment,
    /// Its own host, as long as it is not suspended.
    pub(crate) host: &'call mut dyn PageHost,
}

impl Caller<'_> {
    /// After this time; never, if there is none.
    pub(super) fn after(&self, time: impl Into<Option<Duration>>) -> u64 {
        let at = |time| self.moment.now_ns.saturating_add(nanoseconds(time));
        time.into().map_or(u64::MAX, at)
    }
}

/// The answer to a process that uses what it does not have: `spawn` copies no request, response or files.
const NOT_IN_A_PROCESS: Delivery = Delivery::Failed("only code that answers a request can do that");

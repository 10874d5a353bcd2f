//! A running page, or a running function that a page spawned.
//!
//! Owns its state: its deadline, its budget, what it waits for. Never runs one.

use std::rc::Rc;
use std::sync::Arc;

use runtime::slots::ProcessId;
use script::engine::{Run, ScriptError};

use super::counts::RowIndex;
use super::delivery::Delivery;
use super::family::{Budget, Family, Member};
use super::page::Page;
use super::spent::Spent;

/// The state of a run as long as it lives.
pub(super) struct Life {
    pub(super) page: Arc<Page>,
    pub(super) row: RowIndex,
    /// When it is ended in any case.
    pub(super) deadline_ns: u64,
    /// Its mailbox, from the first time another process may write to it.
    pub(super) mailbox: Option<ProcessId>,
    /// The state that it shares with the processes it spawned and with the one that spawned it.
    pub(super) family: Option<Member>,
    /// The CPU budget that it uses.
    pub(super) budget: Budget,
    /// The event that it waits for, in a few words.
    pub(super) waits_for: &'static str,
    /// Whether its client was sent something.
    pub(super) progress: Progress,
    /// Its conversation with a client.
    pub(super) talk: Option<Box<Talk>>,
    /// Where its time went, if it is timed.
    pub(super) spent: Option<Box<Spent>>,
    /// Slices that were over before it was.
    pub(super) slices: u32,
    /// When its CPU budget is renewed.
    budget_due_ns: u64,
}

/// A conversation over a WebSocket.
#[derive(Default)]
pub(super) struct Talk {
    /// How the connection ended. The run is told when it next waits for a message.
    pub(super) end: Option<Delivery>,
    /// Whether the connection has ended.
    pub(super) is_over: bool,
    /// Whether it waits for a message.
    pub(super) awaits: bool,
}

/// The output that its client was sent since it last continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing.
    None,
    /// A part of the answer.
    PartSent,
}

impl Life {
    pub(super) fn new(page: Arc<Page>, row: RowIndex, deadline_ns: u64) -> Self {
        let (progress, budget_due_ns) = (Progress::None, deadline_ns);
        Self {
            page,
            row,
            deadline_ns,
            mailbox: None,
            family: None,
            budget: Budget::Own,
            waits_for: "its turn",
            progress,
            talk: None,
            spent: None,
            slices: 0,
            budget_due_ns,
        }
    }

    /// The family whose CPU budget it uses, if that is not its own.
    pub(super) fn shares_budget_with(&self) -> Option<&Rc<Family>> {
        self.family.as_ref().filter(|_| self.budget == Budget::Shared).map(Member::family)
    }

    /// The run continues. If the client has read a part meanwhile, its time starts again, so that answers may be
    /// endless. Its CPU budget is renewed only once in each such span, so that an endless answer gets no more of a
    /// core.
    pub(super) fn note_taken(&mut self, run: &mut Run, now_ns: u64, span_ns: u64) {
        if self.progress == Progress::None {
            return;
        }
        self.progress = Progress::None;
        self.deadline_ns = now_ns.saturating_add(span_ns);
        if now_ns >= self.budget_due_ns {
            self.budget_due_ns = self.deadline_ns;
            run.renew_budget();
        }
    }
}

/// The form in which a suspended run continues.
pub(super) enum Work {
    /// Its code.
    Run(Run),
    /// It was ended where it was; it gets this error when it continues.
    Ended(Box<ScriptError>),
}

/// A suspended run.
pub(super) struct Underway {
    pub(super) work: Work,
    pub(super) life: Life,
    /// When it continues in any case.
    pub(super) due_ns: u64,
    /// The delivery that it waited for, once it has arrived.
    pub(super) delivery: Option<Delivery>,
    pub(super) standing: ProcessState,
}

impl Underway {
    pub(super) fn new(run: Run, life: Life, due_ns: u64, delivery: Option<Delivery>) -> Self {
        Self { work: Work::Run(run), life, due_ns, delivery, standing: ProcessState::Waits }
    }

    /// Whether what it waits for has arrived, or its wait is over.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        let is_ended = matches!(self.work, Work::Ended(_));
        self.due_ns <= now_ns || self.delivery.is_some() || is_ended
    }
}

/// Whether a suspended run should continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// It waits.
    Waits,
    /// Its connection was told to continue it.
    Called,
    /// It is in the queue of ready runs.
    Ready,
}

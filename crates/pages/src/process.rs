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
use super::process_name::Name;
use super::set::Page;

/// Which one, on its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    /// What answers the request of a connection.
    Request(ProcessId),
    /// What talks with the client of a WebSocket, by its connection, which may be over.
    Socket(ProcessId),
    /// What was spawned, by the number of its mailbox.
    Spawned(ProcessId),
}

impl Key {
    /// Whether it was begun by a request, and so has that engine, and a share of the time of requests.
    pub(super) fn is_of_client(self) -> bool {
        matches!(self, Self::Request(_) | Self::Socket(_))
    }
}

/// What is known of it as long as it is under way, whatever it does.
pub(super) struct Life {
    pub(super) page: Arc<Page>,
    pub(super) row: RowIndex,
    /// When it is ended, whatever it does.
    pub(super) deadline_ns: u64,
    /// Its mailbox, from the first time somebody may write to it.
    pub(super) mailbox: Option<ProcessId>,
    /// The names that it has taken.
    pub(super) names: Vec<(Box<str>, Name)>,
    /// What it shares with those that it spawned, and with who spawned it.
    pub(super) family: Option<Member>,
    /// Whose CPU budget it uses.
    pub(super) budget: Budget,
    /// Whether its client was given something to take.
    pub(super) progress: Progress,
    /// Its conversation with a client.
    pub(super) talk: Option<Box<Talk>>,
    /// From when on it has its CPU budget anew.
    budget_due_ns: u64,
}

/// A conversation by a WebSocket.
#[derive(Default)]
pub(super) struct Talk {
    /// How the connection ended: the run is told when it waits for a message again.
    pub(super) end: Option<Delivery>,
    /// Whether the connection is over.
    pub(super) is_over: bool,
    /// Whether it waits for a message.
    pub(super) awaits: bool,
}

/// What its client was sent since it went on last.
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
            names: Vec::new(),
            family: None,
            budget: Budget::Own,
            progress,
            talk: None,
            budget_due_ns,
        }
    }

    /// The family whose CPU budget it uses, where that is not its own.
    pub(super) fn shares_budget_with(&self) -> Option<&Rc<Family>> {
        self.family.as_ref().filter(|_| self.budget == Budget::Shared).map(Member::family)
    }

    /// It goes on. Whose client has taken a part since has its time anew, so that there may be answers without an end; and
    /// its CPU budget once in each such span, so that none takes more of a core for being one.
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

/// What one that is under way comes back to.
pub(super) enum Work {
    /// Its code.
    Run(Run),
    /// It was ended where it was, which it hears when it goes on.
    Ended(Box<ScriptError>),
}

/// One that does not run now.
pub(super) struct Underway {
    pub(super) work: Work,
    pub(super) life: Life,
    /// When it goes on, whatever happens.
    pub(super) due_ns: u64,
    /// What it waited for, once it is here.
    pub(super) delivery: Option<Delivery>,
    pub(super) standing: ProcessState,
}

impl Underway {
    pub(super) fn new(run: Run, life: Life, due_ns: u64, delivery: Option<Delivery>) -> Self {
        Self { work: Work::Run(run), life, due_ns, delivery, standing: ProcessState::Waits }
    }

    /// Whether what it waits for is here, or it waits for nothing any more.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        let is_ended = matches!(self.work, Work::Ended(_));
        self.due_ns <= now_ns || self.delivery.is_some() || is_ended
    }
}

/// Whether one that does not run is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// It waits, or was told to go on.
    Waits,
    /// It is in the queue of those that go on.
    Ready,
}

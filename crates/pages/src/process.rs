//! A running page, or a running function that a page spawned.
//!
//! Owns its state: its deadline, its budget, what it waits for. Never runs one.

use std::rc::Rc;
use std::sync::Arc;

use actors::RunKey;
use runtime::slots::ProcessId;
use script::engine::{Run, ScriptError};
use sys::socket::Peer;

use super::counts::RowIndex;
use super::delivery::Delivery;
use super::family::{Budget, Family, Member};
use super::page::Page;
use super::ready::ReadyRun;
use super::spent::Spent;

/// The state of a run as long as it lives.
pub(super) struct Life {
    pub(crate) page: Arc<Page>,
    pub(crate) row: RowIndex,
    /// Its client, if the connection may have several requests at a time.
    client: Option<Peer>,
    /// When it is ended in any case.
    deadline_ns: u64,
    /// Its mailbox, from the first time another process may write to it.
    mailbox: Option<ProcessId>,
    /// The state that it shares with the processes it spawned and with the one that spawned it.
    family: Option<Member>,
    /// The CPU budget that it uses.
    budget: Budget,
    /// The event that it waits for, in a few words.
    waits_for: &'static str,
    /// Whether its client was sent something.
    progress: Progress,
    /// Its conversation with a client.
    talk: Option<Box<Talk>>,
    /// Where its time went, if it is timed.
    spent: Option<Box<Spent>>,
    /// Slices that were over before it was.
    slices: u32,
    /// CPU time in nanoseconds, until it was suspended last.
    cpu_ns: u64,
    /// When its CPU budget is renewed.
    budget_due_ns: u64,
}

/// A conversation over a WebSocket.
#[derive(Default)]
struct Talk {
    /// How the connection ended. The run is told when it next waits for a message.
    end: Option<Delivery>,
    /// Whether the connection has ended.
    is_over: bool,
    /// Whether it waits for a message.
    awaits: bool,
}

/// The output that its client was sent since it last continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing.
    None,
    /// A part of the answer.
    PartSent,
}

impl Life {
    /// Of a run that answers a request.
    pub(super) fn new(
        page: Arc<Page>,
        row: RowIndex,
        client: Option<Peer>,
        deadline_ns: u64,
        spent: Option<Box<Spent>>,
    ) -> Self {
        Self {
            page,
            row,
            client,
            deadline_ns,
            mailbox: None,
            family: None,
            budget: Budget::Own,
            waits_for: ITS_TURN,
            progress: Progress::None,
            talk: None,
            spent,
            slices: 0,
            cpu_ns: 0,
            budget_due_ns: deadline_ns,
        }
    }

    /// Of a process that answers none.
    pub(super) fn spawned(
        page: Arc<Page>,
        row: RowIndex,
        mailbox: ProcessId,
        family: Member,
    ) -> Self {
        let (mailbox, family, budget) = (Some(mailbox), Some(family), Budget::Shared);
        Self { mailbox, family, budget, ..Self::new(page, row, None, u64::MAX, None) }
    }

    /// It is ready, under this key.
    pub(super) fn ready(&self, key: RunKey) -> ReadyRun {
        ReadyRun { key, page: self.row, client: self.client }
    }

    /// The CPU budget that it uses.
    pub(super) fn budget(&self) -> Budget {
        self.budget
    }

    /// The family whose CPU budget it uses, if that is not its own.
    pub(super) fn shares_budget_with(&self) -> Option<&Rc<Family>> {
        self.family().filter(|_| self.budget == Budget::Shared)
    }

    pub(super) fn family(&self) -> Option<&Rc<Family>> {
        self.family.as_ref().map(Member::family)
    }

    /// Its place in its family; in this one, if it had none so far.
    pub(super) fn family_or(&mut self, first: impl FnOnce() -> Member) -> &mut Member {
        self.family.get_or_insert_with(first)
    }

    /// Its mailbox, if it has one.
    pub(super) fn mailbox(&self) -> Option<ProcessId> {
        self.mailbox
    }

    /// Its mailbox; this one, if it had none so far.
    pub(super) fn mailbox_or(
        &mut self,
        open: impl FnOnce() -> Option<ProcessId>,
    ) -> Option<ProcessId> {
        self.mailbox = self.mailbox.or_else(open);
        self.mailbox
    }

    /// It will wait for this event.
    pub(super) fn wait_for(&mut self, event: &'static str) {
        self.waits_for = event;
    }

    /// The event that it waits for, in a few words.
    pub(super) fn waits_for(&self) -> &'static str {
        self.waits_for
    }

    /// When a wait until then ends: after its deadline it need not wait.
    pub(super) fn due_by(&self, due_ns: u64) -> u64 {
        due_ns.min(self.deadline_ns.saturating_add(1))
    }

    /// It has used a slice up. Returns how many that were.
    pub(super) fn note_slice(&mut self) -> u32 {
        self.slices = self.slices.saturating_add(1);
        self.slices
    }

    /// It has used so much CPU time until it was suspended.
    pub(super) fn note_cpu(&mut self, cpu_ns: u64) {
        self.cpu_ns = self.cpu_ns.saturating_add(cpu_ns);
    }

    /// The CPU time that it has used.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    /// Its client was sent something; so its time starts again when it continues.
    pub(super) fn note_part_sent(&mut self) {
        self.progress = Progress::PartSent;
    }

    /// It continues, after a wait that it is charged with if it is timed.
    pub(super) fn note_waited(&mut self, now_ns: u64) {
        if let Some(spent) = &mut self.spent {
            spent.waited(self.waits_for, now_ns);
        }
    }

    /// It ran this long until now.
    pub(super) fn note_ran(&mut self, ran_ns: u64, now_ns: u64) {
        if let Some(spent) = &mut self.spent {
            spent.ran(ran_ns, now_ns);
        }
    }

    /// Where its time went, if it was timed.
    pub(super) fn take_spent(&mut self) -> Option<Box<Spent>> {
        self.spent.take()
    }

    /// The run continues, and no longer waits for a message. If the client has read a part meanwhile, its time starts
    /// again, so that answers may be endless. Its CPU budget is renewed only once in each such span, so that an endless
    /// answer gets no more of a core. Returns whether its time is over.
    pub(super) fn go_on(&mut self, run: &mut Run, now_ns: u64, span_ns: u64) -> bool {
        if let Some(talk) = &mut self.talk {
            talk.awaits = false;
        }
        if self.progress == Progress::PartSent {
            self.progress = Progress::None;
            self.deadline_ns = now_ns.saturating_add(span_ns);
            if now_ns >= self.budget_due_ns {
                self.budget_due_ns = self.deadline_ns;
                run.renew_budget();
            }
        }
        now_ns > self.deadline_ns
    }

    /// It talks with its client from now on.
    pub(super) fn begin_talk(&mut self) {
        self.talk = Some(Box::default());
    }

    /// Whether it talks with a client, or has.
    pub(super) fn talks(&self) -> bool {
        self.talk.is_some()
    }

    /// Whether it talks with a client that is still connected.
    pub(super) fn has_client(&self) -> bool {
        self.talk.as_ref().is_some_and(|talk| !talk.is_over)
    }

    /// It waits for a message, however long that takes.
    pub(super) fn await_message(&mut self) {
        self.deadline_ns = u64::MAX;
        if let Some(talk) = &mut self.talk {
            talk.awaits = true;
        }
    }

    /// The connection has ended. The run is told when it next waits for a message.
    pub(super) fn end_talk(&mut self, end: Option<Delivery>) {
        if let Some(talk) = &mut self.talk {
            talk.is_over = true;
            talk.end = end.or(talk.end.take());
        }
    }

    /// How the connection ended, once.
    pub(super) fn take_talk_end(&mut self) -> Option<Delivery> {
        self.talk.as_mut()?.end.take()
    }
}

/// The event for which a run waits that is ready.
pub(super) const ITS_TURN: &str = "its turn";

/// The form in which a suspended run continues.
pub(super) enum Work {
    /// Its code.
    Run(Run),
    /// It was ended where it was; it gets this error when it continues.
    Ended(Box<ScriptError>),
}

/// A suspended run. Plain data.
pub(super) struct Underway {
    pub(crate) work: Work,
    pub(crate) life: Life,
    /// When it continues in any case.
    pub(crate) due_ns: u64,
    /// The delivery that it waited for, once it has arrived.
    pub(crate) delivery: Option<Delivery>,
    pub(crate) standing: ProcessState,
}

impl Underway {
    /// It is suspended for the first time.
    pub(super) fn new(run: Run, life: Life) -> Box<Self> {
        let (work, standing) = (Work::Run(run), ProcessState::Waits);
        Box::new(Self { work, life, due_ns: 0, delivery: None, standing })
    }

    /// Whether what it waits for has arrived, or its wait is over.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        let is_ended = matches!(self.work, Work::Ended(_));
        self.due_ns <= now_ns || self.delivery.is_some() || is_ended
    }

    /// The run continues: [`Life::go_on`]. Returns whether it is over instead.
    pub(super) fn go_on(&mut self, now_ns: u64, span_ns: u64) -> bool {
        match &mut self.work {
            Work::Run(run) => self.life.go_on(run, now_ns, span_ns),
            Work::Ended(_) => true,
        }
    }

    /// Whether it waits for a message of its client.
    pub(super) fn hears(&self) -> bool {
        self.delivery.is_none() && self.life.talk.as_ref().is_some_and(|talk| talk.awaits)
    }

    /// The calls that led to where it is, innermost first.
    pub(super) fn calls(&self) -> Vec<String> {
        let Work::Run(run) = &self.work else { return Vec::new() };
        calls_of(run)
    }

    /// CPU time that it, or its family, has used.
    pub(super) fn spent_ns(&self, now_ns: u64) -> u64 {
        match (self.life.shares_budget_with(), &self.work) {
            (Some(family), _) => family.spent_ns(now_ns),
            (None, Work::Run(run)) => run.spent_ns(),
            (None, Work::Ended(_)) => 0,
        }
    }
}

/// The calls that led to where a suspended run is, innermost first.
pub(super) fn calls_of(run: &Run) -> Vec<String> {
    run.calls().iter().map(ToString::to_string).collect()
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

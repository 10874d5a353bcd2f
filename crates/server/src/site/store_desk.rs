//! The store as the processes of one scheduler use it.
//!
//! Owns the scheduler's snapshot, which lasts a turn, and the orders that are on their way to the writer. Never knows a protocol.
//!
//! A process that has orders under way sends all that follows behind them, so that it reads what it wrote. Answers come after the commit, and the
//! next turn's snapshot has it: for one process the store never goes back in time.

use std::collections::VecDeque;

use ahash::HashMap;
use runtime::mailbox::Endpoint;
use runtime::service::{Command, ServiceContext};
use runtime::slots::ProcessId;
use store::{Executed, Failure, Order, Snapshot, Store};

use crate::limits::{STORE_MESSAGES, STORE_WAITING_SIZE};
use crate::message::{Message, Orders, Stored, ToStoreWriter};

/// What is known of the order of a process that has one at a time.
#[derive(Debug)]
pub(crate) enum Awaited {
    /// It has none.
    Nothing,
    /// It is not answered.
    Later,
    /// It is.
    Here(Result<Executed, Failure>),
}

/// The store and its writer.
#[derive(Debug)]
pub(crate) struct StoreDesk {
    store: Store,
    writer: Endpoint,
    snapshot: Option<Snapshot>,
    /// Orders that are not sent, with the processes that wait for them.
    processes: Vec<ProcessId>,
    orders: Vec<Order>,
    /// Bytes of those.
    size: usize,
    /// Bytes of each message that the writer has not answered.
    sent: VecDeque<usize>,
    /// Processes with orders under way, and what became of those that are answered.
    answers: HashMap<ProcessId, VecDeque<Result<Executed, Failure>>>,
    /// Processes that wait until there is room for an order.
    waiting: Vec<ProcessId>,
    /// Processes that go on in the next turn.
    going_on: Vec<ProcessId>,
}

impl StoreDesk {
    pub(crate) fn new(store: Store, writer: Endpoint) -> Self {
        Self {
            store,
            writer,
            snapshot: None,
            processes: Vec::new(),
            orders: Vec::new(),
            size: 0,
            sent: VecDeque::new(),
            answers: HashMap::default(),
            waiting: Vec::new(),
            going_on: Vec::new(),
        }
    }

    /// The store itself.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The store as it is in this turn.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn snapshot(&mut self) -> Result<&Snapshot, Failure> {
        match &mut self.snapshot {
            Some(snapshot) => Ok(snapshot),
            none => Ok(none.insert(self.store.snapshot()?)),
        }
    }

    /// Whether there is room for an order. Where there is none the process is resumed when there is.
    pub(crate) fn has_room(&mut self, process: ProcessId) -> bool {
        let has_room = self.size + self.sent.iter().sum::<usize>() < STORE_WAITING_SIZE;
        if !has_room {
            self.waiting.push(process);
        }
        has_room
    }

    /// Sends an order to the writer at the end of the turn. The process is run when it is answered.
    pub(crate) fn order(&mut self, process: ProcessId, order: Order) {
        self.size += order.size();
        self.processes.push(process);
        self.orders.push(order);
        self.answers.entry(process).or_default();
    }

    /// The answers that have come for a process, in the order of its orders.
    pub(crate) fn take(&mut self, process: ProcessId) -> VecDeque<Result<Executed, Failure>> {
        self.answers.get_mut(&process).map(std::mem::take).unwrap_or_default()
    }

    /// What became of the order of a process that has one at a time.
    pub(crate) fn awaited(&mut self, process: ProcessId) -> Awaited {
        match self.answers.get_mut(&process) {
            None => Awaited::Nothing,
            Some(answers) => answers.pop_front().map_or(Awaited::Later, Awaited::Here),
        }
    }

    /// A process has no order under way, or has ended: what is still to come for it is dropped.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.answers.remove(&process);
    }

    /// Has a process resumed in the next turn.
    pub(crate) fn go_on(&mut self, process: ProcessId) {
        self.going_on.push(process);
    }

    /// The writer has answered a message.
    pub(crate) fn on_stored(
        &mut self,
        stored: Vec<Stored>,
        context: &mut ServiceContext<'_, Message>,
    ) {
        self.sent.pop_front();
        // A process that ran after the end of the last turn may have begun one that has not what is answered now.
        self.snapshot = None;
        let mut last = None;
        for (process, executed) in stored {
            let Some(answers) = self.answers.get_mut(&process) else { continue };
            answers.push_back(executed);
            if last != Some(process) {
                context.command(Command::Run(process));
            }
            last = Some(process);
        }
        for process in self.waiting.drain(..) {
            context.command(Command::Resume(process));
        }
    }

    /// The turn ends: the snapshot with it, so that the writer may use the pages that it saw again, and orders leave.
    pub(crate) fn end_turn(&mut self, context: &mut ServiceContext<'_, Message>) {
        self.snapshot = None;
        if !self.going_on.is_empty() {
            context.wake_after_ms(0);
            for process in self.going_on.drain(..) {
                context.command(Command::Resume(process));
            }
        }
        // While the writer has enough to do, orders of several turns leave together: they are one commit in any case.
        if self.orders.is_empty() || self.sent.len() >= STORE_MESSAGES {
            return;
        }
        let orders = Orders {
            now_ms: context.now.unix_ms(),
            processes: std::mem::take(&mut self.processes),
            orders: std::mem::take(&mut self.orders),
        };
        let message = ToStoreWriter::Orders(Box::new(orders));
        match context.mail.send_part(self.writer, message) {
            Ok(()) => self.sent.push_back(std::mem::take(&mut self.size)),
            // With so few messages under way there is room. If not, they go in the next turn.
            Err(ToStoreWriter::Orders(back)) => {
                (self.processes, self.orders) = (back.processes, back.orders);
                context.wake_after_ms(1);
            }
            Err(ToStoreWriter::Stop) => {}
        }
    }
}

//! The store as the processes of one scheduler use it.
//!
//! Owns the scheduler's snapshot of one turn, and the orders on their way to the writer. Never knows a protocol.
//!
//! A process with pending orders sends all its later requests after them, so it reads its own
//! writes. Answers arrive after the commit, and the snapshot of the next turn includes it, so for
//! one process the store never goes back in time.

use std::cell::Ref;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use ahash::HashMap;
use channels::Rights;
use runtime::mailbox::Endpoint;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use runtime::trace::{self, Actor, StepAction};
use store::{Database, Executed, Order, Snapshot, Store, StoreFailure, TurnStore};

use crate::access::{AccessNeed, DatabaseRequirements, NoAccess};
use crate::limits::{ADMITTED, LENT_LOOK_MS, MESSAGES, WAITING_SIZE, WATCH_REST_MS};
use crate::list_turns::ListTurns;
use crate::message::{OrderedBy, StoreOrders, Stored, ToStoreWriter};
use crate::stats::StoreStats;

// The steps of an order in a trace.
const ORDER: StepAction = StepAction::between(Actor::Scheduler, Actor::Store, "order").begins();
const STORED: StepAction = StepAction::between(Actor::Store, Actor::Scheduler, "done").ends();

/// The state of a process's order, for a process that has one order at a time.
#[derive(Debug)]
pub enum Awaited {
    /// There is no order.
    Nothing,
    /// The order is not answered yet.
    Later,
    /// The order is answered.
    Here(Result<Executed, StoreFailure>),
}

/// Whether the writer was asked to report the next commit, and when it may be asked again.
#[derive(Debug, Default)]
struct Notice {
    is_awaited: bool,
    next_ms: u64,
}

/// A connection, or an order of a page, that waits for room.
#[derive(Debug)]
enum InLine {
    /// A connection; it sends its order when it is resumed.
    Process(ProcessId),
    /// An order of a page, and its cost in bytes.
    Page(u64, Box<Order>, usize),
}

/// The store of a scheduler, and its orders to the writer.
#[derive(Debug)]
pub struct StoreClient {
    store: Rc<TurnStore>,
    writer: Endpoint,
    /// Orders that are not sent yet, and the processes that wait for them.
    ordered_by: Vec<OrderedBy>,
    orders: Vec<Order>,
    /// The cost of those orders in bytes.
    size: usize,
    /// The cost of each unanswered message in bytes.
    sent: VecDeque<usize>,
    /// Processes with unanswered orders, and the answers so far.
    answers: HashMap<ProcessId, VecDeque<Result<Executed, StoreFailure>>>,
    /// Answers for pages.
    for_pages: Vec<(u64, Result<Executed, StoreFailure>)>,
    /// The queue of connections and page orders that wait for room.
    waiting: VecDeque<InLine>,
    /// The cost in bytes of the page orders in that queue.
    waiting_bytes: usize,
    /// The connections at the head of the queue, which may send now.
    admitted: Vec<ProcessId>,
    lists: ListTurns,
    stats: StoreStats,
    /// Whether the writer was asked to report the next commit.
    notice: Notice,
    /// The rules of all databases, by number.
    rules: Arc<[DatabaseRequirements]>,
}

impl StoreClient {
    /// The store of this scheduler, whose orders go to this writer.
    pub fn new(store: Rc<TurnStore>, writer: Endpoint, rules: Arc<[DatabaseRequirements]>) -> Self {
        Self {
            store,
            writer,
            ordered_by: Vec::new(),
            orders: Vec::new(),
            size: 0,
            sent: VecDeque::new(),
            answers: HashMap::default(),
            for_pages: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            admitted: Vec::new(),
            lists: ListTurns::default(),
            stats: StoreStats::default(),
            notice: Notice::default(),
            rules,
        }
    }

    /// The counters. Protocols add what they keep and hold.
    pub fn stats(&self) -> StoreStats {
        let (under_way, lent) = (self.under_way() as u64, self.store.lent() as u64);
        StoreStats { under_way, lent, ..self.stats }
    }

    /// Whether a client with these rights has this access.
    ///
    /// # Errors
    /// Why it has not.
    pub fn check_access(
        &self,
        need: AccessNeed,
        database: Database,
        rights: &Rights,
    ) -> Result<(), NoAccess> {
        let check = |number: usize| {
            let rules = self.rules.get(number).copied().unwrap_or_default();
            let name = || self.store().databases().get(number).map_or("", String::as_str);
            rules.check(need, name, rights)
        };
        match need {
            AccessNeed::Read | AccessNeed::Write => check(usize::from(database.0)),
            AccessNeed::WriteAll => (0..self.rules.len()).try_for_each(check),
        }
    }

    /// The databases have these rules from now on.
    pub fn set_rules(&mut self, rules: Arc<[DatabaseRequirements]>) {
        self.rules = rules;
    }

    /// Whether a process may answer its list of keys in this turn; otherwise it is resumed when its turn comes.
    pub fn may_list(&mut self, process: ProcessId) -> bool {
        self.lists.may(process)
    }

    /// The store itself.
    pub fn store(&self) -> &Store {
        self.store.store()
    }

    /// The store with the snapshot of the turn, which the whole scheduler shares.
    pub fn turn_store(&self) -> &Rc<TurnStore> {
        &self.store
    }

    /// The snapshot of the current turn.
    ///
    /// # Errors
    /// If no snapshot can be taken.
    pub fn snapshot(&self) -> Result<Ref<'_, Snapshot>, StoreFailure> {
        self.store.snapshot()
    }

    /// Whether a process may send an order now. If not, it joins the queue, and is resumed at its turn.
    pub fn has_room(&mut self, process: ProcessId) -> bool {
        if let Some(place) = self.admitted.iter().position(|admitted| *admitted == process) {
            self.admitted.swap_remove(place);
            return true;
        }
        // A process that arrives later does not overtake the queue.
        let has_room = self.waiting.is_empty() && self.under_way() < WAITING_SIZE;
        let is_same = |other: &InLine| matches!(other, InLine::Process(known) if *known == process);
        if !has_room && !self.waiting.iter().any(is_same) {
            self.stats.waited += 1;
            self.waiting.push_back(InLine::Process(process));
        }
        has_room
    }

    /// The cost in bytes of the orders that are sent or ready to be sent.
    fn under_way(&self) -> usize {
        self.size + self.sent.iter().sum::<usize>()
    }

    /// Resumes the head of the queue, if there is room.
    fn admit(&mut self) {
        if self.under_way() < WAITING_SIZE {
            for _ in 0..ADMITTED {
                match self.waiting.pop_front() {
                    Some(InLine::Process(process)) => self.admitted.push(process),
                    Some(InLine::Page(number, order, size)) => {
                        self.waiting_bytes -= size;
                        self.add(OrderedBy::Page(number), *order, size);
                    }
                    None => break,
                }
            }
        }
    }

    /// The cost of an order in bytes while it waits: its own memory, and the stored values that it copies, at their
    /// current size.
    pub fn cost_of(&self, order: &Order) -> usize {
        let work = self.snapshot().and_then(|snapshot| snapshot.work(order));
        order.size() + work.unwrap_or(0)
    }

    /// Sends an order of this cost to the writer at the end of the turn. The process is resumed when it is answered.
    pub fn order(&mut self, process: ProcessId, order: Order, size: usize) {
        if trace::is_noting() {
            trace::step(process, ORDER, format_args!(""));
        }
        self.add(OrderedBy::Process(process), order, size);
        self.answers.entry(process).or_default();
    }

    fn add(&mut self, ordered_by: OrderedBy, order: Order, size: usize) {
        self.size += size;
        self.stats.orders += 1;
        self.ordered_by.push(ordered_by);
        self.orders.push(order);
    }

    /// Sends an order of a page, in the same queue as those of connections. [`take_for_pages`](Self::take_for_pages)
    /// returns its answer.
    pub fn order_of_page(&mut self, number: u64, order: Order) {
        self.store.note_uses(|| order.keys());
        let size = self.cost_of(&order);
        if self.waiting.is_empty() && self.under_way() < WAITING_SIZE {
            self.add(OrderedBy::Page(number), order, size);
        } else if self.waiting_bytes > WAITING_SIZE {
            self.for_pages.push((number, Err(StoreFailure::TooMuch)));
        } else {
            self.stats.waited += 1;
            self.waiting_bytes += size;
            self.waiting.push_back(InLine::Page(number, Box::new(order), size));
        }
    }

    /// Whether there are answers for pages.
    pub fn has_for_pages(&self) -> bool {
        !self.for_pages.is_empty()
    }

    /// Takes the answers for pages.
    pub fn take_for_pages(&mut self) -> Vec<(u64, Result<Executed, StoreFailure>)> {
        std::mem::take(&mut self.for_pages)
    }

    /// Takes the answers for a process, in the order of its orders.
    pub fn take(&mut self, process: ProcessId) -> VecDeque<Result<Executed, StoreFailure>> {
        self.answers.get_mut(&process).map(std::mem::take).unwrap_or_default()
    }

    /// Takes the result for a process that has one order at a time.
    pub fn awaited(&mut self, process: ProcessId) -> Awaited {
        match self.answers.get_mut(&process) {
            None => Awaited::Nothing,
            Some(answers) => answers.pop_front().map_or(Awaited::Later, Awaited::Here),
        }
    }

    /// Called when all orders of a process are answered and the answers are taken.
    pub fn settle(&mut self, process: ProcessId) {
        self.answers.remove(&process);
    }

    /// Called when a process or a request ends: drops its answers.
    pub fn forget(&mut self, process: ProcessId) {
        self.answers.remove(&process);
    }

    /// Handles an answered message.
    pub fn on_stored<M>(&mut self, stored: Vec<Stored>, context: &mut ServiceContext<'_, M>) {
        self.sent.pop_front();
        self.stats.messages += 1;
        // After the end of the last turn a process may have taken a snapshot that lacks this commit.
        self.store.end_snapshot();
        let mut last = None;
        for (ordered_by, executed) in stored {
            self.stats.failed += u64::from(executed.is_err());
            let process = match ordered_by {
                OrderedBy::Process(process) => process,
                OrderedBy::Page(number) => {
                    self.for_pages.push((number, executed));
                    continue;
                }
                // No scheduler sends one.
                OrderedBy::State(_) => continue,
            };
            if trace::is_noting() {
                match &executed {
                    Ok(_) => trace::step(process, STORED, format_args!("")),
                    Err(failure) => trace::step(process, STORED, format_args!("failed: {failure}")),
                }
            }
            let Some(answers) = self.answers.get_mut(&process) else { continue };
            answers.push_back(executed);
            if last != Some(process) {
                context.command(SchedulerCommand::Run(process));
            }
            last = Some(process);
        }
        self.admit();
        for process in &self.admitted {
            context.command(SchedulerCommand::Resume(*process));
        }
    }

    /// Ends the turn: drops the snapshot, so that the writer can reuse pages, and sends orders.
    pub fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>)
    where
        M: From<ToStoreWriter> + TryInto<ToStoreWriter> + Send,
    {
        let now_ms = context.now.monotonic_ms();
        self.store.end_turn(now_ms);
        let mut going_on = Vec::from_iter(self.lists.end_turn());
        if self.store.lent() > 0 {
            context.wake_after_ms(LENT_LOOK_MS);
        }
        // A process that was admitted but has ended, or has nothing to order, leaves its place to the next.
        self.admitted.clear();
        if self.sent.is_empty() && self.orders.is_empty() && !self.waiting.is_empty() {
            self.admit();
            going_on.extend_from_slice(&self.admitted);
        }
        for process in going_on {
            context.wake_after_ms(0);
            context.command(SchedulerCommand::Resume(process));
        }
        // While the writer is busy, orders of several turns are sent together: they share one commit anyway.
        if self.orders.is_empty() || self.sent.len() >= MESSAGES {
            return;
        }
        let orders = StoreOrders {
            now_ms: context.now.unix_ms(),
            waiting: std::mem::take(&mut self.ordered_by),
            orders: std::mem::take(&mut self.orders),
        };
        let message = ToStoreWriter::Orders(Box::new(orders));
        match context.mail.send_part(self.writer, message) {
            Ok(()) => self.sent.push_back(std::mem::take(&mut self.size)),
            // With so few unanswered messages the mailbox has room. If not, the orders are sent in the next turn.
            Err(ToStoreWriter::Orders(back)) => {
                (self.ordered_by, self.orders) = (back.waiting, back.orders);
                context.wake_after_ms(1);
            }
            Err(_) => {}
        }
    }

    /// Handles a reported commit.
    pub fn note_committed(&mut self, now_ms: u64) {
        self.notice = Notice { is_awaited: false, next_ms: now_ms + WATCH_REST_MS };
        // The next snapshot includes the commit.
        self.store.end_snapshot();
    }

    /// Asks the writer to report the next commit after this one, for pages that wait for it.
    pub fn ask_for_commit<M>(&mut self, known: u64, context: &mut ServiceContext<'_, M>)
    where
        M: From<ToStoreWriter> + TryInto<ToStoreWriter> + Send,
    {
        if self.notice.is_awaited {
            return;
        }
        let left_ms = self.notice.next_ms.saturating_sub(context.now.monotonic_ms());
        if left_ms > 0 {
            context.wake_after_ms(left_ms);
            return;
        }
        match context.mail.send_part(self.writer, ToStoreWriter::TellCommit(known)) {
            Ok(()) => self.notice.is_awaited = true,
            Err(_) => context.wake_after_ms(1),
        }
    }
}

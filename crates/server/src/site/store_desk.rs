//! The store as the processes of one scheduler use it.
//!
//! Owns the scheduler's snapshot, which lasts one turn, and the orders on their way to the writer.
//! Never knows a protocol.
//!
//! A process with pending orders sends all its later requests after them, so it reads its own
//! writes. Answers arrive after the commit, and the snapshot of the next turn includes it, so for
//! one process the store never goes back in time.

mod commits;

use std::cell::Ref;
use std::collections::VecDeque;
use std::rc::Rc;

use ahash::HashMap;
use pages::OrderNumber;
use runtime::mailbox::Endpoint;
use runtime::service::{Command, ServiceContext};
use runtime::slots::ProcessId;
use runtime::trace;
use store::{Executed, Failure, Order, Snapshot, Store, TurnStore};

use super::gathering::Gatherings;
use super::held_replies::HeldReplies;
use super::http_lists::HttpLists;
use super::scan_places::ScanPlaces;
use super::traced;
use crate::limits::{
    STORE_ADMITTED, STORE_KEPT_SIZE, STORE_LENT_LOOK_MS, STORE_MESSAGES, STORE_WAITING_SIZE,
};
use crate::message::{Message, OrderedBy, Orders, Stored, ToStoreWriter};
use crate::store_stats::StoreStats;

/// The state of a process's order, for a process that has one order at a time.
#[derive(Debug)]
pub(crate) enum Awaited {
    /// There is no order.
    Nothing,
    /// The order is not answered yet.
    Later,
    /// The order is answered.
    Here(Result<Executed, Failure>),
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
    Page(OrderNumber, Box<Order>, usize),
}

/// The store of a scheduler, and its orders to the writer.
#[derive(Debug)]
pub(crate) struct StoreDesk {
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
    answers: HashMap<ProcessId, VecDeque<Result<Executed, Failure>>>,
    /// Answers for pages.
    for_pages: Vec<(OrderNumber, Result<Executed, Failure>)>,
    /// The queue of connections and page orders that wait for room.
    waiting: VecDeque<InLine>,
    /// The cost in bytes of the page orders in that queue.
    waiting_bytes: usize,
    /// The connections at the head of the queue, which may send now.
    admitted: Vec<ProcessId>,
    /// Processes whose `KEYS` or search waits for that of another process.
    lists: Vec<ProcessId>,
    pub(crate) http_lists: HttpLists,
    /// Processes to resume in the next turn.
    going_on: Vec<ProcessId>,
    /// The process whose `KEYS` or search is running, and its list. There is one at a time, which bounds the memory.
    listing: Option<(ProcessId, Listing)>,
    stats: StoreStats,
    /// Whether the writer was asked to report the next commit.
    notice: Notice,
    /// Bytes that sessions keep: transactions between `MULTI` and `EXEC`, and watched keys.
    kept: usize,
    /// Where scans of Redis clients go on.
    pub(crate) scans: ScanPlaces,
    /// Large copied replies that clients have not received yet.
    pub(crate) held: HeldReplies,
    /// The reply of a Redis client that takes several turns.
    pub(crate) gatherings: Gatherings,
}

/// The list of a running `KEYS`, or the search for the key of a cursor.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The matching keys so far, encoded as a reply.
    pub(crate) keys: Vec<u8>,
    /// The number of matching keys.
    pub(crate) count: usize,
    /// The key at which it goes on in the next turn.
    pub(crate) from: Option<Vec<u8>>,
}

impl StoreDesk {
    pub(crate) fn new(store: Rc<TurnStore>, writer: Endpoint) -> Self {
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
            lists: Vec::new(),
            http_lists: HttpLists::default(),
            going_on: Vec::new(),
            listing: None,
            stats: StoreStats::default(),
            notice: Notice::default(),
            kept: 0,
            scans: ScanPlaces::default(),
            held: HeldReplies::default(),
            gatherings: Gatherings::default(),
        }
    }

    /// The counters.
    pub(crate) fn stats(&self) -> StoreStats {
        let (under_way, kept) = (self.under_way() as u64, self.kept as u64);
        let (held, lent) = (self.held.bytes() as u64, self.store.lent() as u64);
        StoreStats { under_way, kept, held, lent, ..self.stats }
    }

    /// The store itself.
    pub(crate) fn store(&self) -> &Store {
        self.store.store()
    }

    /// The store with the snapshot of the turn, which the whole scheduler shares.
    pub(crate) fn turn_store(&self) -> &Rc<TurnStore> {
        &self.store
    }

    /// The snapshot of the current turn.
    ///
    /// # Errors
    /// If no snapshot can be taken.
    pub(crate) fn snapshot(&self) -> Result<Ref<'_, Snapshot>, Failure> {
        self.store.snapshot()
    }

    /// Whether a process may send an order now. If not, it joins the queue, and is resumed at its turn.
    pub(crate) fn has_room(&mut self, process: ProcessId) -> bool {
        if let Some(place) = self.admitted.iter().position(|admitted| *admitted == process) {
            self.admitted.swap_remove(place);
            return true;
        }
        // A process that arrives later does not overtake the queue.
        let has_room = self.waiting.is_empty() && self.under_way() < STORE_WAITING_SIZE;
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
        if self.under_way() < STORE_WAITING_SIZE {
            for _ in 0..STORE_ADMITTED {
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

    /// The cost of an order in bytes while it waits: its own memory, and the stored values that it copies, at their current size.
    pub(crate) fn cost_of(&self, order: &Order) -> usize {
        let work = self.snapshot().and_then(|snapshot| snapshot.work(order));
        order.size() + work.unwrap_or(0)
    }

    /// Sends an order of this cost to the writer at the end of the turn. The process is resumed when it is answered.
    pub(crate) fn order(&mut self, process: ProcessId, order: Order, size: usize) {
        if trace::is_on() {
            traced::order(process);
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

    /// Sends an order of a page, in the same queue as those of connections. [`take_for_pages`](Self::take_for_pages) returns its answer.
    pub(crate) fn order_of_page(&mut self, number: OrderNumber, order: Order) {
        let size = self.cost_of(&order);
        if self.waiting.is_empty() && self.under_way() < STORE_WAITING_SIZE {
            self.add(OrderedBy::Page(number), order, size);
        } else if self.waiting_bytes > STORE_WAITING_SIZE {
            self.for_pages.push((number, Err(Failure::TooMuch)));
        } else {
            self.stats.waited += 1;
            self.waiting_bytes += size;
            self.waiting.push_back(InLine::Page(number, Box::new(order), size));
        }
    }

    /// Whether there are answers for pages.
    pub(crate) fn has_for_pages(&self) -> bool {
        !self.for_pages.is_empty()
    }

    /// Takes the answers for pages.
    pub(crate) fn take_for_pages(&mut self) -> Vec<(OrderNumber, Result<Executed, Failure>)> {
        std::mem::take(&mut self.for_pages)
    }

    /// Takes the answers for a process, in the order of its orders.
    pub(crate) fn take(&mut self, process: ProcessId) -> VecDeque<Result<Executed, Failure>> {
        self.answers.get_mut(&process).map(std::mem::take).unwrap_or_default()
    }

    /// Takes the result for a process that has one order at a time.
    pub(crate) fn awaited(&mut self, process: ProcessId) -> Awaited {
        match self.answers.get_mut(&process) {
            None => Awaited::Nothing,
            Some(answers) => answers.pop_front().map_or(Awaited::Later, Awaited::Here),
        }
    }

    /// Called when all orders of a process are answered and the answers are taken.
    pub(crate) fn settle(&mut self, process: ProcessId) {
        self.answers.remove(&process);
    }

    /// Called when a process or a request ends: drops its answers.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.answers.remove(&process);
        self.gatherings.end(process);
        if self.listing.as_ref().is_some_and(|(owner, _)| *owner == process) {
            self.end_listing();
        }
    }

    /// Takes the list of a process's `KEYS`, or its search, new or begun; `None` while another process has one. The process is resumed when it can start.
    pub(crate) fn take_listing(&mut self, process: ProcessId) -> Option<Listing> {
        if self.listing.as_ref().is_some_and(|(owner, _)| *owner != process) {
            self.lists.push(process);
            return None;
        }
        Some(self.listing.take().map_or_else(Listing::default, |(_, listing)| listing))
    }

    /// Keeps the list of a process until the next turn.
    pub(crate) fn keep_listing(&mut self, process: ProcessId, listing: Listing) {
        self.listing = Some((process, listing));
        self.going_on.push(process);
    }

    /// A `KEYS` or a search is done, or its process has ended: the next one may start.
    pub(crate) fn end_listing(&mut self) {
        self.listing = None;
        self.going_on.append(&mut self.lists);
    }

    /// A session keeps `after` bytes instead of `before`.
    pub(crate) fn keep(&mut self, before: usize, now: usize) {
        self.kept = self.kept.saturating_sub(before) + now;
    }

    /// Whether sessions may keep more bytes.
    pub(crate) fn may_keep(&self) -> bool {
        self.kept < STORE_KEPT_SIZE
    }

    /// Handles an answered message.
    pub(crate) fn on_stored(
        &mut self,
        stored: Vec<Stored>,
        context: &mut ServiceContext<'_, Message>,
    ) {
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
            if trace::is_on() {
                traced::stored(process, executed.as_ref().map(|_| ()));
            }
            let Some(answers) = self.answers.get_mut(&process) else { continue };
            answers.push_back(executed);
            if last != Some(process) {
                context.command(Command::Run(process));
            }
            last = Some(process);
        }
        self.admit();
        for process in &self.admitted {
            context.command(Command::Resume(*process));
        }
    }

    /// Ends the turn: drops the snapshot, so that the writer can reuse pages, and sends orders.
    pub(crate) fn end_turn(&mut self, context: &mut ServiceContext<'_, Message>) {
        self.store.end_turn(context.now.monotonic_ms());
        self.going_on.extend(self.http_lists.end_turn());
        self.going_on.extend(self.gatherings.take_called());
        if self.store.lent() > 0 {
            context.wake_after_ms(STORE_LENT_LOOK_MS);
        }
        // A process that was admitted but has ended, or has nothing to order, leaves its place to the next.
        self.admitted.clear();
        if self.sent.is_empty() && self.orders.is_empty() && !self.waiting.is_empty() {
            self.admit();
            self.going_on.extend_from_slice(&self.admitted);
        }
        if !self.going_on.is_empty() {
            context.wake_after_ms(0);
            for process in self.going_on.drain(..) {
                context.command(Command::Resume(process));
            }
        }
        // While the writer is busy, orders of several turns are sent together: they share one commit anyway.
        if self.orders.is_empty() || self.sent.len() >= STORE_MESSAGES {
            return;
        }
        let orders = Orders {
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
            Err(ToStoreWriter::Stop | ToStoreWriter::TellCommit(_)) => {}
        }
    }
}

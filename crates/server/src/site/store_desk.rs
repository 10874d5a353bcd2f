//! The store as the processes of one scheduler use it.
//!
//! Owns the scheduler's snapshot, which lasts one turn, and the orders on their way to the writer.
//! Never knows a protocol.
//!
//! A process with pending orders sends all its later requests after them, so it reads its own
//! writes. Answers arrive after the commit, and the snapshot of the next turn includes it, so for
//! one process the store never goes back in time.

use std::cell::Ref;
use std::collections::VecDeque;
use std::rc::Rc;

use ahash::HashMap;
use pages::OrderNumber;
use runtime::mailbox::Endpoint;
use runtime::service::{Command, ServiceContext};
use runtime::slots::ProcessId;
use store::{Executed, Failure, Order, Snapshot, Store, TurnStore};

use super::held_replies::HeldReplies;
use crate::limits::{
    STORE_ADMITTED, STORE_KEPT_SIZE, STORE_LENT_LOOK_MS, STORE_MESSAGES, STORE_WAITING_SIZE,
    STORE_WATCH_REST_MS,
};
use crate::message::{Message, OrderedBy, Orders, Stored, ToStoreWriter};
use crate::store_stats::StoreStats;

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

/// Whether the writer is to tell of a commit, and when it may be asked again.
#[derive(Debug, Default)]
struct Notice {
    is_awaited: bool,
    next_ms: u64,
}

/// A connection, or the order of a page, that waits for room.
#[derive(Debug)]
enum InLine {
    /// A connection, which still has its order.
    Process(ProcessId),
    /// The order of a page, and its size.
    Page(OrderNumber, Box<Order>, usize),
}

/// The store and its writer.
#[derive(Debug)]
pub(crate) struct StoreDesk {
    store: Rc<TurnStore>,
    writer: Endpoint,
    /// Orders that are not sent, with those who wait for them.
    ordered_by: Vec<OrderedBy>,
    orders: Vec<Order>,
    /// Bytes of those.
    size: usize,
    /// Bytes of each message that the writer has not answered.
    sent: VecDeque<usize>,
    /// Processes with orders under way, and what became of those that are answered.
    answers: HashMap<ProcessId, VecDeque<Result<Executed, Failure>>>,
    /// Answers for pages.
    for_pages: Vec<(OrderNumber, Result<Executed, Failure>)>,
    /// Those who wait until there is room for an order, in their line.
    waiting: VecDeque<InLine>,
    /// Bytes of the orders of pages in that line.
    waiting_bytes: usize,
    /// The processes whose turn it is.
    admitted: Vec<ProcessId>,
    /// Processes that wait with their list of keys for that of another.
    lists: Vec<ProcessId>,
    /// Processes that go on in the next turn.
    going_on: Vec<ProcessId>,
    /// The process whose list of keys is being made, with the list. Others wait, so that lists take the memory of one.
    listing: Option<(ProcessId, Listing)>,
    stats: StoreStats,
    /// What the writer was asked for: to tell of a commit.
    notice: Notice,
    /// Bytes that sessions keep: transactions that are put together, and keys that are watched.
    kept: usize,
    /// Large replies that were copied and that their clients have not taken.
    pub(crate) held: HeldReplies,
}

/// A list of keys that is being made.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The keys that fit, as they are sent.
    pub(crate) keys: Vec<u8>,
    /// How many.
    pub(crate) count: usize,
    /// Where it goes on.
    pub(crate) after: Option<Box<[u8]>>,
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
            going_on: Vec::new(),
            listing: None,
            stats: StoreStats::default(),
            notice: Notice::default(),
            kept: 0,
            held: HeldReplies::default(),
        }
    }

    /// What it has counted.
    pub(crate) fn stats(&self) -> StoreStats {
        let (under_way, kept) = (self.under_way() as u64, self.kept as u64);
        let (held, lent) = (self.held.bytes() as u64, self.store.lent() as u64);
        StoreStats { under_way, kept, held, lent, ..self.stats }
    }

    /// The store itself.
    pub(crate) fn store(&self) -> &Store {
        self.store.store()
    }

    /// The store with the snapshot that all of this scheduler share.
    pub(crate) fn turn_store(&self) -> &Rc<TurnStore> {
        &self.store
    }

    /// The store as it is in this turn.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn snapshot(&self) -> Result<Ref<'_, Snapshot>, Failure> {
        self.store.snapshot()
    }

    /// Whether there is room for an order of a process. Where there is none it waits in line, and is resumed when it is its turn.
    pub(crate) fn has_room(&mut self, process: ProcessId) -> bool {
        if let Some(place) = self.admitted.iter().position(|admitted| *admitted == process) {
            self.admitted.swap_remove(place);
            return true;
        }
        // A process that comes later does not go before those that wait.
        let has_room = self.waiting.is_empty() && self.under_way() < STORE_WAITING_SIZE;
        let is_same = |other: &InLine| matches!(other, InLine::Process(known) if *known == process);
        if !has_room && !self.waiting.iter().any(is_same) {
            self.stats.waited += 1;
            self.waiting.push_back(InLine::Process(process));
        }
        has_room
    }

    /// Bytes of the orders that the writer has not answered.
    fn under_way(&self) -> usize {
        self.size + self.sent.iter().sum::<usize>()
    }

    /// The next ones in line go on, if there is room.
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

    /// Bytes that an order costs while it waits: its own, and those of the values that it copies as they are now.
    pub(crate) fn cost_of(&self, order: &Order) -> usize {
        let work = self.snapshot().and_then(|snapshot| snapshot.work(order));
        order.size() + work.unwrap_or(0)
    }

    /// Sends an order, which costs so many bytes, to the writer at the end of the turn. The process is run when it is answered.
    pub(crate) fn order(&mut self, process: ProcessId, order: Order, size: usize) {
        self.add(OrderedBy::Process(process), order, size);
        self.answers.entry(process).or_default();
    }

    fn add(&mut self, ordered_by: OrderedBy, order: Order, size: usize) {
        self.size += size;
        self.stats.orders += 1;
        self.ordered_by.push(ordered_by);
        self.orders.push(order);
    }

    /// The order of a page, which is told of it by [`take_for_pages`](Self::take_for_pages). It stands in the same line as those of connections.
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

    /// Whether an order of a page is answered of which the page is not told.
    pub(crate) fn has_for_pages(&self) -> bool {
        !self.for_pages.is_empty()
    }

    /// What became of orders of pages, since the last time.
    pub(crate) fn take_for_pages(&mut self) -> Vec<(OrderNumber, Result<Executed, Failure>)> {
        std::mem::take(&mut self.for_pages)
    }

    /// The answers that have come for a process, in the order of its orders.
    pub(crate) fn take(&mut self, process: ProcessId) -> VecDeque<Result<Executed, Failure>> {
        self.answers.get_mut(&process).map(std::mem::take).unwrap_or_default()
    }

    /// The outcome of the order of a process that has one at a time.
    pub(crate) fn awaited(&mut self, process: ProcessId) -> Awaited {
        match self.answers.get_mut(&process) {
            None => Awaited::Nothing,
            Some(answers) => answers.pop_front().map_or(Awaited::Later, Awaited::Here),
        }
    }

    /// All orders of a process are answered, and the answers taken.
    pub(crate) fn settle(&mut self, process: ProcessId) {
        self.answers.remove(&process);
    }

    /// A process or a request has ended: what is still to come for it is dropped.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.answers.remove(&process);
        if self.listing.as_ref().is_some_and(|(owner, _)| *owner == process) {
            self.end_listing();
        }
    }

    /// The list of a process, begun or not; `None` while that of another is being made. The process is resumed when it can begin.
    pub(crate) fn take_listing(&mut self, process: ProcessId) -> Option<Listing> {
        match self.listing.take() {
            None => Some(Listing::default()),
            Some((owner, listing)) if owner == process => Some(listing),
            other => {
                self.listing = other;
                self.lists.push(process);
                None
            }
        }
    }

    /// Keeps the list of a process until the next turn, in which it goes on.
    pub(crate) fn keep_listing(&mut self, process: ProcessId, listing: Listing) {
        self.listing = Some((process, listing));
        self.going_on.push(process);
    }

    /// A list is done, or its process has ended: another one may begin.
    pub(crate) fn end_listing(&mut self) {
        self.listing = None;
        self.going_on.append(&mut self.lists);
    }

    /// A session keeps so many bytes where it kept others.
    pub(crate) fn keep(&mut self, before: usize, now: usize) {
        self.kept = self.kept.saturating_sub(before) + now;
    }

    /// Whether sessions may keep more.
    pub(crate) fn may_keep(&self) -> bool {
        self.kept < STORE_KEPT_SIZE
    }

    /// The writer has answered a message.
    pub(crate) fn on_stored(
        &mut self,
        stored: Vec<Stored>,
        context: &mut ServiceContext<'_, Message>,
    ) {
        self.sent.pop_front();
        self.stats.messages += 1;
        // A process that ran after the end of the last turn may have begun one that has not what is answered now.
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
            };
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

    /// The writer has told of a commit.
    pub(crate) fn note_committed(&mut self, now_ms: u64) {
        self.notice = Notice { is_awaited: false, next_ms: now_ms + STORE_WATCH_REST_MS };
        // What is looked at now is not older than that.
        self.store.end_snapshot();
    }

    /// Pages wait for a commit behind this one.
    pub(crate) fn ask_for_commit(&mut self, known: u64, context: &mut ServiceContext<'_, Message>) {
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

    /// The turn ends: the snapshot with it, so that the writer may use the pages that it saw again, and orders leave.
    pub(crate) fn end_turn(&mut self, context: &mut ServiceContext<'_, Message>) {
        self.store.end_turn(context.now.monotonic_ms());
        if self.store.lent() > 0 {
            context.wake_after_ms(STORE_LENT_LOOK_MS);
        }
        // One that was admitted and has ended, or has nothing to order any more, leaves its place to the next.
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
        // While the writer has enough to do, orders of several turns leave together: they are one commit in any case.
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
            // With so few messages under way there is room. If not, they go in the next turn.
            Err(ToStoreWriter::Orders(back)) => {
                (self.ordered_by, self.orders) = (back.waiting, back.orders);
                context.wake_after_ms(1);
            }
            Err(ToStoreWriter::Stop | ToStoreWriter::TellCommit(_)) => {}
        }
    }
}

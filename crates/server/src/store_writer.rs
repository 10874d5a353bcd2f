//! The writer of the store: the only thread that changes it.
//!
//! Owns when it commits: all waiting orders of all schedulers form one transaction (group commit).
//! Only this thread waits for the disk.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use config::{StoreSettings, StoreSync};
use runtime::diagnostic::{self, Level};
use runtime::helper::{HelperHandler, Onward, send_patiently};
use runtime::mailbox::Endpoint;
use store::limits::EXPIRED_LOOK;
use store::{
    Executed, MadeCheckpoint, Order, ReplicationMoment, ReplicationNews, Store, StoreFailure,
    Writer,
};

use crate::events::{Kind, Trouble};
use crate::limits::{
    STORE_CHECKPOINT_LOOK, STORE_COMMIT_SIZE, STORE_SLOW_CHECKPOINT, STORE_SLOW_COMMIT,
};
use crate::message::{Mailbox, Message, StoreOrders, ToControl, ToScheduler, ToStoreWriter};
use crate::store_node::StoreNode;
use crate::store_readers::StoreReaders;
use crate::store_writer_stats::{StoreWriterStats, Telling};

/// The thread that writes the store.
pub(crate) struct StoreWriter {
    store: Store,
    writer: Writer,
    node: Option<StoreNode>,
    /// When the thread began: the node counts milliseconds from then.
    began: Instant,
    /// The snapshots of other programs.
    readers: StoreReaders,
    /// The time between checkpoints, if commits do not wait for the disk.
    interval: Option<Duration>,
    /// Messages with orders that are not executed yet, and the schedulers that sent them.
    waiting: Vec<(Endpoint, Box<StoreOrders>)>,
    waiting_bytes: usize,
    /// When to search for expired keys next.
    next_look: Instant,
    /// When to start the next checkpoint; `None` if there is nothing to make durable.
    next_sync: Option<Instant>,
    /// The thread that waits for the running checkpoint.
    under_way: Option<(Instant, JoinHandle<Result<MadeCheckpoint, StoreFailure>>)>,
    /// Whether the last attempt failed: a repeated failure is logged once.
    fails: bool,
    /// Schedulers that want to hear of the next commit, each with the last one that it knows.
    curious: Vec<(Endpoint, u64)>,
    /// The control scheduler.
    control: Endpoint,
    /// Slow work since it was last told.
    slow: Vec<Trouble>,
    stats: StoreWriterStats,
    telling: Telling,
}

#[expect(clippy::disallowed_methods, reason = "a helper thread has a clock of its own")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a helper thread has a clock of its own")]
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, runtime::clock::milliseconds)
}

fn panicked(orders: usize) -> Vec<Result<Executed, StoreFailure>> {
    vec![Err(StoreFailure::Storage("its writer panicked".to_owned())); orders]
}

impl StoreWriter {
    /// The writer of a store, with its node if the store has a role.
    pub(crate) fn new(
        (store, writer, node): (&Store, Writer, Option<StoreNode>),
        settings: &StoreSettings,
        control: Endpoint,
    ) -> Self {
        Self {
            store: store.clone(),
            writer,
            node,
            began: now(),
            readers: StoreReaders::default(),
            interval: matches!(settings.sync, StoreSync::Interval | StoreSync::Log)
                .then_some(settings.sync_interval),
            waiting: Vec::new(),
            waiting_bytes: 0,
            next_look: now(),
            next_sync: None,
            under_way: None,
            fails: false,
            curious: Vec::new(),
            control,
            slow: Vec::new(),
            stats: StoreWriterStats::default(),
            telling: Telling::default(),
        }
    }

    /// Executes all waiting orders and sends the results.
    fn execute(&mut self, mailbox: &mut Mailbox) {
        if self.waiting.is_empty() {
            return;
        }
        self.waiting_bytes = 0;
        if self.node.is_some() {
            self.pass_on();
            self.turn_node(mailbox);
            return;
        }
        let now_ms = self.waiting.iter().map(|(_, orders)| orders.now_ms).max().unwrap_or(0);
        let mut all: Vec<Order> = Vec::new();
        let mut receivers = Vec::with_capacity(self.waiting.len());
        for (from, orders) in self.waiting.drain(..) {
            let StoreOrders { waiting, orders, .. } = *orders;
            all.extend(orders);
            receivers.push((from, waiting));
        }
        let began = now();
        // A panic is a defect of the store. The waiting processes get an error, and the transaction is not committed.
        let executed = catch_unwind(AssertUnwindSafe(|| self.writer.execute(&all, now_ms)));
        let mut executed = executed.unwrap_or_else(|_| panicked(all.len())).into_iter();
        self.note_commit(all.len(), began.elapsed());
        self.plan_sync();
        for (from, waiting) in receivers {
            let stored = waiting.into_iter().zip(executed.by_ref()).collect();
            // A scheduler has at most two unanswered messages, so its mailbox has room.
            let _nobody_turns =
                send_patiently(mailbox, from, ToScheduler::Stored(Box::new(stored)).into());
        }
    }

    fn moment(&self) -> ReplicationMoment {
        let ms = runtime::clock::milliseconds(self.began.elapsed());
        ReplicationMoment { ms, unix_ms: unix_ms() }
    }

    /// Gives all waiting orders to the node.
    fn pass_on(&mut self) {
        let moment = self.moment();
        if let Some(node) = &mut self.node {
            for (from, orders) in self.waiting.drain(..) {
                node.order(from, *orders, moment);
            }
        }
    }

    /// Lets the node do what is due. Returns the time until something else is due.
    fn turn_node(&mut self, mailbox: &mut Mailbox) -> Option<Duration> {
        let moment = self.moment();
        let node = self.node.as_mut()?;
        let (before, began) = (self.writer.last_commit(), now());
        let turned = node.turn(&mut self.writer, mailbox, moment);
        if let Some(promoted) = node.take_promoted() {
            let _nobody_looks = mailbox.send(self.control, ToControl::Promoted(promoted).into());
        }
        self.slow.extend(node.take_troubles());
        node.note(&mut self.writer, &mut self.stats);
        if self.writer.last_commit() != before {
            self.note_commit(1, began.elapsed());
            self.plan_sync();
        }
        let rest = turned.as_ref().map_or(1_000, |rest| *rest);
        if turned.is_err() {
            self.tell(turned.map(drop));
        }
        Some(Duration::from_millis(rest))
    }

    fn hear(&mut self, news: ReplicationNews) {
        let moment = self.moment();
        if let Some(node) = &mut self.node {
            let heard = node.hear(&mut self.writer, news, moment);
            if heard.is_err() {
                self.tell(heard);
            }
        }
    }

    /// Begins to make the store the leader. The control scheduler hears of the end of it.
    fn promote(&mut self, mailbox: &mut Mailbox) {
        let moment = self.moment();
        if let Some(node) = &mut self.node {
            node.promote(&mut self.writer, moment);
        } else {
            let refused = Err("the store has no `role` in [store]".to_owned());
            let _nobody_looks = mailbox.send(self.control, ToControl::Promoted(refused).into());
        }
    }

    /// Schedules a checkpoint, if there are commits to make durable.
    fn plan_sync(&mut self) {
        if let (Some(interval), None, true) =
            (self.interval, self.next_sync, self.writer.is_unsynced())
        {
            self.next_sync = Some(now() + interval);
        }
    }

    /// Notifies the schedulers that wait for a commit. It may be another program's, such as an import.
    fn tell_commit(&mut self, mailbox: &mut Mailbox) {
        if self.curious.is_empty() {
            return;
        }
        let last = self.writer.last_commit();
        self.curious.retain(|(scheduler, known)| {
            let is_news = last > *known;
            if is_news {
                // Each scheduler waits for one such message, so its mailbox has room.
                let _nobody_turns =
                    send_patiently(mailbox, *scheduler, ToScheduler::Committed.into());
            }
            !is_news
        });
    }

    /// Does what is due: deletes expired keys, and makes checkpoints. Returns the time until something else is due.
    fn tend(&mut self) -> Duration {
        let mut done = Ok(());
        let mut rest = self.next_look.saturating_duration_since(now());
        if rest.is_zero() {
            let deleted = self.writer.delete_expired(unix_ms());
            rest = if deleted == Ok(true) { Duration::ZERO } else { EXPIRED_LOOK };
            self.next_look = now() + rest;
            done = deleted.map(drop).and_then(|()| self.look_at_readers());
            // Other programs may have committed.
            self.plan_sync();
        }
        if self.under_way.as_ref().is_some_and(|(_, thread)| thread.is_finished()) {
            done = done.and(self.end_checkpoint());
        }
        if self.writer.wants_checkpoint() {
            // Then the next orders wait for the disk.
            done = done.and(self.end_checkpoint());
            self.next_sync = Some(now());
        }
        if let Some(next) = self.next_sync {
            let left = next.saturating_duration_since(now());
            if !left.is_zero() {
                rest = rest.min(left);
            } else if self.under_way.is_some() {
                rest = rest.min(STORE_CHECKPOINT_LOOK);
            } else {
                done = done.and(self.begin_checkpoint());
            }
        }
        self.tell(done);
        rest
    }

    /// Starts a thread that waits for a checkpoint, while orders continue.
    fn begin_checkpoint(&mut self) -> Result<(), StoreFailure> {
        self.next_sync = None;
        if let Some(checkpoint) = self.writer.begin_checkpoint()? {
            let thread = thread::Builder::new().name("checkpoint".to_owned());
            self.under_way = Some((now(), thread.spawn(|| checkpoint.wait())?));
        }
        Ok(())
    }

    /// Waits for the running checkpoint.
    fn end_checkpoint(&mut self) -> Result<(), StoreFailure> {
        let Some((began, thread)) = self.under_way.take() else { return Ok(()) };
        self.writer.hurry();
        let panicked = |_| Err(StoreFailure::Storage("a checkpoint panicked".to_owned()));
        let made = thread.join().unwrap_or_else(panicked);
        let took = began.elapsed();
        if took >= STORE_SLOW_CHECKPOINT {
            let text = format!("a checkpoint took {} ms", took.as_millis());
            self.slow.push(Trouble::new(Kind::SlowCheckpoint, "", text));
        }
        if made.is_ok() {
            self.stats.note_checkpoint(took, unix_ms());
        }
        self.writer.end_checkpoint(made)
    }

    fn note_commit(&mut self, orders: usize, took: Duration) {
        self.stats.note_commit(took, unix_ms());
        if took >= STORE_SLOW_COMMIT {
            let text = format!("a commit of {orders} orders took {} ms", took.as_millis());
            self.slow.push(Trouble::new(Kind::SlowCommit, "", text));
        }
    }

    /// Tells the control scheduler what was slow.
    fn tell_slow(&mut self, mailbox: &mut Mailbox) {
        for trouble in self.slow.drain(..) {
            // Without room, or without a control scheduler, nobody looks.
            let _nobody_looks =
                mailbox.send(self.control, ToControl::Trouble(Box::new(trouble)).into());
        }
    }

    /// Tells the control scheduler the numbers, if there is news and the last were not told just now. Returns the time
    /// until then.
    fn tell_numbers(&mut self, mailbox: &mut Mailbox) -> Option<Duration> {
        let (news, rest) = self.telling.due(self.stats, now());
        if let Some(stats) = news {
            let message = ToControl::StoreWriter(Box::new(stats));
            let _nobody_looks = mailbox.send(self.control, message.into());
        }
        rest
    }

    /// Frees the snapshots of killed programs, which LMDB keeps until it is told, and reports old snapshots.
    fn look_at_readers(&mut self) -> Result<(), StoreFailure> {
        self.writer.free_dead_readers()?;
        self.readers.look(&self.store.readers()?, self.writer.last_commit(), now());
        Ok(())
    }

    fn tell(&mut self, done: Result<(), StoreFailure>) {
        if let (Err(failure), false) = (&done, self.fails) {
            diagnostic::write(Level::Error, format_args!("{failure}"));
        }
        self.fails = done.is_err();
    }
}

impl HelperHandler<Message> for StoreWriter {
    fn on_message(&mut self, from: Endpoint, message: Message, mailbox: &mut Mailbox) -> Onward {
        match message {
            Message::StoreWriter(ToStoreWriter::Orders(orders)) => {
                self.waiting_bytes += orders.orders.iter().map(Order::size).sum::<usize>();
                self.waiting.push((from, orders));
                if self.waiting_bytes >= STORE_COMMIT_SIZE {
                    self.execute(mailbox);
                }
            }
            Message::StoreWriter(ToStoreWriter::TellCommit(known)) => {
                self.curious.push((from, known));
            }
            Message::StoreWriter(ToStoreWriter::Replication(news)) => {
                news.into_iter().for_each(|one| self.hear(one))
            }
            Message::StoreWriter(ToStoreWriter::Promote) => self.promote(mailbox),
            Message::StoreWriter(ToStoreWriter::Stop) => {
                self.execute(mailbox);
                self.turn_node(mailbox);
                if self.interval.is_some() {
                    let ended = self.end_checkpoint();
                    let finished = self.writer.finish();
                    self.tell(ended.and(finished));
                }
                return Onward::Stop;
            }
            _ => {}
        }
        Onward::Wait
    }

    fn on_rest(&mut self, mailbox: &mut Mailbox) -> Option<Duration> {
        self.execute(mailbox);
        let until_node = self.turn_node(mailbox);
        let rest = self.tend().min(until_node.unwrap_or(Duration::MAX));
        self.tell_commit(mailbox);
        self.tell_slow(mailbox);
        let until_told = self.tell_numbers(mailbox);
        Some(until_told.map_or(rest, |left| left.min(rest)))
    }
}

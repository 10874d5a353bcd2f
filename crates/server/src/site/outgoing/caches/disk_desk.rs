//! The orders of this scheduler for the disks of caches, until they are answered.
//!
//! Owns their order, how many may be under way, and what waits for their answers. Whatever the disks do, a turn waits
//! for nothing: what has no room is not stored, and what is not answered in time is not there.

use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use ahash::HashMap;
use cache::{AnswerKey, DiskRecord, Elsewhere, FetchId, Object, PurgePattern, Time, Worth, record};
use http::FieldList;
use runtime::clock::milliseconds;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

use crate::cache_disk::limits::{
    CACHE_DISK_BATCH, CACHE_DISK_LOOKS, CACHE_DISK_ORDERS, CACHE_DISK_PATIENCE,
    CACHE_DISK_UNANSWERED, CACHE_DISK_WAITING,
};
use crate::disk_order::{DiskAnswer, DiskFound, DiskOrder, DiskOrders, Loss, SaveId};
use crate::message::{ServiceContext, ToCacheDisk};

/// The orders.
#[derive(Debug, Default)]
pub(in crate::site) struct DiskDesk {
    /// `None`: no cache has a disk.
    helper: Option<Endpoint>,
    waiting: VecDeque<(Arc<Path>, Waiting)>,
    /// Of bodies in `waiting`.
    waiting_bytes: usize,
    /// When each message was sent that is not answered.
    sent_ms: VecDeque<u64>,
    /// Answers to orders that had no room.
    refused: Vec<DiskAnswer>,
    looks: HashMap<u64, Look>,
    by_key: HashMap<Vec<u8>, u64>,
    saves: HashMap<SaveId, Save>,
    last: u64,
}

#[derive(Debug)]
enum Waiting {
    Order(DiskOrder),
    /// The rest of a body, from this byte on.
    Body(SaveId, Rc<Object>, usize),
}

/// A question. Plain data.
#[derive(Debug)]
pub(crate) struct Look {
    /// The upstream.
    pub(crate) upstream: Rc<str>,
    /// The key.
    pub(crate) key: AnswerKey,
    /// The fields of the request that has asked first.
    pub(crate) request: FieldList,
    /// Whether what is found may be used.
    pub(crate) worth: Worth,
    /// Requests that wait for it, the one that has asked first.
    pub(crate) waiters: Vec<ProcessId>,
}

/// An answer that is being stored. Plain data.
#[derive(Debug)]
pub(crate) struct Save {
    /// The upstream.
    pub(crate) upstream: Rc<str>,
    /// The other facts about one that is not in memory.
    pub(crate) long: Option<Box<Long>>,
}

/// An answer that is too long for memory. Plain data.
#[derive(Debug)]
pub(crate) struct Long {
    /// Its fetch.
    pub(crate) fetch: FetchId,
    /// Its key.
    pub(crate) key: AnswerKey,
    /// The fields of its request.
    pub(crate) request: FieldList,
    /// It, without its body.
    pub(crate) object: Rc<Object>,
    /// Whether it may be used.
    pub(crate) worth: Worth,
}

impl DiskDesk {
    /// Uses this helper.
    pub(in crate::site) fn set_helper(&mut self, helper: Option<Endpoint>) {
        self.helper = helper;
    }

    /// Sets how much a directory may have.
    pub(in crate::site) fn limit(&mut self, directory: &Arc<Path>, bytes: u64, files: usize) {
        self.push(directory, DiskOrder::Limit(bytes, files));
    }

    /// Looks for an answer, for a process. `None`: it need not wait.
    pub(in crate::site) fn look(
        &mut self,
        (upstream, directory): (&Rc<str>, &Arc<Path>),
        (key, request): (&AnswerKey, FieldList),
        (most, now): (usize, Time),
        process: ProcessId,
    ) -> Option<u64> {
        let bytes = record::key_bytes(key);
        if let Some(id) = self.by_key.get(&bytes) {
            self.looks.get_mut(id)?.waiters.push(process);
            return Some(*id);
        }
        if !self.is_answering(now) || self.looks.len() >= CACHE_DISK_LOOKS {
            return None;
        }
        let look = self.next();
        let text = record::number_of_text(key.text());
        let order =
            DiskOrder::Look { look, key: bytes.clone(), text, request: request.clone(), most };
        self.push(directory, order);
        self.by_key.insert(bytes, look);
        let (upstream, key) = (Rc::clone(upstream), key.clone());
        let known = Look { upstream, key, request, worth: Worth::Storing, waiters: vec![process] };
        self.looks.insert(look, known);
        Some(look)
    }

    /// A process does not wait any longer.
    pub(in crate::site) fn leave(&mut self, look: u64, process: ProcessId) {
        if let Some(look) = self.looks.get_mut(&look) {
            look.waiters.retain(|waiter| *waiter != process);
        }
    }

    /// A question is answered.
    pub(in crate::site) fn end_look(&mut self, look: u64) -> Option<Look> {
        let ended = self.looks.remove(&look)?;
        self.by_key.remove(&record::key_bytes(&ended.key));
        Some(ended)
    }

    /// Stores an answer that is in memory. `false`: there is no room.
    pub(in crate::site) fn save(
        &mut self,
        (upstream, directory): (&Rc<str>, &Arc<Path>),
        record: DiskRecord,
        object: &Rc<Object>,
        now: Time,
    ) -> bool {
        let length = object.body().len();
        if !self.is_answering(now) || self.waiting_bytes + length > CACHE_DISK_WAITING {
            return false;
        }
        let save = SaveId(self.next());
        let record = Box::new(record);
        self.push(directory, DiskOrder::Begin { save, record, is_long: false });
        self.waiting_bytes += length;
        self.waiting.push_back((Arc::clone(directory), Waiting::Body(save, Rc::clone(object), 0)));
        self.saves.insert(save, Save { upstream: Rc::clone(upstream), long: None });
        true
    }

    /// Stores an answer that is too long for memory; its parts follow. `None`: it is not stored.
    pub(in crate::site) fn save_long(
        &mut self,
        (upstream, directory): (&Rc<str>, &Arc<Path>),
        record: DiskRecord,
        long: Long,
        now: Time,
    ) -> Option<SaveId> {
        if !self.is_answering(now) {
            return None;
        }
        let save = SaveId(self.next());
        self.push(directory, DiskOrder::Begin { save, record: Box::new(record), is_long: true });
        let long = Some(Box::new(long));
        self.saves.insert(save, Save { upstream: Rc::clone(upstream), long });
        Some(save)
    }

    /// A part of it, or its end.
    pub(in crate::site) fn go_on(&mut self, directory: &Arc<Path>, order: DiskOrder) {
        if let DiskOrder::Abort(save) = order {
            self.saves.remove(&save);
        }
        self.push(directory, order);
    }

    /// The facts about an answer that is being stored.
    pub(in crate::site) fn saved(&self, save: SaveId) -> Option<&Save> {
        self.saves.get(&save)
    }

    /// An answer is stored, or it is not.
    pub(in crate::site) fn end_save(&mut self, save: SaveId) -> Option<Save> {
        self.saves.remove(&save)
    }

    /// An answer that is stored elsewhere was validated.
    pub(in crate::site) fn refresh(
        &mut self,
        directory: &Arc<Path>,
        stored: &Elsewhere,
        record: DiskRecord,
    ) {
        let name = Arc::clone(&stored.name);
        self.push(directory, DiskOrder::Refresh(name, Box::new(record)));
    }

    /// Forgets the answers to a key, and to others with its text.
    pub(in crate::site) fn forget(&mut self, directory: &Arc<Path>, text: &str) {
        self.push(directory, DiskOrder::Forget(record::number_of_text(text)));
        self.spoil(|key| **key.text() == *text);
    }

    /// Forgets what a pattern includes.
    pub(in crate::site) fn purge(&mut self, pattern: &PurgePattern) {
        // It is for all directories.
        self.push(&Arc::from(Path::new("")), DiskOrder::Purge(pattern.clone()));
        self.spoil(|key| pattern.includes(key));
    }

    /// A message was answered. Returns the answers, with those to orders that had no room.
    pub(in crate::site) fn take(&mut self, answers: Vec<DiskAnswer>) -> Vec<DiskAnswer> {
        self.sent_ms.pop_front();
        let mut all = std::mem::take(&mut self.refused);
        all.extend(answers);
        all
    }

    /// Sends what waits, as much as may be under way.
    pub(in crate::site) fn end_turn(&mut self, context: &mut ServiceContext<'_>, now: Time) {
        let Some(helper) = self.helper else { return self.waiting.clear() };
        while self.sent_ms.len() < CACHE_DISK_UNANSWERED && !self.waiting.is_empty() {
            let orders = DiskOrders { now, orders: self.batch() };
            match context.mail.send_part(helper, ToCacheDisk::Orders(Box::new(orders))) {
                Ok(()) => self.sent_ms.push_back(context.now.monotonic_ms()),
                Err(back) => {
                    // So few messages have room; if not, the orders are sent in the next turn.
                    if let ToCacheDisk::Orders(back) = back {
                        for (directory, order) in back.orders.into_iter().rev() {
                            self.waiting.push_front((directory, Waiting::Order(order)));
                        }
                    }
                    context.wake_after_ms(0);
                    return;
                }
            }
        }
    }

    fn batch(&mut self) -> Vec<(Arc<Path>, DiskOrder)> {
        let (mut orders, mut room) = (Vec::new(), CACHE_DISK_BATCH);
        while room > 0
            && let Some((directory, waiting)) = self.waiting.pop_front()
        {
            let (save, object, at) = match waiting {
                Waiting::Order(order) => {
                    room = room.saturating_sub(size_of(&order));
                    orders.push((directory, order));
                    continue;
                }
                Waiting::Body(save, object, at) => (save, object, at),
            };
            let rest = object.body().get(at..).unwrap_or_default();
            let part = rest.get(..room).unwrap_or(rest);
            if !part.is_empty() {
                orders.push((Arc::clone(&directory), DiskOrder::Write(save, part.to_vec())));
            }
            room -= part.len();
            self.waiting_bytes = self.waiting_bytes.saturating_sub(part.len());
            if part.len() == rest.len() {
                orders.push((directory, DiskOrder::End(save)));
            } else {
                let at = at + part.len();
                self.waiting.push_front((directory, Waiting::Body(save, object, at)));
            }
        }
        orders
    }

    fn push(&mut self, directory: &Arc<Path>, order: DiskOrder) {
        if self.helper.is_none() {
            return;
        }
        if self.waiting.len() >= CACHE_DISK_ORDERS {
            self.give_up();
        }
        self.waiting.push_back((Arc::clone(directory), Waiting::Order(order)));
    }

    /// The disks do not keep up: what was to be forgotten on them is not known any more.
    fn give_up(&mut self) {
        self.waiting_bytes = 0;
        for (_, waiting) in self.waiting.drain(..) {
            self.refused.extend(match waiting {
                Waiting::Order(DiskOrder::Look { look, .. }) => {
                    Some(DiskAnswer::Looked(look, DiskFound::Nothing))
                }
                Waiting::Order(
                    DiskOrder::Begin { save, .. }
                    | DiskOrder::Write(save, _)
                    | DiskOrder::End(save),
                )
                | Waiting::Body(save, ..) => Some(DiskAnswer::Lost(save, Loss::Failed)),
                Waiting::Order(_) => None,
            });
        }
        self.purge(&PurgePattern::everything());
    }

    /// Whether the disks have answered lately.
    fn is_answering(&self, now: Time) -> bool {
        let patience_ms = milliseconds(CACHE_DISK_PATIENCE);
        let is_late = self.sent_ms.front().is_some_and(|sent| *sent + patience_ms < now.ms);
        self.helper.is_some() && !is_late
    }

    fn spoil(&mut self, is_spoilt: impl Fn(&AnswerKey) -> bool) {
        for look in self.looks.values_mut().filter(|look| is_spoilt(&look.key)) {
            look.worth = Worth::Spoilt;
        }
        let longs = self.saves.values_mut().filter_map(|save| save.long.as_mut());
        for long in longs.filter(|long| is_spoilt(&long.key)) {
            long.worth = Worth::Spoilt;
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

/// Bytes that count in a message.
fn size_of(order: &DiskOrder) -> usize {
    match order {
        DiskOrder::Begin { record, .. } | DiskOrder::Refresh(_, record) => record.bytes.len(),
        DiskOrder::Write(_, bytes) => bytes.len(),
        DiskOrder::Look { key, request, .. } => key.len() + request.cost(),
        _ => 64,
    }
}

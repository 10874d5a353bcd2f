//! The answers that the caches have on disks.
//!
//! Owns what follows from the answers of the disks: for the requests that wait for one, and for answers that are being
//! received and stored there. `disk_desk` has the orders.

use std::rc::Rc;

use cache::{
    AnswerKey, Cache, CacheLookup, DiskRecord, Elsewhere, FetchId, Fetched, Object, OutsideOutcome,
    Worth, record,
};
use client::Client;
use http::FieldList;
use runtime::slots::ProcessId;

use super::disk_desk::{DiskDesk, Long, Look, Save};
use super::fill::{ForDisk, Progress};
use super::role::Role;
use super::{Caches, Kept};
use crate::disk_order::{DiskAnswer, DiskFound, DiskOrder, Loss, SaveId};
use crate::site::outgoing::proxy::Proxies;

impl Kept {
    /// Stores an answer, on the disk too.
    pub(super) fn store(
        &mut self,
        (disk, upstream): (&mut DiskDesk, &Rc<str>),
        (key, object): (&AnswerKey, Rc<Object>),
        request: &FieldList,
        now: cache::Time,
    ) {
        self.cache.store(key, Rc::clone(&object), &request.fields());
        let Some(directory) = &self.directory else { return };
        let record = DiskRecord::of(key, &object, now);
        if let Some(stored) = object.body().elsewhere() {
            disk.refresh(directory, stored, record);
        } else if !disk.save((upstream, directory), record, &object, now) {
            self.cache.note_outside(OutsideOutcome::Lost);
        }
    }

    /// Forgets the answers for which a request asks.
    pub(super) fn forget(&mut self, disk: &mut DiskDesk, key: &AnswerKey, request: &FieldList) {
        self.cache.forget(key, &request.fields());
        if let Some(directory) = &self.directory {
            disk.forget(directory, key.text());
        }
    }
}

impl Caches {
    /// Has a request wait until the disk was looked at, if it may have what memory has not. `false`: it does not wait.
    pub(in crate::site) fn seek(
        &mut self,
        process: ProcessId,
        (upstream, key, looked): (&Rc<str>, &AnswerKey, &CacheLookup),
        request: impl FnOnce() -> FieldList,
        now_ns: u64,
    ) -> bool {
        let may_have = match looked {
            CacheLookup::Missing(_) | CacheLookup::Unwanted => true,
            // Another scheduler may have validated it.
            CacheLookup::Validated(object) => !object.freshness().is_checked_always,
            CacheLookup::Fresh(_) | CacheLookup::WhileValidated(_) | CacheLookup::Pass => false,
        };
        let now = self.now();
        let Some((_, kept, disk)) = self.of_with_disk(upstream).filter(|_| may_have) else {
            return false;
        };
        let Some(directory) = kept.directory.clone() else { return false };
        let most = kept.cache.rules().object;
        let asked = (upstream, &directory);
        let Some(look) = disk.look(asked, (key, request()), (most, now), process) else {
            return false;
        };
        kept.cache.discount(looked);
        let due_ns = now_ns.saturating_add(kept.wait_ns);
        self.wait(process, Role::Seeks { upstream: Rc::clone(upstream), look, due_ns });
        true
    }

    /// The disks have answered.
    pub(crate) fn hear_disk(
        &mut self,
        answers: Vec<DiskAnswer>,
        client: &mut Client,
        proxies: &mut Proxies,
        now_ns: u64,
    ) {
        for answer in self.disk.take(answers) {
            match answer {
                DiskAnswer::Looked(look, found) => self.hear_look(look, found),
                DiskAnswer::Written(save) => {
                    let long = self.disk.saved(save).and_then(|save| save.long.as_ref());
                    let fetch = long.map(|long| long.fetch);
                    let Some(fetch) = fetch else { continue };
                    if let Some((fill, _)) = self.filling(fetch) {
                        fill.note_written();
                    }
                    self.pump(fetch, client, proxies, now_ns);
                }
                DiskAnswer::Kept(save, elsewhere) => {
                    let Some(Save { upstream, long }) = self.disk.end_save(save) else {
                        continue;
                    };
                    let Some((_, kept)) = self.of(&upstream) else { continue };
                    kept.cache.note_outside(OutsideOutcome::Stored);
                    if let Some(long) = long {
                        store_long(&mut kept.cache, &long, elsewhere);
                        self.end_saving(long.fetch, client, proxies);
                    }
                }
                DiskAnswer::Lost(save, loss) => {
                    let Some(Save { upstream, long }) = self.disk.end_save(save) else {
                        continue;
                    };
                    if let (Some((_, kept)), Loss::Failed) = (self.of(&upstream), loss) {
                        kept.cache.note_outside(OutsideOutcome::Lost);
                    }
                    if let Some(long) = long {
                        self.end_saving(long.fetch, client, proxies);
                        self.pump(long.fetch, client, proxies, now_ns);
                    }
                }
            }
        }
    }

    fn hear_look(&mut self, look: u64, found: DiskFound) {
        let now = self.now();
        let Some(Look { upstream, key, request, worth, waiters }) = self.disk.end_look(look) else {
            return;
        };
        let is_other = matches!(found, DiskFound::OtherVariants);
        let found = if worth == Worth::Storing { found } else { DiskFound::Nothing };
        let object = match found {
            DiskFound::Whole(bytes, body) => {
                of_record(&bytes, &key, now).map(|object| object.with_bytes(body))
            }
            DiskFound::Long(bytes, elsewhere) => {
                of_record(&bytes, &key, now).map(|object| object.with_body_at(elsewhere))
            }
            DiskFound::OtherVariants | DiskFound::Nothing => None,
        };
        if let (Some(object), Some((_, kept))) = (object, self.of(&upstream)) {
            kept.cache.take_back(&key, Rc::new(object), &request.fields());
        }
        for (number, process) in waiters.into_iter().enumerate() {
            if number > 0 && is_other {
                // Its variant may be there: it asks itself.
                self.take_role(process);
            } else {
                self.set_role(process, Role::Sought);
            }
            self.call([process]);
        }
    }

    /// An answer has turned out too long for memory: from now on it is stored on the disk, if that is possible.
    pub(super) fn begin_saving(&mut self, fetch: FetchId, fetched: Fetched<ProcessId>) {
        let (now, is_draining) = (self.now(), self.is_draining());
        let Some((fill, _)) = self.filling(fetch) else { return };
        let (object, length) = (Rc::clone(fill.object()), fill.length());
        let upstream: Rc<str> = fill.upstream().into();
        let Some((_, kept, disk)) = self.of_with_disk(&upstream) else { return };
        let most = kept.cache.rules().object_outside as u64;
        let is_too_long = length.map_or(most == 0, |length| length > most);
        let Some(directory) = kept.directory.clone() else { return };
        if is_too_long || is_draining || fetched.worth == Worth::Spoilt {
            return;
        }
        let Fetched { key, request, worth, .. } = fetched;
        let record = DiskRecord::of(&key, &object, now);
        let long = Long { fetch, key, request, object, worth };
        match disk.save_long((&upstream, &directory), record, long, now) {
            Some(save) => {
                if let Some((fill, _)) = self.filling(fetch) {
                    fill.begin_saving(save, most);
                }
            }
            None => kept.cache.note_outside(OutsideOutcome::Lost),
        }
    }

    /// Gives the disk what it can take of an answer.
    pub(super) fn feed_disk(&mut self, fetch: FetchId) {
        let Some((fill, _)) = self.filling(fetch) else { return };
        let Some(part) = fill.for_disk() else { return };
        let upstream: Rc<str> = fill.upstream().into();
        let order = match part {
            ForDisk::Part(save, bytes) => DiskOrder::Write(save, bytes),
            ForDisk::End(save) => DiskOrder::End(save),
            ForDisk::Abort(save) => DiskOrder::Abort(save),
        };
        self.order_for(&upstream, order);
    }

    /// An answer is not stored any more.
    pub(super) fn abort_saving(&mut self, fetch: FetchId) {
        let Some((fill, _)) = self.filling(fetch) else { return };
        let (save, upstream): (Option<SaveId>, Rc<str>) =
            (fill.end_saving(), fill.upstream().into());
        if let Some(save) = save {
            self.order_for(&upstream, DiskOrder::Abort(save));
        }
    }

    fn order_for(&mut self, upstream: &str, order: DiskOrder) {
        if let Some((_, kept, disk)) = self.of_with_disk(upstream)
            && let Some(directory) = &kept.directory
        {
            disk.go_on(directory, order);
        }
    }

    fn end_saving(&mut self, fetch: FetchId, client: &mut Client, proxies: &mut Proxies) {
        let Some((fill, _)) = self.filling(fetch) else { return };
        fill.end_saving();
        if !fill.readers().is_empty() {
            return;
        }
        if fill.progress() == Progress::Arriving {
            self.drop_if_unread(fetch, client, proxies);
        } else {
            self.end_run(fetch);
        }
    }
}

fn store_long(cache: &mut Cache, long: &Long, elsewhere: Elsewhere) {
    if long.worth == Worth::Storing {
        let object = Rc::new(long.object.with_body_at(elsewhere));
        cache.store(&long.key, object, &long.request.fields());
    }
}

fn of_record(bytes: &[u8], key: &AnswerKey, now: cache::Time) -> Option<Object> {
    let (found, object) = record::read(bytes, now)?;
    (found == *key).then_some(object)
}

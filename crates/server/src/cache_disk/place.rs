//! One directory of a cache.
//!
//! Owns its files: how one appears whole or not at all, and that what is damaged, foreign, purged or too much leaves.
//! Runs on the helper thread, and may wait for the disk. Nothing here is an error of a client: what cannot be stored is
//! not, and what cannot be read is not there.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use ahash::HashMap;
use cache::limits::RECORD_SIZE;
use cache::{
    AnswerKey, Damaged, DiskRecord, Elsewhere, FileMatch, FileSum, Label, LabelLedger,
    PurgePattern, Time, file_head, place_of_body, record,
};
use http::FieldList;
use runtime::diagnostic::{self, Level};
use runtime::mailbox::Endpoint;
use sys::file::{Directory, Obstacle, Symlinks};
use sys::regular_file;
use sys::spool::{Existing, Spool, SpoolFile};

use super::file::{Opened, ROOM_FOR_LATER};
use super::limits::{CACHE_DISK_COMPARED, CACHE_DISK_SYNC, CACHE_PURGES_SIZE};
use super::opening::{PURGES, is_own};
use crate::disk_order::{DiskAnswer, DiskFound, DiskReport, Loss, SaveId};

/// The directory.
pub(super) struct Place {
    directory: Arc<Path>,
    spool: Spool,
    files: Directory,
    ledger: LabelLedger,
    transfers: HashMap<(Endpoint, SaveId), Transfer>,
    evictions: u64,
    damaged: u64,
    /// Whether the last write has failed: a repeated failure is logged once.
    fails: bool,
}

/// A file that is being written.
struct Transfer {
    file: SpoolFile,
    part: String,
    label: Label,
    key: AnswerKey,
    room: usize,
    sum: FileSum,
    is_long: bool,
    unsynced: u64,
}

impl Place {
    /// Opens it, and reads its names.
    pub(super) fn open(directory: &Arc<Path>) -> io::Result<Self> {
        let mut place = Self {
            directory: Arc::clone(directory),
            spool: Spool::open(directory)?,
            files: Directory::open(directory)?,
            // The answers that are there stay until the limits are known.
            ledger: LabelLedger::new(u64::MAX, usize::MAX),
            transfers: HashMap::default(),
            evictions: 0,
            damaged: 0,
            fails: false,
        };
        place.read_names()?;
        Ok(place)
    }

    fn read_names(&mut self) -> io::Result<()> {
        let labels = RefCell::new(Vec::new());
        let foreign = self.spool.names(|name| match Label::parse(name) {
            Some(label) => {
                labels.borrow_mut().push(label);
                false
            }
            None => !is_own(name),
        })?;
        for name in foreign {
            // A directory stays.
            let _gone = self.spool.remove(&name);
        }
        let mut labels = labels.into_inner();
        labels.sort_unstable_by_key(|label| label.serial);
        for label in labels {
            let replaced = self.ledger.put(label);
            replaced.iter().for_each(|label| self.unlink(label));
        }
        match regular_file::text(&self.directory.join(PURGES), CACHE_PURGES_SIZE) {
            Ok(text) => self.ledger.restore_purges(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // It may have been any purge.
            Err(_) => self.ledger.purge(PurgePattern::everything(), unix_ns()),
        }
        Ok(())
    }

    /// Its figures.
    pub(super) fn report(&self) -> DiskReport {
        DiskReport {
            bytes: self.ledger.bytes(),
            files: self.ledger.len() as u64,
            evictions: self.evictions,
            damaged: self.damaged,
        }
    }

    /// Sets how much there may be.
    pub(super) fn limit(&mut self, bytes: u64, files: usize) {
        self.ledger.set_limits(bytes, files);
        self.make_room();
    }

    /// Finds an answer for a request.
    pub(super) fn look(
        &mut self,
        (key, text): (&[u8], u64),
        request: &FieldList,
        (most, now): (usize, Time),
    ) -> DiskFound {
        let mut others = DiskFound::Nothing;
        for label in self.ledger.of(text) {
            let Some(opened) = self.opened(&label) else { continue };
            let stored = opened.stored();
            let key = match stored.compare(key, &request.fields(), now) {
                Ok(FileMatch::Answer(key, _)) => key,
                Ok(FileMatch::OtherVariant) => {
                    others = DiskFound::OtherVariants;
                    continue;
                }
                Ok(FileMatch::OtherKey) => continue,
                Err(Damaged) => {
                    self.note_damaged(&label);
                    continue;
                }
            };
            if self.ledger.is_purged(&key, &label) {
                self.remove(&label);
                continue;
            }
            self.ledger.note_use(&label);
            let (offset, length) = stored.body_at();
            let record = stored.record().to_vec();
            if length > most as u64 {
                let name = label.name().into();
                return DiskFound::Long(record, Elsewhere { name, offset, length });
            }
            match opened.body() {
                Ok(body) => return DiskFound::Whole(record, body),
                Err(Damaged) => self.note_damaged(&label),
            }
        }
        others
    }

    /// An answer is stored, and its parts follow.
    pub(super) fn begin(
        &mut self,
        id: (Endpoint, SaveId),
        record: &DiskRecord,
        (is_long, now): (bool, Time),
    ) -> Option<DiskAnswer> {
        let room = record.bytes.len() + if is_long { ROOM_FOR_LATER } else { 0 };
        let lost = Some(DiskAnswer::Lost(id.1, Loss::Failed));
        let Some((key, _)) = record::read(&record.bytes, now) else { return lost };
        if room > RECORD_SIZE {
            return lost;
        }
        let label = Label::new(record, self.ledger.next_serial(unix_ns()));
        let part = format!("{:016x}.part", label.serial);
        let begun = self.spool.create(&part).and_then(|file| {
            let begun = file_head(&label, &record.bytes, room);
            file.append(&begun)?;
            Ok((file, begun.len() as u64))
        });
        match begun {
            Ok((file, size)) => {
                let (label, sum) = (Label { size, ..label }, FileSum::new(&label));
                let transfer = Transfer { file, part, label, key, room, sum, is_long, unsynced: 0 };
                self.transfers.insert(id, transfer);
                None
            }
            Err(error) => {
                self.tell(Some(&error));
                let _gone = self.spool.remove(&part);
                lost
            }
        }
    }

    /// Writes a part of a body.
    pub(super) fn write(&mut self, id: (Endpoint, SaveId), bytes: &[u8]) -> DiskAnswer {
        let Some(transfer) = self.transfers.get_mut(&id) else {
            return DiskAnswer::Lost(id.1, Loss::Forgotten);
        };
        let length = bytes.len() as u64;
        let written = transfer.file.append(bytes).and_then(|()| {
            transfer.sum.add(bytes);
            transfer.label.size += length;
            transfer.unsynced += length;
            // In steps, so that others do not wait for all of it at once.
            if transfer.is_long && transfer.unsynced >= CACHE_DISK_SYNC {
                transfer.unsynced = 0;
                transfer.file.sync()?;
            }
            Ok(())
        });
        match written {
            Ok(()) => {
                self.make_room();
                DiskAnswer::Written(id.1)
            }
            Err(error) => self.fail(id, &error),
        }
    }

    /// An answer is whole: its file gets its name.
    pub(super) fn end(&mut self, id: (Endpoint, SaveId)) -> DiskAnswer {
        let Some(transfer) = self.transfers.get_mut(&id) else {
            return DiskAnswer::Lost(id.1, Loss::Forgotten);
        };
        let trailer = transfer.sum.bytes();
        transfer.label.size += trailer.len() as u64;
        let (label, name) = (transfer.label, transfer.label.name());
        let saved = transfer.file.append(&trailer).and_then(|()| {
            // An answer that is never compared with its sum must not appear before it is there, whatever the power
            // does.
            if transfer.is_long {
                transfer.file.sync()?;
            }
            self.spool.save(&transfer.part, transfer.file.identity(), &name, Existing::Replaced)
        });
        if let Err(error) = saved {
            return self.fail(id, &error);
        }
        let room = self.transfers.remove(&id).map_or(0, |transfer| transfer.room);
        let replaced = self.ledger.put(label);
        replaced.iter().for_each(|label| self.unlink(label));
        self.make_room();
        self.tell(None);
        let (offset, length) = place_of_body(room, label.size);
        DiskAnswer::Kept(id.1, Elsewhere { name: name.into(), offset, length })
    }

    /// An answer will not be whole.
    pub(super) fn abort(&mut self, id: (Endpoint, SaveId)) {
        if let Some(transfer) = self.transfers.remove(&id) {
            let _gone = self.spool.remove(&transfer.part);
        }
    }

    /// The answer of this name was validated: its record changes, and its body does not. A reply that is sent from the
    /// file at this moment has read the old record, and reads only the body.
    pub(super) fn refresh(&mut self, name: &str, record: &DiskRecord) {
        let Some(label) = Label::parse(name) else { return };
        if !self.ledger.of(label.text).contains(&label) {
            return;
        }
        let Some(opened) = self.opened(&label) else { return };
        let room = opened.stored().room();
        if record.bytes.len() > room || record.identity != label.identity {
            return self.remove(&label);
        }
        let written = self.spool.reopen(name);
        let written = written.and_then(|file| file.append(&file_head(&label, &record.bytes, room)));
        if let Err(error) = written {
            self.tell(Some(&error));
            self.remove(&label);
        }
    }

    /// Forgets the answers with this number of their text.
    pub(super) fn forget(&mut self, text: u64) {
        self.spoil(|transfer| transfer.label.text == text);
        for label in self.ledger.of(text) {
            self.remove(&label);
        }
    }

    /// Forgets what a pattern includes. Files leave in the calls of [`sweep`](Self::sweep) that follow.
    pub(super) fn purge(&mut self, pattern: &PurgePattern) {
        self.spoil(|transfer| pattern.includes(&transfer.key));
        self.ledger.purge(pattern.clone(), unix_ns());
        self.keep_purges();
    }

    /// Compares some files with purges. `true`: there are more.
    pub(super) fn sweep(&mut self) -> bool {
        if !self.ledger.is_purging() {
            return false;
        }
        let compared = self.ledger.compare_next(CACHE_DISK_COMPARED);
        compared.gone.iter().for_each(|label| self.remove(label));
        for label in &compared.doubted {
            let Some(opened) = self.opened(label) else { continue };
            match record::key_of(opened.stored().record()) {
                Some(key) if !self.ledger.is_purged(&key, label) => {}
                Some(_) => self.remove(label),
                None => self.note_damaged(label),
            }
        }
        self.ledger.note_compared(&compared);
        let goes_on = self.ledger.is_purging();
        if !goes_on {
            self.keep_purges();
        }
        goes_on
    }

    /// Writes the purges at work, so that the next start goes on with them.
    fn keep_purges(&mut self) {
        let (text, part) = (self.ledger.purges_text(), "purges.part");
        let kept = if text.is_empty() {
            self.spool.remove(PURGES)
        } else {
            self.spool.remove(part).and_then(|()| {
                let file = self.spool.create(part)?;
                file.append(text.as_bytes())?;
                file.sync()?;
                self.spool.save(part, file.identity(), PURGES, Existing::Replaced)
            })
        };
        if let Err(error) = kept {
            self.tell(Some(&error));
        }
    }

    fn spoil(&mut self, is_spoilt: impl Fn(&Transfer) -> bool) {
        let spoilt = self.transfers.extract_if(|_, transfer| is_spoilt(transfer));
        for (_, transfer) in spoilt.collect::<Vec<_>>() {
            let _gone = self.spool.remove(&transfer.part);
        }
    }

    fn opened(&mut self, label: &Label) -> Option<Opened> {
        let name = label.name();
        let opened = self.files.open_beneath(Path::new(&name), Symlinks::Refuse);
        match opened.map(|handle| Opened::read(handle, *label)) {
            Ok(Ok(opened)) => return Some(opened),
            // It was deleted by somebody else, or is a link.
            Err(error) if Obstacle::of(&error) == Obstacle::NotFound => self.ledger.remove(label),
            // It may be there another time.
            Err(error) if Obstacle::of(&error) == Obstacle::Exhausted => {}
            Ok(Err(Damaged)) | Err(_) => self.note_damaged(label),
        }
        None
    }

    fn note_damaged(&mut self, label: &Label) {
        self.damaged += 1;
        self.remove(label);
    }

    fn remove(&mut self, label: &Label) {
        self.ledger.remove(label);
        self.unlink(label);
    }

    fn unlink(&self, label: &Label) {
        // If it stays, the next start finds it again, and the bound is kept then.
        let _gone = self.spool.remove(&label.name());
    }

    fn make_room(&mut self) {
        let arriving = self.transfers.values().map(|transfer| transfer.label.size).sum();
        while let Some(label) = self.ledger.evict(arriving) {
            self.evictions += 1;
            self.unlink(&label);
        }
    }

    fn fail(&mut self, id: (Endpoint, SaveId), error: &io::Error) -> DiskAnswer {
        self.abort(id);
        self.tell(Some(error));
        DiskAnswer::Lost(id.1, Loss::Failed)
    }

    fn tell(&mut self, failed: Option<&io::Error>) {
        if let (Some(error), false) = (failed, self.fails) {
            diagnostic::write(
                Level::Warn,
                format_args!(
                    "the cache in `{}` stores nothing more on its disk as long as this fails: {error}",
                    self.directory.display()
                ),
            );
        }
        self.fails = failed.is_some();
    }
}

#[expect(clippy::disallowed_methods, reason = "a helper thread has a clock of its own")]
fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, runtime::clock::nanoseconds)
}

//! An answer that is being received for the cache.
//!
//! Owns its bytes until it is whole. It is received as fast as the server sends, whatever its readers do, so a slow
//! client or one that closes delays nobody. If it turns out too long to be stored, the slowest reader sets the pace.
//! An answer that is cut is never stored.

use std::rc::Rc;

use cache::{Cache, Object, Reservation};
use client::{Client, ExchangeFailure, ExchangeId, ExchangeNews, ResponseHead};
use runtime::slots::ProcessId;

use crate::cache_disk::limits::CACHE_DISK_PART;
use crate::disk_order::SaveId;
use crate::limits::{CACHE_RESERVE_STEP, CACHE_WINDOW, PROXY_PART_SIZE};
use crate::site::outgoing::proxy::Place;
use crate::site::outgoing::proxy::answer_head::length_of;

/// The answer.
#[derive(Debug)]
pub(in crate::site) struct Fill {
    upstream: Rc<str>,
    source: Source,
    /// Its head, and its body once that is whole.
    object: Rc<Object>,
    /// The length that its head says.
    length: Option<u64>,
    body: Vec<u8>,
    /// Bytes that were in front of `body`, and that all readers have.
    dropped: usize,
    /// Bytes of the cache that it uses, as long as it holds more than what is only passed on.
    reserved: Reservation,
    /// Whether it is too long for memory: it is passed on, and perhaps stored on the disk.
    is_only_passed: bool,
    /// How far the disk has it, if it is stored there.
    saving: Option<Saving>,
    progress: Progress,
    readers: Vec<Reader>,
}

/// An answer that is stored on the disk while it is passed on: a reader of its own.
#[derive(Debug)]
struct Saving {
    save: SaveId,
    sent: usize,
    /// The longest body that is stored.
    most: u64,
    /// Whether the disk has not answered for the last part.
    is_writing: bool,
}

/// The copy for the disk.
pub(in crate::site) enum ForDisk {
    Part(SaveId, Vec<u8>),
    End(SaveId),
    /// It is cut, or too long.
    Abort(SaveId),
}

#[derive(Debug)]
struct Reader {
    process: ProcessId,
    sent: usize,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Progress {
    Arriving,
    Whole,
    /// The rest will not come.
    Cut,
}

/// Where it comes from. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) exchange: ExchangeId,
    pub(crate) place: Place,
}

impl Fill {
    /// An answer whose head is there. `object`: the same without its body.
    pub(in crate::site) fn new(
        upstream: &Rc<str>,
        source: Source,
        head: &ResponseHead,
        (object, reserved): (Object, Reservation),
    ) -> Self {
        Self {
            upstream: Rc::clone(upstream),
            source,
            object: Rc::new(object),
            length: length_of(head),
            body: Vec::new(),
            dropped: 0,
            reserved,
            is_only_passed: false,
            saving: None,
            progress: Progress::Arriving,
            readers: Vec::new(),
        }
    }

    pub(in crate::site) fn source(&self) -> Source {
        self.source
    }

    /// Takes what has arrived. Returns how it has ended, if it has.
    pub(in crate::site) fn receive(
        &mut self,
        client: &mut Client,
        mut cache: Option<&mut Cache>,
        now_ns: u64,
    ) -> Option<Result<(), ExchangeFailure>> {
        while self.progress == Progress::Arriving && self.room() > 0 {
            match client.next(self.source.exchange, self.room(), now_ns)? {
                ExchangeNews::Body(bytes) => self.take(&bytes, cache.as_deref_mut()),
                ExchangeNews::End => return Some(Ok(())),
                ExchangeNews::Failed(failure) => return Some(Err(failure)),
                // Fields that follow a body are not stored (RFC 9111 section 3.1).
                ExchangeNews::Trailers(_)
                | ExchangeNews::Interim(_)
                | ExchangeNews::Head(_)
                | ExchangeNews::Room => {}
            }
        }
        None
    }

    /// It has ended. Returns what can be stored.
    pub(in crate::site) fn finish(
        &mut self,
        progress: Progress,
        cache: Option<&Cache>,
    ) -> Option<Rc<Object>> {
        self.progress = progress;
        if cache.is_none() {
            self.is_only_passed = true;
        }
        if progress != Progress::Whole || self.is_only_passed {
            return None;
        }
        let body = std::mem::take(&mut self.body);
        self.object = Rc::new(self.object.with_body(body, &mut self.reserved));
        Some(Rc::clone(&self.object))
    }

    /// Bytes that have arrived and are still held.
    pub(in crate::site) fn held(&self) -> usize {
        self.body.len()
    }

    /// It is stored on the disk from now on, if it has no more bytes than these.
    pub(in crate::site) fn begin_saving(&mut self, save: SaveId, most: u64) {
        self.saving = Some(Saving { save, sent: self.dropped, most, is_writing: false });
    }

    /// Whether it is being stored on the disk.
    pub(in crate::site) fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// It is not being stored any more.
    pub(in crate::site) fn end_saving(&mut self) -> Option<SaveId> {
        let ended = self.saving.take().map(|saving| saving.save);
        self.drop_sent();
        ended
    }

    /// The disk has what it was given.
    pub(in crate::site) fn note_written(&mut self) {
        if let Some(saving) = &mut self.saving {
            saving.is_writing = false;
        }
    }

    /// The next piece for the disk.
    pub(in crate::site) fn for_disk(&mut self) -> Option<ForDisk> {
        let (progress, arrived) = (self.progress, self.dropped + self.body.len());
        let saving = self.saving.as_mut()?;
        let save = saving.save;
        if progress == Progress::Cut || arrived as u64 > saving.most {
            self.end_saving();
            return Some(ForDisk::Abort(save));
        }
        if saving.is_writing {
            return None;
        }
        let rest = self.body.get(saving.sent.saturating_sub(self.dropped)..).unwrap_or_default();
        let part = rest.get(..CACHE_DISK_PART).unwrap_or(rest).to_vec();
        if part.is_empty() && progress == Progress::Arriving {
            return None;
        }
        saving.is_writing = true;
        saving.sent += part.len();
        self.drop_sent();
        // The answer to the end is that it is stored.
        Some(if part.is_empty() { ForDisk::End(save) } else { ForDisk::Part(save, part) })
    }

    /// Whether it is too long to be stored in memory.
    pub(in crate::site) fn is_only_passed(&self) -> bool {
        self.is_only_passed
    }

    /// Those that read it.
    pub(in crate::site) fn readers(&self) -> Vec<ProcessId> {
        self.readers.iter().map(|reader| reader.process).collect()
    }

    /// One of them does not any longer.
    pub(in crate::site) fn lose(&mut self, process: ProcessId) {
        self.readers.retain(|reader| reader.process != process);
        self.drop_sent();
    }

    pub(in crate::site) fn upstream(&self) -> &str {
        &self.upstream
    }

    pub(in crate::site) fn object(&self) -> &Rc<Object> {
        &self.object
    }

    /// The length of its body, if it is known.
    pub(in crate::site) fn length(&self) -> Option<u64> {
        let is_whole = self.progress == Progress::Whole && self.dropped == 0;
        self.length.or_else(|| is_whole.then(|| self.bytes().len() as u64))
    }

    pub(in crate::site) fn progress(&self) -> Progress {
        self.progress
    }

    /// The bytes behind those that a reader has, at most one part of them; and whether more are there.
    pub(in crate::site) fn part(&self, sent: usize) -> (&[u8], bool) {
        let bytes = self.bytes();
        let rest = bytes.get(sent.saturating_sub(self.dropped)..).unwrap_or_default();
        let part = rest.get(..PROXY_PART_SIZE).unwrap_or(rest);
        (part, part.len() < rest.len())
    }

    fn bytes(&self) -> &[u8] {
        match self.progress {
            Progress::Whole if !self.is_only_passed => self.object.body(),
            _ => &self.body,
        }
    }

    /// A reader has so many bytes.
    pub(in crate::site) fn note_sent(&mut self, process: ProcessId, sent: usize) {
        match self.readers.iter_mut().find(|reader| reader.process == process) {
            Some(reader) => reader.sent = sent,
            None => self.readers.push(Reader { process, sent }),
        }
        self.drop_sent();
    }

    /// Gives up what all have to whom it is passed on.
    fn drop_sent(&mut self) {
        if self.is_only_passed {
            let least = self.slowest();
            self.body.drain(..least.saturating_sub(self.dropped).min(self.body.len()));
            self.dropped = self.dropped.max(least);
            if self.body.len() <= CACHE_WINDOW {
                self.body.shrink_to(CACHE_WINDOW);
                self.reserved.shrink_to(0);
            }
        }
    }

    fn slowest(&self) -> usize {
        let readers = self.readers.iter().map(|reader| reader.sent);
        let disk = self.saving.iter().map(|saving| saving.sent);
        readers.chain(disk).min().unwrap_or(self.dropped)
    }

    /// Bytes that are taken now.
    fn room(&self) -> usize {
        if !self.is_only_passed {
            return PROXY_PART_SIZE;
        }
        // One reader has nobody to wait for.
        let is_alone = self.readers.len() < 2 && self.saving.is_none();
        let most = if is_alone { PROXY_PART_SIZE } else { CACHE_WINDOW };
        most.saturating_sub(self.body.len())
    }

    fn take(&mut self, bytes: &[u8], cache: Option<&mut Cache>) {
        self.body.extend_from_slice(bytes);
        if self.is_only_passed {
            return;
        }
        let Some(cache) = cache else {
            self.is_only_passed = true;
            return;
        };
        let most = cache.rules().object;
        let mut fits = self.body.len() <= most;
        let step = CACHE_RESERVE_STEP.min(most);
        while fits && self.reserved.bytes() < self.body.len() {
            fits = cache.reserve(&mut self.reserved, step);
        }
        if !fits {
            // The bytes that are held stay reserved until the readers have them.
            self.is_only_passed = true;
        }
    }
}

//! Parts that only some processes have, kept outside their slots: a transport, streams that they carry, and the
//! carriage of a process that is itself a stream.
//!
//! Owns these parts, so that a slot of a plain connection needs four bytes for all of them, and so that a handler of
//! one process can reach the streams that it carries. Also the lists of what the scheduler has to do about streams.
//! Never sends or receives, and never runs a process.

mod carrying;
mod shares;
mod visits;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use crate::carriage::{Carriage, Stage};
use crate::layer::Layer;
use crate::outbox::Outbox;
use crate::slots::{ProcessId, Slots};
use crate::stream::{Ending, StreamId};

pub(crate) use carrying::Carrier;
pub(crate) use shares::Wishes;
use shares::{Share, SharedTurn};
use visits::Later;

/// The place of a process's extra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtraIndex(NonZeroU32);

impl ExtraIndex {
    /// A place where there is never anything: for processes that are not in the table yet.
    pub(crate) const NOWHERE: ExtraIndex = ExtraIndex(NonZeroU32::MAX);

    fn of(id: ProcessId) -> Option<Self> {
        let number = u32::try_from(id.index()).ok()?.checked_add(1)?;
        NonZeroU32::new(number).map(ExtraIndex)
    }

    fn slot(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The parts of a process besides its slot.
#[derive(Default)]
pub(crate) struct Extra {
    /// The transport between its socket and itself.
    layer: Option<Box<Layer>>,
    /// The carriage between it and its carrier, if it is a stream.
    stream: Option<Box<Stream>>,
    /// The streams that it carries.
    list: Option<Box<StreamList>>,
    /// Bytes that may still be discarded.
    linger_left: u32,
}

/// A stream, and its places in lists.
struct Stream {
    /// The name that its carrier gives it.
    tag: u32,
    carriage: Carriage,
    /// `None` once its carrier has let go of it.
    listing: Option<Listing>,
    /// It is in its carrier's list of those that have something.
    is_ready: bool,
    /// Its process will be visited.
    is_awake: bool,
}

/// Where a stream is listed by its carrier.
#[derive(Clone, Copy, Debug)]
struct Listing {
    carrier: ExtraIndex,
    place: usize,
}

/// The streams of one carrier.
struct StreamList {
    /// The carrier's process.
    carrier: ProcessId,
    /// All streams, in any order.
    all: Vec<StreamId>,
    /// Those that have something for the carrier, in the order in which they get their turn. Some have been let go
    /// since.
    ready: VecDeque<StreamId>,
    /// The carrier will be told.
    is_stirred: bool,
    /// The share that the streams have had of the last turn in which others wanted something.
    share: Share,
}

impl Extra {
    /// That of a connection with a transport.
    pub(crate) fn layered(layer: Layer) -> Self {
        Self { layer: Some(Box::new(layer)), ..Self::default() }
    }

    /// Whether the process is a stream.
    pub(crate) fn is_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// So many bytes of its input may be discarded.
    pub(crate) fn allow_discarding(&mut self, bytes: u32) {
        self.linger_left = bytes;
    }

    /// Counts bytes that were discarded; `None` if they are more than it may.
    pub(crate) fn discard(&mut self, bytes: u32) -> Option<()> {
        self.linger_left = self.linger_left.checked_sub(bytes)?;
        Some(())
    }

    /// The number of streams that the process carries.
    pub(crate) fn carries(&self) -> usize {
        self.list.as_ref().map_or(0, |list| list.all.len())
    }
}

/// The extras of a scheduler's processes.
pub(crate) struct Extras {
    table: Slots<Extra>,
    /// Streams that have no process yet.
    opened: VecDeque<StreamId>,
    /// Streams whose processes have to be visited.
    awake: VecDeque<StreamId>,
    /// Those of both lists that wait for the next turn.
    later: Later,
    /// Carriers that have to be told that their streams have something.
    stirred: VecDeque<ProcessId>,
    /// Bytes of memory of input that was handed to streams and that they have not read.
    handed_bytes: usize,
    /// So many of them were counted.
    counted_handed: usize,
    /// Streams that are over, for the next ones.
    #[expect(clippy::vec_box, reason = "a box moves from an extra to this list, and back")]
    spare: Vec<Box<Stream>>,
    /// The lists of carriers that carry no stream now, for those that do.
    #[expect(clippy::vec_box, reason = "a box moves from an extra to this list, and back")]
    spare_lists: Vec<Box<StreamList>>,
    turn: SharedTurn,
    /// The last process that became a carrier, and its extra: a handler that panics after that never gives it back.
    claimed: Option<(ProcessId, ProcessId)>,
}

impl Extras {
    /// A table for at most this many. It takes memory only as it grows.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            table: Slots::growing(capacity),
            opened: VecDeque::new(),
            awake: VecDeque::new(),
            later: Later::default(),
            stirred: VecDeque::new(),
            handed_bytes: 0,
            counted_handed: 0,
            spare: Vec::new(),
            spare_lists: Vec::new(),
            turn: SharedTurn::default(),
            claimed: None,
        }
    }

    /// Sets the most extras.
    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        self.table.set_capacity(capacity);
    }

    /// The number of extras.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Keeps an extra; `None` if the table is full.
    pub(crate) fn insert(&mut self, extra: Extra) -> Option<ExtraIndex> {
        self.table.insert(extra).ok().and_then(ExtraIndex::of)
    }

    /// Keeps an extra for a process that becomes a carrier in this run; `None` if the table is full.
    pub(crate) fn claim(&mut self, carrier: ProcessId) -> Option<ExtraIndex> {
        let place = self.table.insert(Extra::default()).ok()?;
        self.claimed = Some((carrier, place));
        ExtraIndex::of(place)
    }

    /// The last process that became a carrier, if its extra is still there.
    pub(crate) fn take_claimed(&mut self) -> Option<(ProcessId, ExtraIndex)> {
        let (carrier, place) = self.claimed.take()?;
        self.table.lookup(place)?;
        Some((carrier, ExtraIndex::of(place)?))
    }

    /// The extra at a place.
    pub(crate) fn at(&mut self, index: ExtraIndex) -> Option<&mut Extra> {
        self.table.at(index.slot())
    }

    /// The transport of a process, if it has one.
    #[inline]
    pub(crate) fn layer(&mut self, index: Option<ExtraIndex>) -> Option<&mut Layer> {
        self.layer_at(index?)
    }

    #[cold]
    fn layer_at(&mut self, index: ExtraIndex) -> Option<&mut Layer> {
        self.at(index)?.layer.as_deref_mut()
    }

    /// Ends the transport of a process whose connection goes on without one.
    pub(crate) fn remove_layer(&mut self, index: Option<ExtraIndex>) {
        if let Some(extra) = index.and_then(|index| self.at(index)) {
            extra.layer = None;
        }
    }

    /// Whether a process has a transport.
    pub(crate) fn is_layered(&self, index: Option<ExtraIndex>) -> bool {
        index
            .and_then(|index| self.table.get(index.slot()))
            .is_some_and(|extra| extra.layer.is_some())
    }

    /// The carriage of a process that is a stream.
    pub(crate) fn carriage(&mut self, index: Option<ExtraIndex>) -> Option<&mut Carriage> {
        Some(&mut self.at(index?)?.stream.as_mut()?.carriage)
    }

    /// The number of streams that a process carries.
    #[inline]
    pub(crate) fn carries(&self, index: Option<ExtraIndex>) -> usize {
        index.and_then(|index| self.table.get(index.slot())).map_or(0, Extra::carries)
    }

    /// Bytes of memory of input that streams have not read: at the last call, and now.
    pub(crate) fn recount_handed(&mut self) -> (usize, usize) {
        (std::mem::replace(&mut self.counted_handed, self.handed_bytes), self.handed_bytes)
    }

    /// Counts input that came to be held, or let go.
    pub(crate) fn count_handed(&mut self, before: usize, after: usize) {
        self.handed_bytes = self.handed_bytes + after - before;
    }

    /// Whether the scheduler has nothing to do about streams in this turn. Without extras, the lists name streams and
    /// carriers that have ended.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.table.is_empty() || self.has_none_listed()
    }

    fn has_none_listed(&self) -> bool {
        self.opened.is_empty() && self.awake.is_empty() && self.stirred.is_empty()
    }

    /// Whether it has nothing to do about them in the next one either.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.table.is_empty() || self.has_none_listed() && self.later.is_empty()
    }
}

/// The scheduler's side.
impl Extras {
    /// The next carrier that has to be told.
    pub(crate) fn next_stirred(&mut self) -> Option<ProcessId> {
        self.stirred.pop_front()
    }

    /// How many carriers wait to be told.
    pub(crate) fn stirred_count(&self) -> usize {
        self.stirred.len()
    }

    /// A carrier is being told.
    pub(crate) fn calm(&mut self, index: Option<ExtraIndex>) {
        if let Some(list) = index.and_then(|index| self.at(index)?.list.as_mut()) {
            list.is_stirred = false;
        }
    }

    /// The file region for which a stream waits may have been read into memory.
    pub(crate) fn end_cold(&mut self, index: Option<ExtraIndex>) {
        if self.carriage(index).is_some_and(Carriage::end_cold) {
            self.stir(index);
        }
    }

    /// Moves the queued output of a stream's process to its carriage.
    pub(crate) fn add_output(&mut self, index: Option<ExtraIndex>, outbox: &mut Outbox) {
        let Some(carriage) = self.carriage(index) else { return };
        if carriage.add_output(outbox) {
            self.stir(index);
        }
    }

    /// The process of a stream adds no more output.
    pub(crate) fn finish_output(&mut self, index: Option<ExtraIndex>) {
        if self.carriage(index).is_some_and(Carriage::finish) {
            self.stir(index);
        }
    }

    /// The process of a stream has consumed input: its carrier may open a window.
    pub(crate) fn note_consumed(&mut self, index: Option<ExtraIndex>, count: usize) {
        let Some(carriage) = self.carriage(index).filter(|_| count > 0) else { return };
        carriage.note_consumed(count);
        self.stir(index);
    }

    /// A stream has something for its carrier.
    fn stir(&mut self, index: Option<ExtraIndex>) {
        let Some(id) = index.and_then(|index| self.name_of(index)) else { return };
        let Some(carrier) = self.put_back(id) else { return };
        if let Some(list) = self.at(carrier).and_then(|extra| extra.list.as_mut())
            && !std::mem::replace(&mut list.is_stirred, true)
        {
            let process = list.carrier;
            self.stirred.push_back(process);
        }
    }

    /// The process of a stream has ended: its carrier learns it.
    fn end_stream(&mut self, index: ExtraIndex, ending: Ending) {
        let Some(stream) = self.at(index).and_then(|extra| extra.stream.as_mut()) else { return };
        let before = stream.carriage.input_capacity();
        stream.carriage.end(ending);
        let is_listed = stream.listing.is_some();
        self.count_handed(before, 0);
        if is_listed {
            self.stir(Some(index));
        } else if let Some(id) = self.name_of(index) {
            self.remove_stream(id);
        }
    }

    /// Removes the extra of a process that has ended; that of a stream lives until its carrier knows. Returns the
    /// processes of the streams that the process carried: they have to be closed.
    pub(crate) fn end(&mut self, index: ExtraIndex, ending: Ending) -> Vec<ProcessId> {
        if self.at(index).is_some_and(|extra| extra.is_stream()) {
            self.end_stream(index, ending);
            return Vec::new();
        }
        let list = self.remove(index).and_then(|extra| extra.list);
        let streams = list.map(|list| list.all).unwrap_or_default();
        let mut processes = Vec::new();
        for id in streams {
            let Some(stream) = self.stream(id) else { continue };
            // The list is gone.
            stream.listing = None;
            match stream.carriage.stage() {
                Stage::Lives(process) => processes.push(process),
                Stage::Opened | Stage::Ended(_) => self.let_go(id),
            }
        }
        processes
    }

    fn remove(&mut self, index: ExtraIndex) -> Option<Extra> {
        let id = self.table.id_at(index.slot())?;
        self.table.remove(id)
    }
}

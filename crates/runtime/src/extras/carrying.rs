//! The streams of a carrier: opened, listed when they have something, and let go.
//!
//! Owns the list of each carrier, at a cost that does not grow with the number of its streams. Never runs a process.

use std::any::Any;
use std::collections::VecDeque;

use super::{Extra, ExtraIndex, Extras, Listing, Share, Stream, StreamList};
use crate::carriage::{Carriage, Stage};
use crate::limits::SPARE_STREAMS;
use crate::slots::ProcessId;
use crate::stream::StreamId;

/// A process that opens a stream, and its extra.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrier {
    pub(crate) process: ProcessId,
    pub(crate) extra: ExtraIndex,
}

impl Extras {
    /// Opens a stream; `None` if the table is full.
    pub(crate) fn open_stream(
        &mut self,
        carrier: Carrier,
        opening: Box<dyn Any>,
        tag: u32,
    ) -> Option<StreamId> {
        let listing = Listing { carrier: carrier.extra, place: self.carries(Some(carrier.extra)) };
        let listing = Some(listing);
        let (is_ready, is_awake) = (false, false);
        let stream = match self.spare.pop() {
            Some(mut stream) => {
                stream.carriage.renew(opening);
                (stream.tag, stream.listing) = (tag, listing);
                (stream.is_ready, stream.is_awake) = (is_ready, is_awake);
                stream
            }
            None => {
                let carriage = Carriage::new(opening);
                Box::new(Stream { tag, carriage, listing, is_ready, is_awake })
            }
        };
        let extra = Extra { stream: Some(stream), ..Extra::default() };
        let id = StreamId::new(self.table.insert(extra).ok()?, tag);
        self.list_of(carrier)?.all.push(id);
        self.opened.push_back(id);
        Some(id)
    }

    /// The list of a carrier, which has one from now on.
    fn list_of(&mut self, carrier: Carrier) -> Option<&mut StreamList> {
        let Carrier { process, extra } = carrier;
        if self.at(extra)?.list.is_none() {
            let mut list = self.spare_lists.pop().unwrap_or_else(|| {
                let (all, ready) = (Vec::new(), VecDeque::new());
                let share = Share::default();
                Box::new(StreamList { carrier: process, all, ready, is_stirred: false, share })
            });
            list.carrier = process;
            self.at(extra)?.list = Some(list);
        }
        self.at(extra)?.list.as_deref_mut()
    }

    /// Takes the list of a carrier without streams, for another one.
    pub(crate) fn take_empty_list(&mut self, carrier: ExtraIndex) {
        let is_over = |list: &mut Box<StreamList>| list.all.is_empty() && !list.is_stirred;
        let list = self.at(carrier).and_then(|extra| extra.list.take_if(is_over));
        if let Some(mut list) = list.filter(|_| self.spare_lists.len() < SPARE_STREAMS) {
            list.ready.clear();
            list.share = Share::default();
            self.spare_lists.push(list);
        }
    }

    /// The carriage of a stream, if this process carries it.
    pub(crate) fn carriage_for(
        &mut self,
        carrier: ExtraIndex,
        stream: StreamId,
    ) -> Option<&mut Carriage> {
        let stream = self.table.lookup(stream.place())?.stream.as_mut()?;
        let is_ours = stream.listing.is_some_and(|listing| listing.carrier == carrier);
        is_ours.then_some(&mut stream.carriage)
    }

    /// The next stream that has something for this carrier.
    pub(crate) fn next_ready(&mut self, carrier: ExtraIndex) -> Option<StreamId> {
        loop {
            let id = self.at(carrier)?.list.as_mut()?.ready.pop_front()?;
            if let Some(stream) = self.stream(id)
                && stream.listing.is_some()
            {
                stream.is_ready = false;
                return Some(id);
            }
        }
    }

    /// Lists a stream as one that has something, behind the others. Returns the carrier's place if it was not listed
    /// yet.
    pub(crate) fn put_back(&mut self, id: StreamId) -> Option<ExtraIndex> {
        let stream = self.stream(id)?;
        let Listing { carrier, .. } = stream.listing?;
        if std::mem::replace(&mut stream.is_ready, true) {
            return None;
        }
        self.at(carrier)?.list.as_mut()?.ready.push_back(id);
        Some(carrier)
    }

    /// The carrier lets go of a stream: its process ends, unless it has.
    pub(crate) fn let_go(&mut self, id: StreamId) {
        self.unlist(id);
        let Some(stream) = self.stream(id) else { return };
        let before = stream.carriage.input_capacity();
        match stream.carriage.stage() {
            Stage::Opened | Stage::Ended(_) => {
                self.count_handed(before, 0);
                self.remove_stream(id);
            }
            Stage::Lives(_) => {
                if !stream.carriage.is_over() {
                    stream.carriage.reset();
                    self.count_handed(before, 0);
                }
                self.wake(id);
            }
        }
    }

    /// Removes a stream from its carrier's list.
    fn unlist(&mut self, id: StreamId) {
        let Some(listing) = self.stream(id).and_then(|stream| stream.listing.take()) else {
            return;
        };
        let list = self.at(listing.carrier).and_then(|extra| extra.list.as_mut());
        let Some(list) = list.filter(|list| listing.place < list.all.len()) else { return };
        list.all.swap_remove(listing.place);
        if let Some(moved) = list.all.get(listing.place).copied()
            && let Some(stream) = self.stream(moved)
        {
            stream.listing = Some(listing);
        }
    }

    /// The process of a stream has to be visited.
    pub(crate) fn wake(&mut self, id: StreamId) {
        if let Some(stream) = self.stream(id)
            && !std::mem::replace(&mut stream.is_awake, true)
        {
            self.awake.push_back(id);
        }
    }

    pub(super) fn stream(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.table.lookup(id.place())?.stream.as_deref_mut()
    }

    /// The name of the stream whose extra this is.
    pub(super) fn name_of(&mut self, index: ExtraIndex) -> Option<StreamId> {
        let place = self.table.id_at(index.slot())?;
        let tag = self.at(index)?.stream.as_ref()?.tag;
        Some(StreamId::new(place, tag))
    }

    /// Frees the room that is kept for other streams and carriers.
    pub(crate) fn free_spare(&mut self) {
        self.spare = Vec::new();
        self.spare_lists = Vec::new();
    }

    /// Removes a stream that is over. Its room is kept for another one.
    pub(super) fn remove_stream(&mut self, id: StreamId) {
        let Some(mut stream) = self.table.remove(id.place()).and_then(|extra| extra.stream) else {
            return;
        };
        if self.spare.len() < SPARE_STREAMS {
            stream.carriage.clear();
            self.spare.push(stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_streams_that_are_over_is_for_the_next_ones_until_it_is_given_back() {
        let mut extras = Extras::new(8);
        let process = ProcessId::from_bits(1);
        let extra = extras.claim(process).expect("the table is empty");
        let carrier = Carrier { process, extra };
        let open = |extras: &mut Extras| {
            extras.open_stream(carrier, Box::new(()), 0).expect("the table has room for eight")
        };
        let streams = [open(&mut extras), open(&mut extras), open(&mut extras)];
        streams.into_iter().for_each(|stream| extras.let_go(stream));
        assert_eq!((extras.spare.len(), extras.spare_lists.len()), (3, 0));
        extras.take_empty_list(extra);
        assert_eq!(extras.spare_lists.len(), 1);
        let last = open(&mut extras);
        assert_eq!((extras.spare.len(), extras.spare_lists.len()), (2, 0));
        extras.take_empty_list(extra);
        assert_eq!(extras.carries(Some(extra)), 1, "a list with a stream stays");
        extras.let_go(last);
        extras.take_empty_list(extra);
        extras.free_spare();
        assert_eq!((extras.spare.capacity(), extras.spare_lists.capacity()), (0, 0));
    }
}

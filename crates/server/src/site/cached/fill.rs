//! An answer that is being received for the cache.
//!
//! Owns its bytes until it is whole. It is received as fast as the server sends, whatever its readers do, so a slow
//! client or one that closes delays nobody. If it turns out too long to be stored, the slowest reader sets the pace.
//! What is cut is never stored.

use std::rc::Rc;

use cache::{Cache, FetchId, Object, Terms, Worth};
use client::{Client, ExchangeId, Failure, Head, News};
use proxy::Outcome;
use runtime::slots::ProcessId;

use super::desk::{Caches, Run};
use crate::limits::{CACHE_RESERVE_STEP, CACHE_WINDOW, PROXY_PART_SIZE};
use crate::site::proxy::Proxies;
use crate::site::proxy::answer_head::length_of;
use crate::site::proxy::carried::Place;

/// The answer.
#[derive(Debug)]
pub(super) struct Fill {
    upstream: Rc<str>,
    exchange: ExchangeId,
    place: Place,
    /// Its head, and its body once that is whole.
    object: Rc<Object>,
    /// The length that its head says.
    length: Option<u64>,
    body: Vec<u8>,
    /// Bytes that were in front of `body`, and that all readers have.
    dropped: usize,
    /// Bytes of the cache that it uses.
    reserved: usize,
    use_of_it: Use,
    progress: Progress,
    readers: Vec<Reader>,
}

#[derive(Debug)]
struct Reader {
    process: ProcessId,
    sent: usize,
}

/// Whether it will be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Stored,
    /// It is too long: it is only passed on.
    Passed,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Arriving,
    Whole,
    /// The rest will not come.
    Cut,
}

impl Fill {
    pub(super) fn upstream(&self) -> &str {
        &self.upstream
    }

    pub(super) fn object(&self) -> &Rc<Object> {
        &self.object
    }

    /// The length of its body, if it is known.
    pub(super) fn length(&self) -> Option<u64> {
        let is_whole = self.progress == Progress::Whole && self.dropped == 0;
        self.length.or_else(|| is_whole.then(|| self.bytes().len() as u64))
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress
    }

    /// The bytes behind those that a reader has, at most one part of them; and whether more are there.
    pub(super) fn part(&self, sent: usize) -> (&[u8], bool) {
        let bytes = self.bytes();
        let rest = bytes.get(sent.saturating_sub(self.dropped)..).unwrap_or_default();
        let part = rest.get(..PROXY_PART_SIZE).unwrap_or(rest);
        (part, part.len() < rest.len())
    }

    fn bytes(&self) -> &[u8] {
        match self.progress {
            Progress::Whole if self.use_of_it == Use::Stored => self.object.body(),
            _ => &self.body,
        }
    }

    /// A reader has so many bytes.
    pub(super) fn note_sent(&mut self, process: ProcessId, sent: usize) {
        match self.readers.iter_mut().find(|reader| reader.process == process) {
            Some(reader) => reader.sent = sent,
            None => self.readers.push(Reader { process, sent }),
        }
        if self.use_of_it == Use::Passed {
            let least = self.slowest();
            self.body.drain(..least.saturating_sub(self.dropped).min(self.body.len()));
            self.dropped = self.dropped.max(least);
        }
    }

    fn slowest(&self) -> usize {
        self.readers.iter().map(|reader| reader.sent).min().unwrap_or(self.dropped)
    }

    /// Bytes that are taken now.
    fn room(&self) -> usize {
        match self.use_of_it {
            Use::Stored => PROXY_PART_SIZE,
            Use::Passed => CACHE_WINDOW.saturating_sub(self.body.len()),
        }
    }

    fn take(&mut self, bytes: &[u8], cache: Option<&mut Cache>) {
        self.body.extend_from_slice(bytes);
        if self.use_of_it == Use::Passed {
            return;
        }
        let Some(cache) = cache else {
            self.use_of_it = Use::Passed;
            return;
        };
        let most = cache.rules().object;
        let mut fits = self.body.len() <= most;
        let step = CACHE_RESERVE_STEP.min(most);
        while fits && self.reserved < self.body.len() {
            fits = cache.reserve(step);
            self.reserved += if fits { step } else { 0 };
        }
        if !fits {
            self.use_of_it = Use::Passed;
            cache.give_back(std::mem::take(&mut self.reserved));
        }
    }
}

impl Caches {
    /// The head of an answer is there, which is stored once it is whole. Those that wait for it look again.
    pub(super) fn begin_fill(
        &mut self,
        upstream: &Rc<str>,
        fetch: FetchId,
        terms: Terms,
        (head, exchange, place): (&Head, ExchangeId, Place),
    ) {
        let now = self.now();
        let Some((_, kept)) = self.of(upstream) else { return };
        let answer = cache::Answer { status: head.status, fields: head.fields.fields() };
        let rules = kept.cache.rules();
        let object = Object::new(&answer, Vec::new(), terms.clone(), rules, now);
        let fill = Fill {
            upstream: Rc::clone(upstream),
            exchange,
            place,
            object: Rc::new(object),
            length: length_of(head),
            body: Vec::new(),
            dropped: 0,
            reserved: 0,
            use_of_it: Use::Stored,
            progress: Progress::Arriving,
            readers: Vec::new(),
        };
        let waiters = self.fetches.know(fetch, terms);
        self.call(waiters);
        self.run(fetch, exchange, Run::Fills(Box::new(fill)));
    }

    /// Receives what there is of an answer.
    pub(super) fn pump(
        &mut self,
        fetch: FetchId,
        client: &mut Client,
        proxies: &mut Proxies,
        now_ns: u64,
    ) {
        let Some((fill, mut cache)) = self.filling(fetch) else { return };
        if fill.progress != Progress::Arriving {
            return;
        }
        let (before, mut ended) = (fill.body.len(), None);
        while ended.is_none() && fill.room() > 0 {
            match client.next(fill.exchange, fill.room(), now_ns) {
                None => break,
                Some(News::Body(bytes)) => fill.take(&bytes, cache.as_deref_mut()),
                Some(News::End) => ended = Some(Ok(())),
                Some(News::Failed(failure)) => ended = Some(Err(failure)),
                // What follows a body is not stored (RFC 9111 section 3.1).
                Some(News::Trailers(_) | News::Interim(_) | News::Head(_) | News::Room) => {}
            }
        }
        let has_news = fill.body.len() > before || ended.is_some();
        let readers: Vec<ProcessId> = fill.readers.iter().map(|reader| reader.process).collect();
        let is_passed = fill.use_of_it == Use::Passed;
        if has_news {
            self.call(readers);
        }
        if is_passed {
            // Nobody else begins to read.
            self.fetches.end(fetch);
        }
        if let Some(ended) = ended {
            self.finish(fetch, ended, proxies, now_ns);
        } else if is_passed {
            self.drop_if_unread(fetch, client, proxies);
        }
    }

    /// An answer is whole, or cut.
    fn finish(
        &mut self,
        fetch: FetchId,
        ended: Result<(), Failure>,
        proxies: &mut Proxies,
        now_ns: u64,
    ) {
        let fetched = self.fetches.end(fetch);
        let Some((fill, cache)) = self.filling(fetch) else { return };
        let (exchange, place, is_unread) = (fill.exchange, fill.place, fill.readers.is_empty());
        if let Some(cache) = cache {
            cache.give_back(std::mem::take(&mut fill.reserved));
            if ended.is_ok() && fill.use_of_it == Use::Stored {
                fill.object = Rc::new(fill.object.with_body(std::mem::take(&mut fill.body)));
                if let Some(fetched) = fetched.filter(|fetched| fetched.worth == Worth::Storing) {
                    let request = fetched.request.fields();
                    cache.store(&fetched.key, Rc::clone(&fill.object), &request);
                }
            }
        } else {
            fill.use_of_it = Use::Passed;
        }
        fill.progress = if ended.is_ok() { Progress::Whole } else { Progress::Cut };
        match ended {
            Ok(()) => proxies.release(place),
            Err(failure) => {
                let what = |address: &str| failure.at(address).to_string();
                proxies.note_at(place, (Outcome::Failed, &what), now_ns);
            }
        }
        self.end_exchange(exchange);
        if is_unread {
            self.end_run(fetch);
        }
    }

    /// A client does not read any longer, or has everything. What is to be stored is received all the same.
    pub(super) fn stop_reading(
        &mut self,
        fetch: FetchId,
        process: ProcessId,
        client: &mut Client,
        proxies: &mut Proxies,
    ) {
        let Some((fill, _)) = self.filling(fetch) else { return };
        fill.readers.retain(|reader| reader.process != process);
        if fill.readers.is_empty() && fill.progress != Progress::Arriving {
            self.end_run(fetch);
        } else {
            self.drop_if_unread(fetch, client, proxies);
        }
    }

    /// What is neither stored nor read is not received.
    fn drop_if_unread(&mut self, fetch: FetchId, client: &mut Client, proxies: &mut Proxies) {
        let Some((fill, _)) = self.filling(fetch) else { return };
        if fill.readers.is_empty() && fill.use_of_it == Use::Passed {
            let (exchange, place) = (fill.exchange, fill.place);
            client.cancel(exchange);
            proxies.release(place);
            self.end_exchange(exchange);
            self.end_run(fetch);
        }
    }
}

//! The answers that are being received.
//!
//! Owns when one begins, what follows when it ends, and that nothing is received that nobody wants.

use std::rc::Rc;

use cache::{FetchId, Object, StorageTerms, Worth};
use client::{Client, ExchangeFailure, ResponseHead};
use proxy::RequestOutcome;
use runtime::slots::ProcessId;

use super::fill::{Fill, Progress, Source};
use super::{Caches, Run};
use crate::site::outgoing::proxy::Proxies;

impl Caches {
    /// The head of an answer is there, which is stored once it is whole. Those that wait for it look again.
    pub(in crate::site) fn begin_fill(
        &mut self,
        upstream: &Rc<str>,
        fetch: FetchId,
        terms: StorageTerms,
        (head, source): (&ResponseHead, Source),
    ) {
        let now = self.now();
        let Some((_, kept)) = self.of(upstream) else { return };
        let answer = cache::AnswerHead { status: head.status, fields: head.fields.fields() };
        let object = Object::new(&answer, Vec::new(), terms.clone(), kept.cache.rules(), now);
        let reserved = kept.cache.reservation();
        let fill = Fill::new(upstream, source, head, (object, reserved));
        let waiters = self.fetches.know(fetch, terms);
        self.call(waiters);
        self.run(fetch, source.exchange, Run::Fills(Box::new(fill)));
    }

    /// Receives what there is of an answer.
    pub(in crate::site) fn pump(
        &mut self,
        fetch: FetchId,
        client: &mut Client,
        proxies: &mut Proxies,
        now_ns: u64,
    ) {
        let Some((fill, cache)) = self.filling(fetch) else { return };
        let before = fill.held();
        let ended = fill.receive(client, cache, now_ns);
        let has_news = fill.held() > before || ended.is_some();
        let (readers, is_only_passed) = (fill.readers(), fill.is_only_passed());
        if has_news {
            self.call(readers);
        }
        if is_only_passed {
            // Nobody else begins to read.
            if let Some(fetched) = self.fetches.end(fetch) {
                self.begin_saving(fetch, fetched);
            }
        }
        if let Some(ended) = ended {
            self.finish(fetch, ended, proxies, now_ns);
        } else if is_only_passed {
            self.drop_if_unread(fetch, client, proxies);
        }
        self.feed_disk(fetch);
    }

    /// An answer is whole, or cut.
    fn finish(
        &mut self,
        fetch: FetchId,
        ended: Result<(), ExchangeFailure>,
        proxies: &mut Proxies,
        now_ns: u64,
    ) {
        let fetched = self.fetches.end(fetch);
        let now = self.now();
        let Some((fill, cache)) = self.filling(fetch) else { return };
        let progress = if ended.is_ok() { Progress::Whole } else { Progress::Cut };
        let object = fill.finish(progress, cache.as_deref());
        let (Source { exchange, place }, is_unread) =
            (fill.source(), fill.readers().is_empty() && !fill.is_saving());
        let upstream: Rc<str> = fill.upstream().into();
        let fetched = fetched.filter(|fetched| fetched.worth == Worth::Storing);
        if let (Some(object), Some(fetched)) = (object, fetched)
            && let Some((upstream, kept, disk)) = self.of_with_disk(&upstream)
        {
            kept.store((disk, &upstream), (&fetched.key, object), &fetched.request, now);
        }
        match ended {
            Ok(()) => proxies.end(place, now_ns),
            Err(failure) => {
                let what = |address: &str| failure.in_log(address);
                proxies.note_at(place, (RequestOutcome::Failed, &what), now_ns);
            }
        }
        self.end_exchange(exchange);
        if is_unread {
            self.end_run(fetch);
        }
    }

    /// A client does not read any longer, or has everything. What is to be stored is received all the same.
    pub(in crate::site) fn stop_reading(
        &mut self,
        fetch: FetchId,
        process: ProcessId,
        client: &mut Client,
        proxies: &mut Proxies,
    ) {
        let Some((fill, _)) = self.filling(fetch) else { return };
        fill.lose(process);
        let is_over = fill.progress() != Progress::Arriving && !fill.is_saving();
        if fill.is_saving() {
            // It may have been the slowest: then there is room for more, which only the disk reads.
            self.stirred.push(fetch);
        }
        let Some((fill, _)) = self.filling(fetch) else { return };
        if fill.readers().is_empty() && is_over {
            self.end_run(fetch);
        } else {
            self.drop_if_unread(fetch, client, proxies);
        }
    }

    /// Drops every answer without a reader.
    pub(super) fn drop_unread(&mut self, client: &mut Client, proxies: &mut Proxies) {
        let is_draining = self.is_draining();
        for (exchange, fetch) in self.by_exchange.clone() {
            match self.run_of(fetch) {
                Some(Run::Fills(_)) => self.drop_if_unread(fetch, client, proxies),
                Some(Run::Asked { place, .. }) if is_draining => {
                    let source = Source { exchange, place: *place };
                    self.drop_run(fetch, source, client, proxies);
                }
                Some(Run::Asked { .. }) | None => {}
            }
        }
    }

    /// An answer that is neither stored nor read is not received.
    pub(super) fn drop_if_unread(
        &mut self,
        fetch: FetchId,
        client: &mut Client,
        proxies: &mut Proxies,
    ) {
        // The fetch of an answer that is too long has ended.
        let worth = self.fetches.get(fetch).map(|fetched| fetched.worth);
        if worth == Some(Worth::Storing) && !self.is_draining() {
            return;
        }
        let is_draining = self.is_draining();
        let Some((fill, _)) = self.filling(fetch) else { return };
        if fill.is_saving() && !is_draining {
            return;
        }
        if fill.readers().is_empty() && fill.progress() == Progress::Arriving {
            let source = fill.source();
            self.abort_saving(fetch);
            self.drop_run(fetch, source, client, proxies);
        }
    }

    fn drop_run(
        &mut self,
        fetch: FetchId,
        source: Source,
        client: &mut Client,
        proxies: &mut Proxies,
    ) {
        client.cancel(source.exchange);
        proxies.give_up(source.place);
        self.end_exchange(source.exchange);
        self.end_run(fetch);
        self.end_fetch(fetch);
    }
}

//! Answers that must not be used any more: their resource was changed, or an operator has purged them.
//!
//! Owns what that means on this scheduler, and that the others are told.

use cache::AnswerKey;
use client::{Client, ResponseHead};

use super::Caches;
use crate::cache_order::CacheOrder;
use crate::site::outgoing::proxy::Proxies;

impl Caches {
    /// Forgets it. An answer that is being received may be older than the change, so it is not stored.
    pub(crate) fn obey(&mut self, order: &CacheOrder, client: &mut Client, proxies: &mut Proxies) {
        let called = match order {
            CacheOrder::Purge(pattern) => {
                self.by_upstream.values_mut().for_each(|kept| kept.cache.purge(pattern.clone()));
                self.disk.purge(pattern);
                self.fetches.spoil(|key| pattern.includes(key))
            }
            CacheOrder::Changed { upstream, uri } => {
                if let Some((_, kept, disk)) = self.of_with_disk(upstream) {
                    kept.cache.invalidate(uri);
                    if let Some(directory) = &kept.directory {
                        disk.forget(directory, uri);
                    }
                }
                self.fetches.spoil(|key| **key.text() == **uri)
            }
        };
        self.call(called);
        self.drop_unread(client, proxies);
    }

    /// A server has answered a request that changes a resource (RFC 9111 section 4.4).
    pub(in crate::site) fn note_change(
        &mut self,
        (upstream, mut keys): (&str, Vec<AnswerKey>),
        head: &ResponseHead,
        client: &mut Client,
        proxies: &mut Proxies,
    ) {
        if !(200..400).contains(&head.status) {
            return;
        }
        let fields = head.fields.fields();
        let named = ["location", "content-location"].into_iter().filter_map(|name| {
            let reference = fields.first(name).and_then(|value| str::from_utf8(value).ok())?;
            keys.first()?.referred(reference)
        });
        let named: Vec<AnswerKey> = named.collect();
        keys.extend(named);
        for key in keys {
            let order =
                CacheOrder::Changed { upstream: upstream.into(), uri: (**key.text()).into() };
            self.obey(&order, client, proxies);
            self.tell_others(order);
        }
    }
}

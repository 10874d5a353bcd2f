//! Answers of servers that nobody wants any more.
//!
//! Owns when the connection of one can be used again. Never answers a request.

use client::{ExchangeId, ExchangeNews};

use crate::limits::PROXY_PART_SIZE;
use crate::site::Site;

impl Site {
    /// Nobody wants the rest of an answer. What of it is here is taken, so its connection can be used again if that is
    /// all.
    pub(in crate::site) fn drop_answer(&mut self, id: ExchangeId, now_ns: u64) {
        let client = self.outgoing.client.exchanges();
        let is_over = loop {
            match client.next(id, PROXY_PART_SIZE, now_ns) {
                Some(ExchangeNews::End | ExchangeNews::Failed(_)) => break true,
                Some(_) => {}
                None => break false,
            }
        };
        if !is_over {
            client.cancel(id);
        }
    }
}

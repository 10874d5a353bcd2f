//! The commits of the store that pages wait for.
//!
//! Owns when the writer is asked to report one.

use runtime::service::ServiceContext;

use super::{Notice, StoreClient};
use crate::limits::WATCH_REST_MS;
use crate::message::ToStoreWriter;

impl StoreClient {
    /// Handles a reported commit.
    pub fn note_committed(&mut self, now_ms: u64) {
        self.notice = Notice { is_awaited: false, next_ms: now_ms + WATCH_REST_MS };
        // The next snapshot includes the commit.
        self.store.end_snapshot();
    }

    /// Asks the writer to report the next commit after this one, for pages that wait for it.
    pub fn ask_for_commit<M>(&mut self, known: u64, context: &mut ServiceContext<'_, M>)
    where
        M: From<ToStoreWriter> + TryInto<ToStoreWriter> + Send,
    {
        if self.notice.is_awaited {
            return;
        }
        let left_ms = self.notice.next_ms.saturating_sub(context.now.monotonic_ms());
        if left_ms > 0 {
            context.wake_after_ms(left_ms);
            return;
        }
        match context.mail.send_part(self.writer, ToStoreWriter::TellCommit(known)) {
            Ok(()) => self.notice.is_awaited = true,
            Err(_) => context.wake_after_ms(1),
        }
    }
}

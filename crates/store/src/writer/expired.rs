//! Deletes keys that have expired.
//!
//! Owns how many at a time. Never decides when to search for them.

use super::Writer;
use crate::failure::StoreFailure;
use crate::limits::EXPIRED_PER_COMMIT;
use crate::replication::moved;
use crate::table::Table;

impl Writer {
    /// Deletes a limited number of expired keys of each database. Returns whether more may be left.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn delete_expired(&mut self, now_ms: u64) -> Result<bool, StoreFailure> {
        let now_ms = moved(now_ms, self.clock.ahead());
        // Usually no key has expired, and an empty commit would cost time.
        let mut due = Vec::new();
        let snapshot = self.map.read_txn()?;
        for table in &*self.tables {
            if table.has_expired(&snapshot, now_ms)? {
                due.push(*table);
            }
        }
        drop(snapshot);
        if due.is_empty() {
            return Ok(false);
        }
        self.insist(|writer| writer.delete_due(&due, now_ms))
    }

    fn delete_due(&mut self, due: &[Table], now_ms: u64) -> Result<bool, StoreFailure> {
        let map = self.map.clone();
        let (_lock, mut transaction) = self.begin(&map)?;
        let mut is_left = false;
        for table in due {
            let deleted = table.delete_expired(&mut transaction, now_ms, EXPIRED_PER_COMMIT)?;
            is_left |= deleted == EXPIRED_PER_COMMIT;
        }
        // Not logged: if a power failure brings the key back, it is still expired.
        transaction.commit().map_err(|error| self.checkpoints.why_not_written(error))?;
        Ok(is_left)
    }
}

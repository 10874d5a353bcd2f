//! Access to a runner for tests of other crates.
//!
//! Owns how it is made to fail. Not compiled into a server.

use super::Runner;

impl Runner {
    /// From now on a request for the first page of the first root panics, because its row of counters is missing.
    pub fn count_nowhere(&mut self) {
        self.roots.lose_row();
    }
}

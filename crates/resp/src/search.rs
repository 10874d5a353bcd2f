//! The list of a running `KEYS`, or the search for the key of a cursor, between turns.

#[derive(Debug, Default)]
pub(crate) struct Search {
    /// The matching keys so far, encoded as a reply.
    pub(crate) keys: Vec<u8>,
    /// The number of matching keys.
    pub(crate) count: usize,
    /// The key at which it goes on in the next turn.
    pub(crate) from: Option<Vec<u8>>,
}

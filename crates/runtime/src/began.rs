//! Which side began a connection.
//!
//! Owns the choice alone: a handshake of an accepted connection counts towards a bound of the scheduler.

/// The side that began a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Began {
    Peer,
    Here,
}

//! Families of processes as the engine of processes charges them.
//!
//! Owns whose CPU budget a process uses. The account of a family's memory is the engine's.

use std::rc::Rc;

use script::engine::MemoryAccount;

/// All processes that descend from one request.
pub(super) type Family = actors::Family<Rc<MemoryAccount>>;
/// One of them.
pub(super) type Member = actors::FamilyMember<Rc<MemoryAccount>>;

/// The CPU budget that a process uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Budget {
    /// Its own, because it answers a request.
    Own,
    /// That of its family, because it was spawned.
    Shared,
}

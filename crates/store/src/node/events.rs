//! The options with which a node begins, and its reports.
//!
//! Plain data only.

use crate::failure::StoreFailure;
use crate::order::Executed;
use crate::replication::{LeaderTerm, ReplicationPeer, SetAside};
use crate::writer::NotApplied;

/// The role that a store is given when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreRole {
    /// It leads, if it has no history yet.
    Leader,
    /// It follows a leader.
    Replica,
}

/// The options that a node needs to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicatorOptions {
    /// The role of a store without a history. Later, the store itself knows.
    pub role: StoreRole,
    /// A random number for this start of the program.
    pub me: ReplicationPeer,
    /// A random number, for a history that begins.
    pub origin: u64,
    /// How long an order waits for the leader.
    pub wait_ms: u64,
}

/// An event of a node that a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicationEvent {
    /// A later term has begun without a word: this store leads no more.
    Fenced(LeaderTerm),
    /// The same while this store stood still for a replica that is to lead. It may have been asked too late.
    HandedOver(LeaderTerm),
    /// Records that the leader does not have are set aside.
    SetAside(SetAside),
    /// A snapshot is requested, because the records after this number are missing, or are others.
    SnapshotBegun(u64),
    /// The snapshot is there; it ends at this number.
    SnapshotTaken(u64),
    /// The replica does not catch up with its leader: its number, and the leader's if it is heard.
    Behind(u64, Option<u64>),
    /// Records or a snapshot could not be applied.
    NotApplied(NotApplied),
    /// A node with another history is there: its store does not belong to this one.
    OtherHistory(ReplicationPeer),
    /// A node sends what this version of the program cannot read: the number of its encoding.
    OtherVersion(u8),
}

/// A store that leads now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// The term that has begun.
    pub term: LeaderTerm,
    /// The number of the last record of the last leader, if that one has stopped first: nothing of it is set aside.
    pub handed_over: Option<u64>,
}

/// Why a store does not become the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromoteRefused {
    /// It is the leader.
    Leads,
    /// It has nothing yet.
    HasNothing,
    /// Its leader is well and does not stop for it: it may just do that for another store.
    Unanswered,
    /// Its leader has stopped for it at this record, and it did not get so far in time.
    Incomplete(u64),
    /// Another store has begun a term meanwhile.
    OtherTerm(LeaderTerm),
    /// Its store failed.
    Store(StoreFailure),
}

/// The report of a node on itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicationStatus {
    /// The role now.
    pub role: StoreRole,
    /// The last term that it has heard of.
    pub term: LeaderTerm,
    /// The number of its last record.
    pub number: u64,
    /// The last number of the leader that it has heard of.
    pub leader_number: u64,
    /// Whether the leader was heard of lately; true for a leader.
    pub hears_leader: bool,
}

/// The results of a message of orders, for the one that has given it this number.
pub type DoneOrders = (u64, Vec<Result<Executed, StoreFailure>>);

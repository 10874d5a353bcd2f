//! Replication: stores of other programs that follow this one, record by record.
//!
//! A leader makes a record of each commit: its term, its number, the hash of the record before, and the changes. A
//! replica applies each record in the same order, and refuses one that does not continue its history. Owns the records,
//! the terms of leaders, and what nodes tell each other, as bytes. Knows no transport, no thread and no clock.

mod aside;
mod bytes;
mod clock;
mod fragments;
mod history;
mod kept;
mod ledger;
mod order_bytes;
mod place;
mod record;
mod result_bytes;
mod spool;
mod talk;

pub use self::aside::{AsideRecords, SetAside};
pub(crate) use self::aside::{copy_aside, place_aside, set_aside};
pub use self::bytes::Cut;
pub(crate) use self::clock::{
    ClockWatch, LeaderClock, move_orders, move_outcome, move_result, moved,
};
pub(crate) use self::fragments::{Assembly, cut};
pub(crate) use self::history::{Continuation, History, mark};
pub use self::ledger::Standing;
pub(crate) use self::ledger::{Ledger, Place};
pub use self::order_bytes::{OrderUnread, decode_orders, encode_orders};
pub use self::place::{LeaderTerm, StorePosition};
pub use self::record::{CommitRecord, RecordedChange, Unfollowed};
pub use self::result_bytes::{decode_results, encode_results};
pub use self::spool::{SnapshotSpool, Spooled};
pub use self::talk::{ReplicationPeer, SnapshotCursor, SnapshotEnd, SnapshotPiece};
pub(crate) use self::talk::{Talk, TalkHead, TalkUnread};

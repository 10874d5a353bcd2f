//! A key/value store in one file that many threads read without locks and one thread writes.
//!
//! The engine is LMDB (<http://www.lmdb.tech/doc/>): a copy-on-write B+ tree in a memory map. A
//! reader takes a [`Snapshot`] and sees the store as of the last commit. All changes go to one
//! [`Writer`], which executes the [`Order`]s of many clients in one transaction (group commit),
//! because most of the cost of a commit is waiting for the disk.
//!
//! Shapes and units: a key has 1 to 503 bytes, a value at most 16 MiB. Times are milliseconds since
//! 1970 and always arguments: nothing here reads a clock. Databases are named when the store is
//! opened; each has its own keys.
//!
//! ```
//! use store::{DatabaseChange, Database, Order, StepOutcome, Query, Store, Sync, StoreOptions, Value};
//!
//! let directory = std::env::temp_dir().join(format!("velodrome-store-doc-{}", std::process::id()));
//! let settings = StoreOptions { databases: vec!["cards".to_owned()], ..StoreOptions::new(&directory) };
//! let store = Store::open(&settings).unwrap();
//! let mut writer = store.writer();
//! let order = Order::of(Database(0), DatabaseChange::put(b"1017", Value::bytes(b"Ada Lovelace")));
//! writer.execute(&[order], 0).pop().unwrap().unwrap();
//! let snapshot = store.snapshot().unwrap();
//! let record = snapshot.get(Database(0), b"1017", 0).unwrap().unwrap();
//! assert_eq!(record.bytes, b"Ada Lovelace");
//! # drop(snapshot);
//! # std::fs::remove_dir_all(directory).unwrap();
//! ```

mod change;
mod checkpoint;
mod checksum;
mod copies;
mod decimal;
mod facts;
mod failure;
mod ffi;
mod file;
mod hot_keys;
mod lending;
pub mod limits;
mod load;
mod log;
mod node;
mod options;
mod order;
mod outcome;
mod page;
mod query;
mod readers;
mod record;
mod replication;
mod reserve;
mod room;
mod scan;
mod snapshot;
mod store;
mod table;
mod turn;
mod versions;
mod work;
mod writer;

pub use change::{DatabaseChange, Expiry, ExpiryOnly, KeyTransfer, Old, Only, Pair};
pub use checkpoint::{Checkpoint, MadeCheckpoint};
pub use copies::compact;
pub use failure::{Misuse, StoreFailure};
pub use file::DATA_FILE;
pub use lending::LentValue;
pub use load::{LoadFailure, LoadedRow};
pub use node::{
    DoneOrders, PromoteRefused, Promoted, ReplicationEvent, ReplicationMoment, ReplicationNews,
    ReplicationOrder, ReplicationStatus, Replicator, ReplicatorOptions, StoreRole,
};
pub use options::{Membership, StoreOptions, Sync};
pub use order::{Database, Executed, Order, OrderCondition, StoreOperation};
pub use outcome::{Remaining, StepOutcome};
pub use page::{PageOf, ScanPage, With};
pub use query::Query;
pub use readers::SnapshotReader;
pub use record::{Record, StoredEntry, Value, ValueKind};
pub use replication::{
    AsideRecords, CommitRecord, Cut, LeaderTerm, OrderUnread, RecordedChange, ReplicationPeer,
    SetAside, SnapshotCursor, SnapshotEnd, SnapshotPiece, SnapshotSpool, Spooled, Standing,
    StorePosition, Unfollowed, decode_orders, decode_results, encode_orders, encode_results,
};
pub use scan::{ScanNumber, Visited};
pub use snapshot::{Ends, Snapshot};
pub use store::{Store, StoreUsage};
pub use turn::{HeldSnapshot, TurnStore};
pub use writer::{NotApplied, Writer};

//! A store's node: the leader of a history, or a replica of it.
//!
//! Owns who may write, and what nodes tell each other. It takes news of a transport, orders of clients and the time,
//! drives the writer of its store, and gives messages, results and events. Knows no transport, no thread and no clock;
//! a transport may lose, repeat, delay and reorder what it carries.

mod comers;
mod events;
mod following;
mod forwards;
mod hand_over;
mod leading;
mod post;
mod replicator;
mod taking;

pub use self::events::{
    DoneOrders, PromoteRefused, Promoted, ReplicationEvent, ReplicationStatus, ReplicatorOptions,
    StoreRole,
};
pub use self::post::{ReplicationMoment, ReplicationNews, ReplicationOrder};
pub use self::replicator::Replicator;

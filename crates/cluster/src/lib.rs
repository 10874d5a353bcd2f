//! One scheduler's link to NATS: channels beyond one machine.
//!
//! Owns the translation of what channels want ([`channels::ClusterOrder`]) into operations of NATS, and back into what
//! they hear ([`channels::ClusterNews`]): subjects, streams and their epochs, commits that are sent again, histories
//! with proof of what is missing, nodes and their leases. Carries bytes between the stores of nodes. Knows no hub of
//! channels, no store, no socket, no HTTP and no configuration; time is an argument.

mod body;
mod commits;
mod confirmations;
mod doubt;
mod fault;
mod following;
mod handshake;
mod held;
mod leases;
mod likeness;
pub mod limits;
mod link;
mod mail;
mod marks;
mod member_form;
mod nkey;
mod nodes;
mod plan;
mod questions;
mod reads;
mod servers;
mod sign_form;
mod speech;
mod stats;
mod stream_forms;
mod streams;
mod subjects;
mod times;
mod trial;

pub use fault::LinkFault;
pub use handshake::NatsInfo;
pub use leases::LeaseHolder;
pub use link::{LinkEvent, NatsLink};
pub use mail::{StoreMail, StoreMailNews};
pub use nkey::{SeedProblem, UserKey};
pub use nodes::NodeView;
pub use plan::{
    ClusterPlan, LinkEncryption, LinkSeat, NatsCredentials, NatsLogin, NatsServer, StreamPlan,
};
pub use stats::LinkStats;
pub use trial::{NatsTrial, TrialFindings};

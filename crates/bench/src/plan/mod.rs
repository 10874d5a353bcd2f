//! The plan of a run: where, how fast, how many, for how long.
//!
//! Owns the plan, complete and checked: requests are bytes, names are addresses, every limit holds.
//! Never opens a connection and never reads a clock. The command line fills a [`LoadPlan`]; threads
//! execute a [`ThreadShare`] of it.

mod address;
mod aim;
mod check;
mod choice;
mod consistency;
mod cpus;
mod encryption;
mod key;
mod lifetime;
mod pace;
mod protocol;
mod random;
mod request;
mod room;
#[cfg(test)]
mod sample;
mod schedule;
mod share;
mod store;
mod template;
mod upkeep;
mod url;
mod zipf;

use std::net::IpAddr;
use std::num::NonZeroU64;
use std::time::Duration;

pub use address::{
    LoadAddress, LoadAddressError, Ownership, check_sources, loopback_sources, resolve,
};
pub use aim::{Aim, AimError};
pub use check::{AnswerCheck, BodyCheck, BodyProgress, CheckError, StatusSet};
pub use choice::WeightedChoice;
pub use consistency::PlanError;
pub use cpus::{CpuError, Cpus};
pub use encryption::{
    Encryption, EncryptionAsk, EncryptionError, HandshakeMode, OwnFiles, ServerTrust,
};
pub use key::{KeyDistribution, KeyError};
pub use lifetime::Lifetime;
pub use pace::{Arrivals, Ramp, RateError, RateStage, RequestPace, RequestRate};
pub use protocol::LoadProtocol;
pub use request::{Afterwards, AnswerBody, PlannedRequest, RequestBody, RequestError};
pub use room::{HostRoom, PortRange, RoomError};
pub use schedule::Schedule;
pub use share::{ThreadShare, Way};
pub use store::{Dialect, RightValues, StoreAim, StoreAsk, StoreAskError, StorePlan};
pub(crate) use store::{FILLER, KEY_DIGITS};
pub use template::{RequestTemplate, RequestTemplateError, TemplateState};
pub use upkeep::Upkeep;
pub use url::{LoadUrl, LoadUrlError, ServerPlace};

/// The specification of a run.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The targets, one for each URL. Never empty.
    pub targets: Vec<LoadTarget>,
    /// The different addresses of the targets, in order of first use. Never empty.
    pub peers: Vec<TargetServer>,
    /// Connections of all threads together; at least one for each thread and peer.
    pub connections: u32,
    /// Threads that send; at least one.
    pub threads: u32,
    /// The CPU of each thread.
    pub pinning: ThreadPinning,
    /// When requests are due.
    pub pace: RequestPace,
    /// How long each run is measured.
    pub duration: Duration,
    /// The number of requests after which a run ends early; `None` if only time ends it.
    pub count: Option<NonZeroU64>,
    /// How long requests are sent before that, uncounted.
    pub warmup: Duration,
    /// How often all of it is repeated; at least once.
    pub runs: u32,
    /// How many requests a connection carries.
    pub lifetime: Lifetime,
    /// The purpose of connections.
    pub upkeep: Upkeep,
    /// The version of HTTP.
    pub protocol: LoadProtocol,
    /// Requests in flight at a time on one connection; at least one. Over HTTP/2 each has a stream of its own.
    pub pipeline: u32,
    /// The longest wait for a connection, and from sending a request to the end of its answer.
    pub timeout: Duration,
    /// The criteria for an HTTP answer.
    pub check: AnswerCheck,
    /// How encrypted connections are made; `None`: there are none.
    pub encryption: Option<Encryption>,
    /// The store, if the server is one instead of an HTTP server.
    pub store: Option<StorePlan>,
    /// Source addresses, used in turn. Empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// The process of the server, if it is local and was named.
    pub server: Option<u32>,
    /// The seed of all random numbers: the same seed gives the same requests.
    pub seed: u64,
}

/// One URL, its weight, and the request for it.
#[derive(Clone, Debug)]
pub struct LoadTarget {
    /// The URL as given.
    pub url: LoadUrl,
    /// The method of its requests.
    pub method: String,
    /// Index into [`LoadPlan::peers`].
    pub peer: usize,
    /// Its weight relative to the others; at least 1.
    pub weight: u32,
    /// The request.
    pub request: RequestTemplate,
    /// The same request with `Connection: close`, for the last one of a connection with a limited lifetime.
    pub last_request: RequestTemplate,
    /// Whether an answer has a body.
    pub answer_body: AnswerBody,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetServer {
    /// Its address.
    pub address: LoadAddress,
    /// The name that its certificate must have; `None`: connections to it are not encrypted.
    pub server_name: Option<String>,
    /// The sum of the weights of its targets.
    pub weight: u64,
}

/// Where threads run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadPinning {
    /// The kernel chooses.
    None,
    /// Each thread has its CPU: as many numbers as threads, none twice.
    Cpus(Vec<usize>),
}

//! The plan of a run: where, how fast, how many, for how long.
//!
//! Owns the plan, complete and checked: requests are bytes, names are addresses, every limit holds.
//! Never opens a connection and never reads a clock. The command line fills a [`Plan`]; threads
//! execute a [`Share`] of it.

mod address;
mod aim;
mod check;
mod choice;
mod consistency;
mod cpus;
mod key;
mod lifetime;
mod pace;
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

pub use address::{Address, AddressError, Ownership, check_sources, loopback_sources, resolve};
pub use aim::{Aim, AimError};
pub use check::{BodyCheck, BodyProgress, Check, CheckError, StatusSet};
pub use choice::Choice;
pub use consistency::PlanError;
pub use cpus::{CpuError, Cpus};
pub use key::{Key, KeyError};
pub use lifetime::Lifetime;
pub use pace::{Arrivals, Pace, Ramp, Rate, RateError, Stage};
pub use request::{Afterwards, AnswerBody, Body, Request, RequestError};
pub use room::{PortRange, Room, RoomError};
pub use schedule::Schedule;
pub use share::{Share, Way};
pub use store::{Dialect, RightValues, StoreAim, StoreAsk, StoreAskError, StorePlan};
pub(crate) use store::{FILLER, KEY_DIGITS};
pub use template::{RequestTemplate, TemplateError, TemplateState};
pub use upkeep::Upkeep;
pub use url::{ServerPlace, Url, UrlError};

/// What is asked of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is asked for, one for each URL. Never empty.
    pub targets: Vec<Target>,
    /// Where to: the different addresses of the targets, in order of their first use. Never empty.
    pub peers: Vec<Peer>,
    /// Connections of all threads together; at least one for each thread and peer.
    pub connections: u32,
    /// Threads that ask; at least one.
    pub threads: u32,
    /// Which CPU each thread has for itself.
    pub pinning: Pinning,
    /// When requests are due.
    pub pace: Pace,
    /// How long is measured, once for each run.
    pub duration: Duration,
    /// After how many requests a run ends before that; none where time alone ends it.
    pub count: Option<NonZeroU64>,
    /// How long is asked before that, uncounted.
    pub warmup: Duration,
    /// How often all of it is done; at least once.
    pub runs: u32,
    /// How many requests a connection carries.
    pub lifetime: Lifetime,
    /// What becomes of connections.
    pub upkeep: Upkeep,
    /// Requests on their way at one time over one connection; at least one.
    pub pipeline: u32,
    /// The longest wait for a connection, and from the sending of a request to the end of its answer.
    pub timeout: Duration,
    /// What is right in an answer of HTTP.
    pub check: Check,
    /// The store that is asked; none where the server speaks HTTP.
    pub store: Option<StorePlan>,
    /// Addresses to connect from, in turn. Empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// The process of the server, where it is local and named.
    pub server: Option<u32>,
    /// What all random numbers come from: the same seed asks the same things.
    pub seed: u64,
}

/// One URL, its weight, and the request for it.
#[derive(Clone, Debug)]
pub struct Target {
    /// The URL as it was given.
    pub url: Url,
    /// The method of its requests.
    pub method: String,
    /// Index into [`Plan::peers`].
    pub peer: usize,
    /// How often it is asked for, beside the others' weights; at least 1.
    pub weight: u32,
    /// The request.
    pub request: RequestTemplate,
    /// The same request with `Connection: close`: the last one of a connection that does not live for ever.
    pub last_request: RequestTemplate,
    /// Whether an answer has a body.
    pub answer_body: AnswerBody,
}

/// Somebody to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where.
    pub address: Address,
    /// The weights of its targets together.
    pub weight: u64,
}

/// Where threads run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// Wherever the kernel likes.
    None,
    /// Each thread has its CPU: as many numbers as threads, none twice.
    Cpus(Vec<usize>),
}

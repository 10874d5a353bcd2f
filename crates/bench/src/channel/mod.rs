//! Subscribers of a channel, publishers, and the delivery of their messages.
//!
//! Owns the plan of a run. `run` has its order, `client` is one thread, `check` what is wrong with messages, `report`
//! the result. Prints nothing.

mod arrivals;
mod check;
mod client;
mod conductor;
mod message;
mod objects;
mod order;
mod outcome;
mod pairs;
mod record;
mod report;
mod run;
mod signs;
mod tally;
mod workload;

use sys::clock::realtime;

use crate::plan::LoadPlan;

pub use check::{CheckReport, DeliveryFault, ExpectedOrder, FaultKind};
pub use conductor::{Alone, Conductor, Start};
pub use message::MessageName;
pub use outcome::ChannelOutcome;
pub use pairs::AddressPair;
pub use report::{ChannelReport, PairReport, TimeDistribution, WorkloadReport};
pub use run::run;
pub use workload::{Storm, StormError};

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct ChannelPlan {
    /// The addresses, the number of subscribers and threads, and how long messages are published. Its targets are the
    /// channel's path at each address.
    pub plan: LoadPlan,
    /// When messages are published.
    pub pace: ChannelPace,
    /// Bytes of a message.
    pub size: usize,
    /// The number of messages after which publishing ends early.
    pub messages: u64,
    /// The only address at which messages are published, as an index; `None`: at all of them in turn.
    pub publish_to: Option<usize>,
    /// The expected order of the messages.
    pub expected: ExpectedOrder,
    /// The reconnect storm, if there is to be one.
    pub storm: Option<Storm>,
    /// How many subscribers a second leave and come.
    pub churn_per_s: Option<f64>,
    /// Which part of the run this generator has.
    pub part: Part,
}

/// The part of a run that one generator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0.
    pub generator: u32,
    /// How many there are.
    pub generators: u32,
    /// The mark of this run in its messages.
    pub run: u16,
}

impl Part {
    /// All of a run that begins now.
    pub fn whole() -> Self {
        Self { generator: 0, generators: 1, run: Self::mark() }
    }

    /// A mark for a run that begins now.
    pub fn mark() -> u16 {
        // Two runs on a channel have the same one once in 65,536 times.
        let (seconds, nanoseconds) = realtime();
        fastrand::Rng::with_seed(seconds ^ u64::from(nanoseconds) << 32).u16(..)
    }
}

impl ChannelPlan {
    /// How many publishers all generators may have: one at each address.
    pub fn publishers(&self) -> usize {
        self.plan.peers.len() * self.part.generators as usize
    }

    /// The number of the publisher at an address, among those of all generators.
    fn publisher(&self, address: usize) -> u8 {
        let number = self.part.generator as usize * self.plan.peers.len() + address;
        // The numbers of addresses and of generators are bounded.
        u8::try_from(number).unwrap_or(u8::MAX)
    }
}

/// When messages are published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChannelPace {
    /// This many per second, whether or not earlier ones have arrived.
    Rate(f64),
    /// This many at once, and the next when all subscribers of the publisher's thread have received them.
    AtOnce(u32),
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelMoment {
    /// Connected subscribers.
    pub open: u64,
    /// The wanted number.
    pub wanted: u64,
    /// Messages published.
    pub published: u64,
    /// Messages received, by all subscribers together.
    pub received: u64,
}

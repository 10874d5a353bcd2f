//! Channels: one message to very many subscribers.
//!
//! Owns names, rules, histories and the table of subscribers of one scheduler, and the messages
//! between schedulers ([`ChannelLetter`]). Never sees a socket or a protocol's session: bytes for
//! subscribers are queued to processes.
//!
//! Every channel has a home: the scheduler that its name hashes to. A published message goes there
//! first, gets its number, and goes on to the schedulers that have subscribers. So all subscribers
//! see one order, and the history has no gaps.

mod audience;
mod channel;
mod cluster;
mod format;
mod glob;
mod history;
mod hub;
mod letter;
pub mod limits;
mod matcher;
mod member;
mod message;
mod name;
mod node;
mod outcome;
mod patterns;
mod position;
mod question;
mod rights;
mod ruled;
mod rules;
mod ruling;
mod seat;
mod shared;
mod stats;
mod token;
mod traced;

pub use cluster::{
    ClusterAnswer, ClusterNews, ClusterOrder, ClusterQuestion, HistoryPart, Keeping, KeptMessage,
    QueryOrigin,
};
pub use format::Format;
pub use glob::{ChannelGlob, PatternTooLong, check_pattern, fits_glob};
pub use hub::{
    ChannelView, Channels, Dismissal, Heard, ListenerNumber, Subscriber, Subscription,
    SubscriptionState,
};
pub use letter::{ChannelLetter, PublishReceipt, Publisher, Receipt};
pub use matcher::ChannelMatcher;
pub use member::{Member, MemberStep, Members};
pub use message::{Offer, Payload, PayloadType};
pub use name::{NameProblem, check_name};
pub use node::{ClusterNode, Remainder};
pub use outcome::{ChannelRefusal, PublishOutcome, Published};
pub use position::Position;
pub use question::{Findings, MembersOf, SubscriberQuery};
pub use rights::{Credential, Rights, Sender};
pub use ruled::RuleNumber;
pub use rules::{
    Access, CertificateRule, ChannelPolicy, HistoryRules, Presence, Rulebook, SlowPolicy,
};
pub use ruling::{ChannelScope, KeptRight, PublishRight, Ruling, ServerRight, SubscribeRight};
pub use stats::ChannelStats;
pub use token::{NoPublicKey, Pass, TokenKeys, TokenProblem};

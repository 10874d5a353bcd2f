//! Channels: one message to very many subscribers.
//!
//! Owns names, rules, histories and the table of subscribers of one scheduler, and the messages
//! between schedulers ([`Letter`]). Never sees a socket or a protocol's session: bytes for
//! subscribers are queued to processes.
//!
//! Every channel has a home: the scheduler that its name hashes to. A published message goes there
//! first, gets its number, and goes on to the schedulers that have subscribers. So all subscribers
//! see one order, and the history has no gaps.

mod audience;
mod channel;
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
mod outcome;
mod patterns;
mod position;
mod question;
mod rights;
mod rules;
mod stats;
mod token;
mod traced;

pub use format::Format;
pub use glob::{Glob, PatternTooLong, check_pattern, fits_glob};
pub use hub::{
    ChannelView, Channels, Dismissal, Heard, ListenerNumber, Standing, Subscriber, Subscription,
};
pub use letter::{Letter, Publisher, Receipt, Told};
pub use matcher::Matcher;
pub use member::{Member, Members};
pub use message::{Body, Kind, Offer};
pub use name::{NameProblem, check_name};
pub use outcome::{Outcome, Published, Refusal};
pub use position::Position;
pub use question::{Findings, Question};
pub use rights::{Rights, Sender, Shown};
pub use rules::{Access, Certificates, HistoryRules, Presence, Rulebook, Rules, Slow};
pub use stats::ChannelStats;
pub use token::{NoPublicKey, Pass, TokenKeys, TokenProblem};

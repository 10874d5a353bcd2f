//! The answers of the mail: when a process asks, what it is told, and which run gets it.
//!
//! Owns no mail: `mail` makes these.

use runtime::mailbox::Endpoint;

use crate::id::RunKey;

/// The time and place at which a process uses its mail.
#[derive(Clone, Copy, Debug)]
pub struct MailMoment {
    /// The scheduler.
    pub here: Endpoint,
    /// The time of the turn.
    pub now_ns: u64,
}

/// The answer to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailAnswer {
    /// It is done.
    Done,
    /// A message, or the name of a process.
    Text(Vec<u8>),
    /// It is not possible, for this reason.
    Refused(&'static str),
}

/// The outcome of what a process wants of its mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// It is answered.
    Now(MailAnswer),
    /// Another scheduler answers. If it does not until this time,
    /// [`Mail::give_up_word`](crate::Mail::give_up_word) has the answer.
    Later {
        /// That time.
        due_ns: u64,
    },
}

/// The runs that news of the cluster about names concern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamesHeard {
    /// Those that waited for a name.
    pub handed: Vec<Handed>,
    /// Those that must end, because another server may have their name now.
    pub ended: Vec<RunKey>,
}

/// A run, and the answer for which it waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The run.
    pub owner: RunKey,
    /// The answer.
    pub answer: MailAnswer,
}

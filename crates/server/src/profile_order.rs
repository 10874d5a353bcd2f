//! The orders to the profiler of the server, and its answers.
//!
//! Owns the shapes, and the words of a profile that cannot be had. Samples nothing.

use live::Profile;

use crate::limits::{PROFILE_CUTS, PROFILE_SECONDS_MAX};

/// Messages to the profiler.
#[derive(Debug)]
pub enum ToProfiler {
    /// Somebody wants a profile.
    Ask(Box<ProfileAsk>),
    /// Something slow has happened: the minute around it is to be kept.
    Cut(ProfileCut),
}

/// The question for a profile.
#[derive(Debug)]
pub struct ProfileAsk {
    /// Its number, which the answer has as well.
    pub number: u64,
    /// The part that is wanted.
    pub wish: ProfileWish,
    /// The native code of pages, as `/native-code` tells it.
    pub code: String,
}

/// A part of the time of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileWish {
    /// The last seconds of the continuous profile.
    Last(u64),
    /// The minute around the event that was cut out first in it.
    Event(u64),
    /// The last seconds of the continuous profile; without one, the next seconds.
    Seconds(u64),
}

/// A minute that is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileCut {
    /// The number of the event.
    pub event: u64,
    /// When it happened, of the monotonic clock.
    pub at_ns: u64,
}

/// The answer to a [`ProfileAsk`].
#[derive(Debug)]
pub struct Profiled {
    /// The number of the question.
    pub number: u64,
    /// The profile.
    pub answer: Result<Profile, NoProfile>,
}

/// Why there is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProfile {
    /// The server keeps no samples.
    #[error(
        "this server keeps no samples: start it with --profile-ring 15m; its log says if the \
         kernel refused that"
    )]
    NoRing,
    /// No profile of this event is kept.
    #[error(
        "there is no profile of this event: the last {PROFILE_CUTS} minutes around slow events \
         are kept; `velodrome ctl events` shows which have one"
    )]
    NoEvent,
    /// The server is sampled for somebody else.
    #[error("the server is being sampled for somebody else: try again in {PROFILE_SECONDS_MAX} s")]
    Busy,
    /// The kernel does not allow it: in words, with the mend.
    #[error("{0}")]
    Refused(String),
}

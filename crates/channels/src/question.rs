//! Questions about subscribers of all schedulers.
//!
//! Owns what can be asked, and the shape of answers.

use std::sync::Arc;

use crate::glob::Glob;

/// A question about subscribers.
#[derive(Clone, Debug)]
pub enum Question {
    /// The channels with subscribers whose names fit.
    Channels(Glob),
    /// How many subscribers these channels have.
    Subscribers(Vec<Arc<str>>),
    /// The patterns that have subscribers.
    Patterns,
}

/// Names with the number of their subscribers; of patterns each has one.
pub type Findings = Vec<(Arc<str>, u64)>;

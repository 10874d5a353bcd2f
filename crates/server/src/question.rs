//! The questions of the control scheduler to the others.
//!
//! Owns their words. Answers nothing.

use std::sync::Arc;

use crate::live::ViewRequest;

/// A query of the control scheduler with its number, which the answer repeats: a scheduler that was stuck answers late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its number.
    pub number: u64,
    /// The query.
    pub inquiry: Inquiry,
}

/// The queries of the control scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inquiry {
    /// Their counters.
    Counters,
    /// Their counters, and the addresses of the native code of pages.
    NativeCode,
    /// Their counters, and a list.
    Live(Arc<ViewRequest>),
    /// The thing of this id, whole.
    Info(Arc<str>),
    /// End the thing of this id.
    End(Arc<str>),
}

//! The questions to a cache, and its replies.
//!
//! Owns the shapes. Never looks.

use std::rc::Rc;

use wire::http::head::Fields;

use crate::key::AnswerKey;
use crate::object::Object;
use crate::report::ForwardReason;
use crate::time::Time;

/// A request for a stored answer: GET or HEAD without a body.
#[derive(Clone, Copy, Debug)]
pub struct CacheQuery<'a> {
    /// Its key.
    pub key: &'a AnswerKey,
    /// Its fields.
    pub fields: &'a Fields<'a, 'a>,
    /// The time.
    pub now: Time,
}

/// The outcome of storing an answer outside of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideOutcome {
    /// It is stored.
    Stored,
    /// It is not.
    Lost,
}

/// The result of looking a request up in a cache.
#[derive(Clone, Debug)]
pub enum CacheLookup {
    /// This answer.
    Fresh(Rc<Object>),
    /// This answer, which is stale, and is to be validated meanwhile.
    WhileValidated(Rc<Object>),
    /// This answer, after a validation.
    Validated(Rc<Object>),
    /// Nothing.
    Missing(ForwardReason),
    /// Nothing, and the answer of a server will not be stored.
    Pass,
    /// Nothing, and the client wants no server to be asked: 504 (RFC 9111 section 5.2.1.7).
    Unwanted,
}

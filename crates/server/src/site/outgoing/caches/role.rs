//! The role of a cache for each request.
//!
//! Owns the shapes. `desk` has the role of each request.

use std::rc::Rc;

use cache::{AnswerKey, FetchId, ForwardReason, Object};

use super::told::Told;

/// The role of a cache for a request.
#[derive(Clone, Debug)]
pub(in crate::site) enum Role {
    /// A server answers it, and the answer is perhaps stored.
    Leads { upstream: Rc<str>, fetch: FetchId, why: ForwardReason },
    /// It waits for the head of a fetch.
    Waits { upstream: Rc<str>, fetch: FetchId, since_ms: u64, due_ns: u64 },
    /// It waits until the disk was looked at.
    Seeks { upstream: Rc<str>, look: u64, due_ns: u64 },
    /// The disk was looked at for it.
    Sought,
    /// It waits until a body on the disk can be opened.
    Opens(Box<Opening>),
    /// It gets the answer of a fetch, of which so many bytes were written.
    Reads { fetch: FetchId, sent: usize, why: ForwardReason, share: Share },
    /// A server answers it, and the cache has no part in it.
    Passes { upstream: Rc<str>, why: ForwardReason },
    /// A server answers it, and changes these resources.
    Changes { upstream: Rc<str>, keys: Vec<AnswerKey> },
}

/// A stored answer that a client gets once its body can be opened. Plain data.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) upstream: Rc<str>,
    pub(crate) key: AnswerKey,
    pub(crate) object: Rc<Object>,
    pub(crate) told: Told,
}

/// Whether a request has the fetch of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Share {
    Own,
    Another,
}

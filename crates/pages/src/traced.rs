//! The trace to which a request belongs, told to the servers that its page asks.
//!
//! Owns which fields say so. Makes no trace of its own: a request that says nothing of one passes nothing on.

use http::Request;
use wire::http::trace_context::{TRACE_PARENT, TRACE_STATE};

use crate::fetch::fields as lines;

/// Adds what a request says of its trace to the fields of one that its page sends, each as two lines. A page that sets
/// its own says what is true.
pub(super) fn pass_on(request: &Request<'_>, fields: &mut Vec<u8>) {
    let Some(parent) = request.trace() else { return };
    let is_parent = |name: &[u8]| name.eq_ignore_ascii_case(TRACE_PARENT.as_bytes());
    if lines(fields).any(|(name, _)| is_parent(name)) {
        return;
    }
    let mut add = |name: &str, value: &[u8]| {
        for part in [name.as_bytes(), b"\n", value, b"\n"] {
            fields.extend_from_slice(part);
        }
    };
    add(TRACE_PARENT, parent.within(request.span()).to_string().as_bytes());
    for state in request.head.fields.all(TRACE_STATE) {
        add(TRACE_STATE, state);
    }
}

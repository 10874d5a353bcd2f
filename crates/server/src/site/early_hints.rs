//! `103 Early Hints` (RFC 8297): links for a client that waits for its answer.
//!
//! Owns which clients get them. Never decides that a request waits.

use http::{FieldList, Reply, Request};
use wire::http::head::HttpVersion;
use wire::http::method::Method;
use wire::http::status::Status;

use super::exchange::Exchange;

impl Exchange<'_, '_> {
    /// The answer waits: sends the links of the route, if they were not sent, and those of a page.
    pub(super) fn hint(&mut self, of_page: &FieldList) {
        let configured = self.take_unsent_hints();
        if self.reply.is_begun() || !can_use(self.request) {
            return;
        }
        match (configured, of_page.is_empty()) {
            (Some(configured), true) => send(self.reply, configured),
            (Some(configured), false) => send(self.reply, &joined(configured, of_page)),
            (None, false) => send(self.reply, of_page),
            (None, true) => {}
        }
    }
}

fn send(reply: &mut Reply<'_>, links: &FieldList) {
    reply.interim(Status::EARLY_HINTS, links.fields());
}

fn joined(first: &FieldList, second: &FieldList) -> FieldList {
    let mut all = first.clone();
    for (name, value) in second.fields().iter() {
        // There is room: the bounds of both together are less than that of a list.
        let _added = all.add(name, value);
    }
    all
}

/// Whether a client can use links before its answer. Browsers use them for documents only, and say what they ask for.
/// Other clients of HTTP/1.1 may take an interim answer for the final one (RFC 8297 section 3); those of HTTP/2 do not,
/// and may be servers that pass the links on.
fn can_use(request: &Request<'_>) -> bool {
    request.method() == Method::Get
        && match (request.field("sec-fetch-mode"), request.version()) {
            (_, HttpVersion::Http10) => false,
            (Some(mode), _) => mode == b"navigate",
            (None, HttpVersion::Http11) => false,
            (None, HttpVersion::Http2) => true,
        }
}

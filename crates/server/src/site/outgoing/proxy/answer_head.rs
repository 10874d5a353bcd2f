//! The head of a server's answer as the client gets it.
//!
//! Owns which fields are passed on, and what the configuration changes in them. Never passes on a body.

use client::ResponseHead;
use config::ProxyRoute;
use http::{Dating, FieldList, Fields, PassedHead, Status};
use wire::http::trailers::is_trailer;

use super::hop::HopFields;
use crate::site::exchange::Exchange;

/// Fields that a client needs to make sense of a status (RFC 9110 sections 10.2.1, 10.2.3 and 11.6.1).
const KEPT_OF_ERROR: [&str; 3] = ["allow", "retry-after", "www-authenticate"];

/// The head of an answer as a client gets it. Plain data.
pub(crate) struct Written<'h> {
    pub(crate) status: Status,
    /// Of the body; `None`: it is not known.
    pub(crate) length: Option<u64>,
    /// The fields of the server.
    pub(crate) fields: Fields<'h, 'h>,
    /// Fields of this server.
    pub(crate) added: &'h [(&'h str, &'h [u8])],
}

/// Writes the head of a server, with fields of this one.
pub(in crate::site) fn write(
    head: &ResponseHead,
    status: Status,
    route: Option<&ProxyRoute>,
    added: &[(&str, &[u8])],
    exchange: &mut Exchange<'_, '_>,
) {
    let (length, fields) = (length_of(head), head.fields.fields());
    begin(&Written { status, length, fields, added }, route, exchange);
    exchange.reply.end_head();
}

/// Writes a head without its end.
pub(in crate::site) fn begin(
    head: &Written<'_>,
    route: Option<&ProxyRoute>,
    exchange: &mut Exchange<'_, '_>,
) {
    let Written { status, length, fields, added } = *head;
    let hop = HopFields::of(&fields);
    let drops = |name: &str| route.is_some_and(|route| route.response_headers.drop_field(name));
    let is_passed = |name: &str| !hop.has(name) && !drops(name);
    let has_date = fields.has("date") && is_passed("date");
    let dating = if has_date { Dating::Dated } else { Dating::Undated };
    let takes_trailers = exchange.reply.pass_on(&PassedHead { status, length, dating });
    each_passed(&fields, (route, added), |name, value| {
        if takes_trailers || !name.eq_ignore_ascii_case("trailer") {
            // Checked by the reader of the answer, or when the configuration was loaded.
            let _valid = exchange.reply.field(name, value);
        }
    });
    let set = route.map_or(&[][..], |route| &route.response_headers.set);
    let is_set = |name: &str| set.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    exchange.configured_fields_but(|name| is_set(name) || fields.has(name) && is_passed(name));
}

/// The length of the body, if the head says it. With a coding of the transfer it says none (RFC 9112 section 6.3).
pub(in crate::site) fn length_of(head: &ResponseHead) -> Option<u64> {
    let fields = head.fields.fields();
    if fields.has("transfer-encoding") {
        return None;
    }
    // Equal values may be repeated, which the reader has checked.
    let value = fields.first("content-length")?.split(|byte| *byte == b',').next()?;
    str::from_utf8(value.trim_ascii()).ok()?.parse().ok()
}

/// Hands on the fields of any head of an answer, with what the route changes in them, and with others of this server.
fn each_passed(
    fields: &Fields<'_, '_>,
    (route, added): (Option<&ProxyRoute>, &[(&str, &[u8])]),
    mut put: impl FnMut(&str, &[u8]),
) {
    let hop = HopFields::of(fields);
    let drops = |name: &str| route.is_some_and(|route| route.response_headers.drop_field(name));
    for (name, value) in fields.iter().filter(|(name, _)| !hop.has(name) && !drops(name)) {
        put(name, value);
    }
    for header in route.map_or(&[][..], |route| &route.response_headers.set) {
        put(&header.name, header.value.as_bytes());
    }
    for (name, value) in added {
        put(name, value);
    }
}

/// The fields that are passed on of the head of an interim answer, or of one that changes the protocol.
pub(in crate::site) fn interim_fields(
    head: &ResponseHead,
    route: Option<&ProxyRoute>,
    cookie: Option<&str>,
) -> FieldList {
    let mut passed = FieldList::new();
    let cookie = cookie.map(|cookie| ("Set-Cookie", cookie.as_bytes()));
    each_passed(&head.fields.fields(), (route, cookie.as_slice()), |name, value| {
        // A field that the list has no room for is only a hint.
        let _fits = passed.add(name, value);
    });
    passed
}

/// The fields of an answer that stay if its body is replaced by a page of the same status.
pub(in crate::site) fn kept_of_error(head: &ResponseHead) -> FieldList {
    kept(&head.fields, |name| KEPT_OF_ERROR.iter().any(|kept| name.eq_ignore_ascii_case(kept)))
}

/// The trailers that are passed on: none of a name that the route sets or removes in the head.
pub(in crate::site) fn trailers(trailers: &FieldList, route: Option<&ProxyRoute>) -> FieldList {
    let drops = |name: &str| route.is_some_and(|route| route.response_headers.drop_field(name));
    kept(trailers, |name| is_trailer(name) && !drops(name))
}

fn kept(list: &FieldList, keep: impl Fn(&str) -> bool) -> FieldList {
    let mut kept = FieldList::new();
    for (name, value) in list.fields().iter().filter(|(name, _)| keep(name)) {
        // It fits, because the whole list did.
        let _fits = kept.add(name, value);
    }
    kept
}

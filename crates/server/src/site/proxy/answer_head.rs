//! The head of a server's answer as the client gets it.
//!
//! Owns which fields are passed on, and what the configuration changes in them. Never passes on a body.

use client::Head;
use config::ProxyRoute;
use http::{Dating, FieldList, PassedHead, Status};

use super::super::exchange::Exchange;
use super::hop::HopFields;

/// Fields that are no trailers (RFC 9110 section 6.5.1): they frame the message, or have to be known before it.
const NO_TRAILERS: [&str; 6] =
    ["connection", "content-length", "host", "set-cookie", "trailer", "transfer-encoding"];

/// Writes the head, with a cookie that keeps the client at this server if it needs one.
pub(in crate::site) fn write(
    head: &Head,
    status: Status,
    route: Option<&ProxyRoute>,
    cookie: Option<&str>,
    exchange: &mut Exchange<'_, '_>,
) {
    let fields = head.fields.fields();
    let hop = HopFields::of(&fields);
    let drops = |name: &str| route.is_some_and(|route| route.response_headers.drop_field(name));
    let is_passed = |name: &str| !hop.has(name) && !drops(name);
    let has_date = fields.has("date") && is_passed("date");
    let dating = if has_date { Dating::Dated } else { Dating::Undated };
    exchange.reply.pass_on(&PassedHead { status, length: length_of(head), dating });
    each_passed(head, (route, cookie), |name, value| {
        // Checked by the reader of the answer, or when the configuration was loaded.
        let _valid = exchange.reply.field(name, value);
    });
    let set = route.map_or(&[][..], |route| &route.response_headers.set);
    let is_set = |name: &str| set.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    exchange.configured_fields_but(|name| is_set(name) || fields.has(name) && is_passed(name));
    exchange.reply.end_head();
}

/// The length of the body, if the head says it. With a coding of the transfer it says none (RFC 9112 section 6.3).
fn length_of(head: &Head) -> Option<u64> {
    let fields = head.fields.fields();
    if fields.has("transfer-encoding") {
        return None;
    }
    // Equal values may be repeated, which the reader has checked.
    let value = fields.first("content-length")?.split(|byte| *byte == b',').next()?;
    str::from_utf8(value.trim_ascii()).ok()?.parse().ok()
}

/// Hands on the fields of any head of an answer, with what the route changes in them, and with a cookie.
fn each_passed(
    head: &Head,
    (route, cookie): (Option<&ProxyRoute>, Option<&str>),
    mut put: impl FnMut(&str, &[u8]),
) {
    let fields = head.fields.fields();
    let hop = HopFields::of(&fields);
    let drops = |name: &str| route.is_some_and(|route| route.response_headers.drop_field(name));
    for (name, value) in fields.iter().filter(|(name, _)| !hop.has(name) && !drops(name)) {
        put(name, value);
    }
    for header in route.map_or(&[][..], |route| &route.response_headers.set) {
        put(&header.name, header.value.as_bytes());
    }
    if let Some(cookie) = cookie {
        put("Set-Cookie", cookie.as_bytes());
    }
}

/// The fields that are passed on of the head of an interim answer, or of one that changes the protocol.
pub(in crate::site) fn interim_fields(
    head: &Head,
    route: Option<&ProxyRoute>,
    cookie: Option<&str>,
) -> FieldList {
    let mut passed = FieldList::new();
    each_passed(head, (route, cookie), |name, value| {
        // What the list has no room for is only a hint.
        let _fits = passed.add(name, value);
    });
    passed
}

/// The trailers that are passed on.
pub(in crate::site) fn trailers(trailers: &FieldList) -> FieldList {
    let may_pass = |name: &str| !NO_TRAILERS.iter().any(|no| name.eq_ignore_ascii_case(no));
    let mut passed = FieldList::new();
    for (name, value) in trailers.fields().iter().filter(|(name, _)| may_pass(name)) {
        // It fits, because the whole list did.
        let _fits = passed.add(name, value);
    }
    passed
}

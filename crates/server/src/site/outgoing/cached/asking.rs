//! The request that asks a server for an answer that is perhaps stored.
//!
//! Owns that it asks for the whole of it: without the conditions and the range of its client, and with those of the
//! stored answer (RFC 9111 section 4.3.1). Nothing tells the server what the key does not tell: how the client spells
//! the host would be for all if the answer repeats it.

use client::{ExchangeFailure, OutgoingBody};
use config::ProxyRoute;
use http::Request;
use wire::http::head::FieldSlots;

use crate::site::outgoing::caches::verdict::Wanted;
use crate::site::outgoing::proxy::carried::Parcel;
use crate::site::outgoing::proxy::request_head::head_of;
use crate::site::route::AnswerPlace;

/// Fields by which a client asks for less than the whole.
const CONDITIONS: [&str; 6] =
    ["if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"];

/// The request as a server gets it.
///
/// # Errors
/// If it cannot be sent.
pub(in crate::site) fn parcel_of(
    request: &Request<'_>,
    target: &str,
    route: &ProxyRoute,
    wanted: Wanted<'_>,
) -> Result<Parcel, ExchangeFailure> {
    let mut room = FieldSlots::new();
    let is_condition = |name: &str| CONDITIONS.iter().any(|one| name.eq_ignore_ascii_case(one));
    let fields = request.head.fields.without(is_condition, &mut room);
    let mut head = request.head.clone();
    head.fields = fields;
    let host = wanted.key.host();
    if !host.is_empty() {
        head.host = Some(host.as_bytes());
    }
    let asked = Request { head: &head, ..*request };
    let mut head = head_of(&asked, &AnswerPlace::default(), target, route)?;
    if let Some(object) = wanted.validated {
        for (name, value) in object.conditions().fields().iter() {
            head.field(name, value)?;
        }
    }
    Ok(Parcel { method: "GET", head, body: OutgoingBody::None, upgrade: None })
}

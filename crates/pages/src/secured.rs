//! An encrypted connection as a page sees it: `request.tls`.
//!
//! Owns the names of these facts. Never decides what a certificate is worth: the handshake has.

use std::rc::Rc;

use http::Scheme;
use runtime::transport::{Agreed, Resumption};
use script::engine::HostAnswer;

/// The scheme of a request, as text.
pub(super) fn scheme_of(scheme: Scheme) -> &'static [u8] {
    if scheme == Scheme::Https { b"https" } else { b"http" }
}

/// Answers with what was agreed on; with nothing for a plain connection.
pub(super) fn tell(secured: Option<&Rc<Agreed>>, answer: &mut HostAnswer) {
    let Some(agreed) = secured else { return };
    answer.field(b"version", agreed.version.as_bytes());
    answer.field(b"cipher", agreed.cipher.as_bytes());
    answer.field(b"group", agreed.group.as_bytes());
    if let Some(name) = &agreed.server_name {
        answer.field(b"server_name", name.as_bytes());
    }
    if let Some(protocol) = &agreed.protocol {
        answer.field(b"protocol", protocol);
    }
    if agreed.resumption == Resumption::Resumed {
        answer.field(b"resumed", b"true");
    }
    if let Some(client) = &agreed.client {
        answer.field(b"subject", client.subject.as_bytes());
        answer.field(b"issuer", client.issuer.as_bytes());
        answer.field(b"fingerprint", client.fingerprint.as_bytes());
    }
}

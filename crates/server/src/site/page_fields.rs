//! The status and the header fields of a page's answer.
//!
//! Owns which fields a page may set, and how they combine with those of the configuration. Never
//! runs a page.

use pages::Page;
use script::engine::PageOutput;
use wire::http::status::Status;

use super::exchange::Exchange;

/// Fields that belong to the connection (RFC 9110 section 7.6.1, RFC 9112 section 6). They are ignored if a page sets
/// them.
const FRAMING: [&str; 8] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a page may set this field.
pub(super) fn is_of_page(name: &str) -> bool {
    !FRAMING.iter().any(|own| name.eq_ignore_ascii_case(own))
}

pub(super) fn status_set(output: &PageOutput) -> Status {
    output.status.and_then(Status::from_code).unwrap_or(Status::OK)
}

/// Writes the fields of the configuration and of the page, which takes precedence for equal names, and the default type
/// if the page set none.
pub(super) fn write_fields(
    output: &PageOutput,
    typed_by: Option<&Page>,
    exchange: &mut Exchange<'_, '_>,
) {
    exchange.configured_fields_but(|configured| {
        output.fields().any(|(name, _)| name.eq_ignore_ascii_case(configured))
    });
    let mut typed = false;
    for (name, value) in output.fields() {
        typed |= name.eq_ignore_ascii_case("content-type");
        if is_of_page(name) {
            // It was checked when the page set it.
            let _valid = exchange.reply.field(name, value);
        }
    }
    if let Some(page) = typed_by.filter(|_| !typed) {
        let _valid = exchange.reply.field("Content-Type", page.media_type.as_bytes());
    }
}

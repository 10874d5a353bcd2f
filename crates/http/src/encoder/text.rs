//! Heads as the text of HTTP/1 (RFC 9112, 4 and 5).
//!
//! Owns what is written for each connection: status line, date, `Connection`. Never writes a body.

use wire::http::response::append_status_line;
use wire::http::status::Status;

use super::Persistence;
use super::parts::ReplyParts;

/// Begins a head: status line, date, and the fields of the connection.
#[inline]
pub(super) fn begin(
    persistence: Persistence,
    status: Status,
    parts: &ReplyParts,
    out: &mut Vec<u8>,
) {
    if status == Status::OK {
        out.extend_from_slice(parts.ok_and_date());
    } else {
        append_status_line(out, status);
        put_line(out, "Date", parts.date());
    }
    put_persistence(persistence, out);
}

/// Begins a head without its date.
pub(super) fn begin_undated(persistence: Persistence, status: Status, out: &mut Vec<u8>) {
    append_status_line(out, status);
    put_persistence(persistence, out);
}

#[inline]
fn put_persistence(persistence: Persistence, out: &mut Vec<u8>) {
    match persistence {
        Persistence::Kept => {}
        Persistence::KeptAlive => out.extend_from_slice(b"Connection: keep-alive\r\n"),
        Persistence::Closed => out.extend_from_slice(b"Connection: close\r\n"),
    }
}

/// Writes a line that is valid.
#[inline]
pub(super) fn put_line(out: &mut Vec<u8>, name: &'static str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// RFC 9110 section 10.1.1.
pub(super) fn go_on(out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
}

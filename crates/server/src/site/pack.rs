//! Which answers of pages are compressed, and their way through the packer.
//!
//! Owns the rules of RFC 9110 for it (8.4, 12.5.3 and 12.5.5). Never compresses a stream, because
//! each part of it is needed at once.

use files::media_type::is_compressible;
use http::{Answer, Reply, Request};
use pages::Page;
use runtime::slots::ProcessId;
use script::engine::PageOutput;
use wire::http::encoding::{Accepted, Coding};
use wire::http::status::Status;

use super::exchange::Exchange;
use super::packer::{CODINGS, PackState, Packed, Packer};
use super::page_fields::{status_set, write_fields};
use crate::limits::PACK_FROM;

/// Fields of a page that prevent compression: the answer is encoded already, is a part of something, or is identified
/// by its bytes.
const AS_IT_IS: [&str; 3] = ["content-encoding", "content-range", "etag"];

/// Writes the whole answer of a page, compressed if allowed and accepted by the client. `None`: not applicable.
pub(super) fn write(
    packer: &mut Packer,
    process: ProcessId,
    (output, page): (&PageOutput, &Page),
    exchange: &mut Exchange<'_, '_>,
) -> Option<Answer> {
    let status = status_set(output);
    if !may_be_compressed(status, output, page, exchange) {
        return None;
    }
    let coding = wanted(exchange.request);
    let packed = match coding {
        Coding::Identity => Packed::Never,
        coding => packer.pack(process, coding, &output.body),
    };
    let (coding, body) = match &packed {
        Packed::Now(packed) => (coding, packed),
        Packed::Never => (Coding::Identity, &output.body),
        Packed::Later => {
            exchange.reply.begin_parts(status);
            write_fields_with(output, page, coding, exchange);
            exchange.reply.end_head();
            if exchange.reply.sends_body() {
                return Some(Answer::Part);
            }
            packer.forget(process);
            return Some(Answer::Done);
        }
    };
    exchange.reply.begin(status);
    write_fields_with(output, page, coding, exchange);
    exchange.reply.end_head_with_length(body.len() as u64);
    exchange.reply.body(body);
    Some(Answer::Done)
}

/// Continues an answer whose head was sent, if it is one of these.
#[inline]
pub(super) fn go_on(
    packer: &mut Packer,
    process: ProcessId,
    reply: &mut Reply<'_>,
) -> Option<Answer> {
    Some(match packer.standing(process)? {
        PackState::Queued => Answer::Wait,
        PackState::Done(packed) => {
            reply.part(&packed);
            Answer::Done
        }
        PackState::Failed => Answer::Cut,
    })
}

fn write_fields_with(
    output: &PageOutput,
    page: &Page,
    coding: Coding,
    exchange: &mut Exchange<'_, '_>,
) {
    write_fields(output, Some(page), exchange);
    if coding != Coding::Identity {
        let _valid = exchange.reply.field("Content-Encoding", coding.token().as_bytes());
    }
    // Also for an answer that is not compressed, because the next client may accept compression.
    let _valid = exchange.reply.field("Vary", b"Accept-Encoding");
}

fn may_be_compressed(
    status: Status,
    output: &PageOutput,
    page: &Page,
    exchange: &Exchange<'_, '_>,
) -> bool {
    if output.body.len() < PACK_FROM || !status.has_content() {
        return false;
    }
    let is_fixed = |name: &str| AS_IT_IS.iter().any(|fixed| name.eq_ignore_ascii_case(fixed));
    let mut media_type = page.media_type.as_bytes();
    let mut cache_control = exchange.cache_control().as_bytes();
    for (name, value) in output.fields() {
        if is_fixed(name) {
            return false;
        }
        if name.eq_ignore_ascii_case("content-type") {
            media_type = value;
        } else if name.eq_ignore_ascii_case("cache-control") {
            cache_control = value;
        }
    }
    // RFC 9111, 5.2.2.6.
    let is_transformable = !cache_control
        .split(|byte| *byte == b',')
        .any(|directive| directive.trim_ascii().eq_ignore_ascii_case(b"no-transform"));
    is_transformable && str::from_utf8(media_type).is_ok_and(is_compressible)
}

/// The client's choice among the available codings.
fn wanted(request: &Request<'_>) -> Coding {
    let mut accepted = Accepted::default();
    for (name, value) in request.head.fields.iter() {
        if name.eq_ignore_ascii_case("accept-encoding") {
            accepted.read_line(value);
        }
    }
    accepted.choose(CODINGS).unwrap_or(Coding::Identity)
}

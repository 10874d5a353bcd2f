//! The parts of a stored answer that a client gets.
//!
//! Owns its head: status, `Age`, `Cache-Status`, ranges. Never asks a server.

use std::rc::Rc;
use std::sync::Arc;

use cache::{Object, Selection, Time, select};
use config::ProxyRoute;
use http::{Answer, FieldList, Fields, Method, Status};
use runtime::output::{FileName, FileRegion, Referenced, SharedBytes};
use wire::http::conditional::SafeMethod;
use wire::http::range::{write_content_range, write_unsatisfied_range};

use super::opening::OpenBody;
use crate::limits::CACHE_COPIED_SIZE;
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::outgoing::caches::told::Told;
use crate::site::outgoing::proxy::answer_head::{self, Written};

/// The field with what the cache did (RFC 9211).
pub(in crate::site) const FIELD: &str = "Cache-Status";

/// Fields that a 304 does not repeat (RFC 9110 section 15.4.5).
const OF_BODY: [&str; 4] =
    ["content-encoding", "content-language", "content-range", "content-type"];

impl Site {
    /// Answers with what is stored.
    pub(super) fn show(
        &self,
        object: &Object,
        open: &OpenBody,
        route: Option<&ProxyRoute>,
        told: &Told,
        exchange: &mut Exchange<'_, '_>,
    ) -> Answer {
        let now = self.outgoing.caches.now();
        let body = object.body();
        let size = usize::try_from(body.length()).unwrap_or(usize::MAX);
        let selection = selection_of(object, Some(size), exchange, now);
        let range = match selection {
            Selection::Whole => 0..size,
            // Both ends are within the body: the range was found for its length.
            Selection::Part(range) => range.first as usize..range.end() as usize,
            Selection::NotModified | Selection::Unsatisfied => 0..0,
        };
        let length = range.len() as u64;
        write_head(object, (selection, Some(length)), (told, now), route, exchange);
        exchange.reply.end_head_of_length(length);
        if let (OpenBody::File(file, root), Some(elsewhere)) = (open, body.elsewhere()) {
            exchange.reply.body_file(FileRegion {
                file: Rc::clone(file),
                name: FileName { root: root.0, relative: Arc::clone(&elsewhere.name) },
                offset: elsewhere.offset + range.start as u64,
                length,
            });
        } else if range.len() > CACHE_COPIED_SIZE {
            let lender: Rc<dyn AsRef<[u8]>> = Rc::<cache::StoredBody>::clone(body);
            let (start, end) = (range.start, range.end);
            exchange.reply.body_shared(SharedBytes { bytes: Referenced::Lent(lender), start, end });
        } else {
            exchange.reply.body(body.get(range).unwrap_or_default());
        }
        Answer::Done
    }

    /// Answers that nothing is stored (RFC 9111 section 5.2.1.7).
    pub(super) fn show_nothing(&self, told: &Told, exchange: &mut Exchange<'_, '_>) -> Answer {
        exchange.reply.begin(Status::GATEWAY_TIMEOUT);
        exchange.configured_fields();
        if let Some(text) = told.text(None) {
            let _valid = exchange.reply.field(FIELD, text.as_bytes());
        }
        exchange.reply.end_head_with_length(0);
        Answer::Done
    }
}

/// The answer for the client. `size`: the length of the body, if it is known.
pub(super) fn selection_of(
    object: &Object,
    size: Option<usize>,
    exchange: &Exchange<'_, '_>,
    now: Time,
) -> Selection {
    let request = exchange.request;
    let method = match request.method() {
        Method::Head => SafeMethod::Head,
        _ => SafeMethod::Get,
    };
    let asked = (method, &request.head.fields);
    select((object.status(), &object.fields()), size, asked, now.unix_s)
}

/// Writes the head without its end.
pub(super) fn write_head(
    object: &Object,
    (selection, length): (Selection, Option<u64>),
    (told, now): (&Told, Time),
    route: Option<&ProxyRoute>,
    exchange: &mut Exchange<'_, '_>,
) {
    let freshness = object.freshness();
    let age_s = freshness.age_s(now);
    // It means that the answer was not made for this request (RFC 9111 section 5.1).
    let age = if age_s > 0 || !told.is_first_hand() { age_s.to_string() } else { String::new() };
    let text = told.text(Some(freshness.ttl_s(now)));
    let mut content_range = Vec::new();
    let size = object.body().length();
    let status = match selection {
        Selection::Whole => Status::from_code(object.status()).unwrap_or(Status::BAD_GATEWAY),
        Selection::NotModified => Status::NOT_MODIFIED,
        Selection::Part(range) => {
            write_content_range(&mut content_range, range, size);
            Status::PARTIAL_CONTENT
        }
        Selection::Unsatisfied => {
            write_unsatisfied_range(&mut content_range, size);
            Status::RANGE_NOT_SATISFIABLE
        }
    };
    let text = text.as_deref().unwrap_or_default();
    let added =
        [("Age", age.as_bytes()), ("Content-Range", &*content_range), (FIELD, text.as_bytes())];
    let added: Vec<(&str, &[u8])> =
        added.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let is_whole = matches!(selection, Selection::Whole | Selection::Part(_));
    let fewer = if is_whole { FieldList::new() } else { without_body(object.fields()) };
    let fields = if is_whole { object.fields() } else { fewer.fields() };
    answer_head::begin(&Written { status, length, fields, added: &added }, route, exchange);
}

fn without_body(fields: Fields<'_, '_>) -> FieldList {
    let mut fewer = FieldList::new();
    let is_of_body = |name: &str| OF_BODY.iter().any(|one| name.eq_ignore_ascii_case(one));
    for (name, value) in fields.iter().filter(|(name, _)| !is_of_body(name)) {
        // It fits, because the whole list did.
        let _fits = fewer.add_as_spelt(name, value);
    }
    fewer
}

//! A page of the keys of a database, as JSON or NDJSON.
//!
//! Owns the page: `{"keys":[{"key":"a","value":"1"}],"next":"a"}`. `record_json` formats the
//! records.

use http::{Answer, AnswerContext};
use store::limits::PAGE_KEYS;
use store::{Database, Entry, Outcome, Page, PageOf, Query, With};
use wire::http::status::Status;

use super::{Given, Refused, Site, answer, argument, number};
use crate::limits::STORE_LIST_KEYS;
use crate::message::Message;
use crate::record_json::{put_bytes, to_json};
use crate::site::exchange::Exchange;

impl Site {
    pub(super) fn answer_list(
        &mut self,
        database: Database,
        query: Option<&[u8]>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Result<Answer, Refused> {
        let limit = number::<usize>(query, "limit")?.unwrap_or(STORE_LIST_KEYS);
        if !(1..=PAGE_KEYS).contains(&limit) {
            return Err(Refused::Query(format!("`limit` is from 1 to {PAGE_KEYS}")));
        }
        let page = PageOf {
            prefix: argument(query, b"prefix").unwrap_or_default().into(),
            after: argument(query, b"after").map(Into::into),
            keys: limit,
            with: With::Values,
        };
        let store = self.store.as_mut().ok_or(Refused::Missing)?;
        let snapshot = store.snapshot().map_err(Refused::Failure)?;
        let outcome = snapshot.answer(database, &Query::Page(page), context.now.unix_ms());
        let Outcome::Page(page) = outcome.map_err(Refused::Failure)? else {
            return Err(Refused::Missing);
        };
        let accepted = exchange.request.field("accept").unwrap_or_default();
        let is_lines = accepted.starts_with(b"application/x-ndjson");
        let (media_type, text) = match is_lines {
            true => ("application/x-ndjson", lines(page)),
            false => ("application/json", object(page)),
        };
        Ok(answer(Status::OK, (b"", media_type), Given::Copied(text.as_bytes()), exchange))
    }
}

fn object(page: Page) -> String {
    let mut text = "{\"keys\":[".to_owned();
    for (number, record) in records(page.keys).enumerate() {
        if number > 0 {
            text.push(',');
        }
        text.push_str(&record);
    }
    text.push(']');
    if let Some(next) = &page.next {
        text.push(',');
        put_bytes("next", next, &mut text);
    }
    text.push('}');
    text
}

/// One line per key, and a last line with the key where the next page begins.
fn lines(page: Page) -> String {
    let mut text = String::new();
    for record in records(page.keys) {
        text.push_str(&record);
        text.push('\n');
    }
    if let Some(next) = &page.next {
        text.push('{');
        put_bytes("next", next, &mut text);
        text.push_str("}\n");
    }
    text
}

fn records(keys: Vec<(Box<[u8]>, Option<Entry>)>) -> impl Iterator<Item = String> {
    keys.into_iter().filter_map(|(key, entry)| Some(to_json(&key, &entry?)))
}

//! A page of the keys of a database, as JSON or NDJSON.
//!
//! Owns the page: `{"keys":[{"key":"a","value":"1"}],"next":"a"}`, and how long it may be: the scheduler works on it
//! without a pause. `record_json` formats the records.

use http::{Answer, FieldList};
use store::limits::PAGE_KEYS;
use store::{Database, PageOf, Query, Snapshot, StepOutcome, StoreFailure, With};
use wire::http::accept::fit;
use wire::http::status::Status;

use super::{Refused, Site, ValueBytes, answer, argument, number};
use crate::limits::{STORE_LIST_KEYS, STORE_LIST_SIZE, STORE_LIST_VALUE_SIZE};
use crate::message::AnswerContext;
use crate::record_json::{put_bytes, to_json, to_json_without_value};
use crate::site::exchange::Exchange;

/// The records of a page, and the key behind which the next one begins.
struct Listed {
    records: Vec<String>,
    next: Option<Box<[u8]>>,
}

impl Site {
    pub(super) fn answer_list(
        &mut self,
        database: Database,
        query: Option<&[u8]>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Result<Answer, Refused> {
        let limit = number::<usize>(query, "limit")?.unwrap_or(STORE_LIST_KEYS);
        if !(1..=PAGE_KEYS).contains(&limit) {
            return Err(Refused::Query(format!("`limit` is from 1 to {PAGE_KEYS}")));
        }
        let page = PageOf {
            prefix: argument(query, b"prefix").unwrap_or_default().into(),
            // No key is empty.
            after: argument(query, b"after").filter(|after| !after.is_empty()).map(Into::into),
            keys: limit,
            with: With::Keys,
        };
        let mut store = self.local.store().ok_or(Refused::Missing)?;
        if !store.may_list(context.id) {
            return Ok(Answer::Wait);
        }
        let listed = store
            .snapshot()
            .and_then(|snapshot| list(&snapshot, (database, page), context.now.unix_ms()));
        let listed = listed.map_err(Refused::Failure)?;
        let fit =
            |subtype| fit(exchange.request.head.fields.all("accept"), ("application", subtype));
        let (asked_lines, asked_json) = (fit("x-ndjson"), fit("json"));
        let is_lines = asked_lines.is_asked_for() && asked_lines.weight >= asked_json.weight;
        let (media_type, text) = match is_lines {
            true => ("application/x-ndjson", listed.lines()),
            false => ("application/json", listed.object()),
        };
        Ok(answer(
            Status::OK,
            (&FieldList::new(), media_type),
            ValueBytes::Copied(text.as_bytes()),
            exchange,
        ))
    }
}

/// Reads the page, up to the limit of its size.
fn list(
    snapshot: &Snapshot,
    (database, page): (Database, PageOf),
    now_ms: u64,
) -> Result<Listed, StoreFailure> {
    let mut listed = Listed { records: Vec::new(), next: None };
    let StepOutcome::Page(page) = snapshot.answer(database, &Query::Page(page), now_ms)? else {
        return Ok(listed);
    };
    let mut size = 0;
    for (key, _) in page.keys {
        let Some(record) = snapshot.get(database, &key, now_ms)? else { continue };
        let text = match record.bytes.len() <= STORE_LIST_VALUE_SIZE {
            true => to_json(&key, &record),
            false => to_json_without_value(&key, &record),
        };
        size += text.len();
        listed.records.push(text);
        if size >= STORE_LIST_SIZE {
            listed.next = Some(key);
            return Ok(listed);
        }
    }
    listed.next = page.next;
    Ok(listed)
}

impl Listed {
    fn object(&self) -> String {
        let mut text = "{\"keys\":[".to_owned();
        for (number, record) in self.records.iter().enumerate() {
            if number > 0 {
                text.push(',');
            }
            text.push_str(record);
        }
        text.push(']');
        if let Some(next) = &self.next {
            text.push(',');
            put_bytes("next", next, &mut text);
        }
        text.push('}');
        text
    }

    /// One line per key, and a last line with the key where the next page begins.
    fn lines(&self) -> String {
        let mut text = String::new();
        for record in &self.records {
            text.push_str(record);
            text.push('\n');
        }
        if let Some(next) = &self.next {
            text.push('{');
            put_bytes("next", next, &mut text);
            text.push_str("}\n");
        }
        text
    }
}

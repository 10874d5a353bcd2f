//! A value as the answer to GET.
//!
//! Owns its header fields: the version is the entity tag.

use http::{Answer, FieldList, Request};
use runtime::account::{TimeAccount, charged_to};
use store::{Database, Record, ValueKind};
use wire::http::conditional::{Precondition, Preconditions, SafeMethod, Validators, evaluate};
use wire::http::method::Method;
use wire::http::status::Status;

use super::{Refused, Site, ValueBytes, answer};
use crate::message::AnswerContext;
use crate::site::exchange::Exchange;

impl Site {
    pub(super) fn answer_value(
        &mut self,
        (database, key): (Database, &[u8]),
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Result<Answer, Refused> {
        let store = self.local.store().ok_or(Refused::Missing)?;
        let now_ms = context.now.unix_ms();
        let snapshot =
            charged_to(TimeAccount::Store, || store.snapshot()).map_err(Refused::Failure)?;
        let record = charged_to(TimeAccount::Store, || snapshot.get(database, key, now_ms));
        let record = record.map_err(Refused::Failure)?;
        let record = record.ok_or(Refused::Missing)?;
        let method = match exchange.request.method() {
            Method::Head => SafeMethod::Head,
            _ => SafeMethod::Get,
        };
        let tag = tag(record.version);
        match judge(method, exchange.request, Some(&tag), context.now.unix_seconds) {
            Precondition::Failed => return Err(Refused::Condition),
            Precondition::NotModified => {
                return Ok(answer(
                    Status::NOT_MODIFIED,
                    (&FieldList::of(&[("ETag", &tag)]), media_type(&record)),
                    ValueBytes::Copied(b""),
                    exchange,
                ));
            }
            Precondition::Proceed { .. } => {}
        }
        let mut fields = FieldList::of(&[("ETag", &tag)]);
        if let Some(expiry) = record.expiry_ms {
            let left_ms = expiry.saturating_sub(now_ms).to_string();
            let _valid = fields.add("Store-Expires-In", left_ms.as_bytes());
        }
        let given = store.give_record(&record, (database, key), context.now);
        let given = given.map_err(Refused::Failure)?;
        Ok(answer(Status::OK, (&fields, media_type(&record)), given, exchange))
    }
}

/// Evaluates the preconditions of a request against a value with this tag.
pub(super) fn judge(
    method: SafeMethod,
    request: &Request<'_>,
    tag: Option<&str>,
    now: u64,
) -> Precondition {
    let mut preconditions = Preconditions::default();
    for (name, value) in request.head.fields.iter() {
        preconditions.note(name.as_bytes(), value);
    }
    let validators = tag.map(|tag| Validators { etag: tag.as_bytes(), last_modified: 0 });
    evaluate(method, &preconditions, validators.as_ref(), now)
}

/// The entity tag of a version, in quotes.
pub(super) fn tag(version: u64) -> String {
    format!("\"{version:x}\"")
}

fn media_type(record: &Record<'_>) -> &'static str {
    match record.kind {
        ValueKind::Bytes => "application/octet-stream",
        ValueKind::Number => "text/plain; charset=utf-8",
        ValueKind::Table => "application/json",
    }
}

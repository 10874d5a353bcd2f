//! PUT, DELETE and POST: write, delete, or add to a value.
//!
//! Owns the change that a request makes. Preconditions are evaluated against the state that this
//! scheduler sees; the writer then makes the change only if the value is still the same.

use http::{Answer, FieldList, Request};
use store::{Database, DatabaseChange, Expiry, Old, Only, Order, StepOutcome, Value, ValueKind};
use wire::http::conditional::{Precondition, SafeMethod};
use wire::http::method::Method;
use wire::http::status::Status;

use super::reading::{judge, tag};
use super::{Awaited, Refused, Site, ValueBytes, answer, number, outcome_of};
use crate::message::AnswerContext;
use crate::site::exchange::Exchange;

/// The header fields of preconditions.
const CONDITIONS: [&str; 3] = ["if-match", "if-none-match", "if-unmodified-since"];

impl Site {
    pub(super) fn answer_change(
        &mut self,
        record: (Database, &[u8]),
        query: Option<&[u8]>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Result<Answer, Refused> {
        let result = self.change(record, query, exchange, context);
        // Its connection may bring another body.
        if result.is_err() {
            self.underway.forget_json(context.id);
        }
        result
    }

    fn change(
        &mut self,
        (database, key): (Database, &[u8]),
        query: Option<&[u8]>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Result<Answer, Refused> {
        match self.executed(context) {
            Awaited::Nothing => {}
            Awaited::Later => return Ok(Answer::Wait),
            Awaited::Here(executed) => return told(outcome_of(executed)?, exchange),
        }
        let now_ms = context.now.unix_ms();
        let only = self.condition((database, key), exchange, context)?;
        let change = match exchange.request.method() {
            Method::Put => {
                let expiry = expiry(query, now_ms)?;
                let Some(value) = self.value(exchange.request, context) else {
                    return Ok(Answer::Wait);
                };
                DatabaseChange::Put {
                    key: key.into(),
                    value: value?,
                    expiry,
                    only,
                    old: Old::Dropped,
                }
            }
            Method::Delete => match only {
                Only::IfVersion(version) => DatabaseChange::DeleteVersion(key.into(), version),
                _ => DatabaseChange::Delete(vec![key.into()]),
            },
            _ => {
                let amount = number::<i64>(query, "add")?;
                let why = "POST adds to a number: `?add=1`".to_owned();
                DatabaseChange::Add(key.into(), amount.ok_or(Refused::Query(why))?)
            }
        };
        let mut store = self.local.store().ok_or(Refused::Missing)?;
        if !store.has_room(context.id) {
            return Ok(Answer::Wait);
        }
        let order = Order::of(database, change);
        let size = store.cost_of(&order);
        store.order(context.id, order, size);
        self.underway.forget_json(context.id);
        Ok(Answer::Wait)
    }

    /// The value in the body of a request; `None` if the check that it is JSON goes on in a later turn.
    fn value(
        &mut self,
        request: &Request<'_>,
        context: &AnswerContext<'_>,
    ) -> Option<Result<Value, Refused>> {
        let media = request.field("content-type").unwrap_or_default();
        let media = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        if !media.eq_ignore_ascii_case(b"application/json") {
            return Some(Ok(Value { kind: ValueKind::Bytes, bytes: request.body.into() }));
        }
        let checked = self.underway.check_json(context.id, request.body)?;
        let value = || Value { kind: ValueKind::Table, bytes: request.body.into() };
        Some(checked.map(|()| value()).map_err(|problem| Refused::Json(problem.to_string())))
    }

    /// The condition on the value that the preconditions of a request express.
    fn condition(
        &mut self,
        (database, key): (Database, &[u8]),
        exchange: &Exchange<'_, '_>,
        context: &AnswerContext<'_>,
    ) -> Result<Only, Refused> {
        let request = exchange.request;
        if !CONDITIONS.iter().any(|name| request.field(name).is_some()) {
            return Ok(Only::Always);
        }
        let store = self.local.store().ok_or(Refused::Missing)?;
        let snapshot = store.snapshot().map_err(Refused::Failure)?;
        let record = snapshot.get(database, key, context.now.unix_ms());
        let version = record.map_err(Refused::Failure)?.map(|record| record.version);
        let seen = version.map(tag);
        match judge(SafeMethod::Other, request, seen.as_deref(), context.now.unix_seconds) {
            Precondition::Proceed { .. } => Ok(version.map_or(Only::IfAbsent, Only::IfVersion)),
            Precondition::Failed | Precondition::NotModified => Err(Refused::Condition),
        }
    }
}

/// When a value expires.
fn expiry(query: Option<&[u8]>, now_ms: u64) -> Result<Expiry, Refused> {
    match number::<u64>(query, "expires_in")? {
        Some(0) => Err(Refused::Query("`expires_in` is at least 1 second".to_owned())),
        Some(seconds) => Ok(Expiry::At(now_ms.saturating_add(seconds.saturating_mul(1000)))),
        None => Ok(Expiry::Never),
    }
}

fn told(outcome: StepOutcome, exchange: &mut Exchange<'_, '_>) -> Result<Answer, Refused> {
    match outcome {
        StepOutcome::Put(true, _) | StepOutcome::Made(true) => Ok(answer(
            Status::NO_CONTENT,
            (&FieldList::new(), ""),
            ValueBytes::Copied(b""),
            exchange,
        )),
        StepOutcome::Put(false, _) | StepOutcome::Made(false) => Err(Refused::Condition),
        StepOutcome::Misuse(misuse) => Err(Refused::Misuse(misuse)),
        StepOutcome::Number(number) if exchange.request.method() == Method::Post => {
            let text = number.to_string();
            {
                let body = ValueBytes::Copied(text.as_bytes());
                Ok(answer(
                    Status::OK,
                    (&FieldList::new(), "text/plain; charset=utf-8"),
                    body,
                    exchange,
                ))
            }
        }
        StepOutcome::Number(0) => Err(Refused::Missing),
        _ => Ok(answer(
            Status::NO_CONTENT,
            (&FieldList::new(), ""),
            ValueBytes::Copied(b""),
            exchange,
        )),
    }
}

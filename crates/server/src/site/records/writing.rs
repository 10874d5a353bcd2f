//! PUT, DELETE and POST: write, delete, or add to a value.
//!
//! Owns the change that a request makes. Preconditions are evaluated against the state that this
//! scheduler sees; the writer then makes the change only if the value is still the same.

use http::{Answer, AnswerContext, FieldList};
use store::{Change, Database, Expiry, Kind, Old, Only, Order, Outcome, Value};
use wire::http::conditional::{Precondition, SafeMethod};
use wire::http::method::Method;
use wire::http::status::Status;
use wire::json;

use super::reading::{judge, tag};
use super::{Given, Refused, Site, answer, number, outcome_of};
use crate::message::Message;
use crate::site::exchange::Exchange;
use crate::site::store_desk::Awaited;

/// The header fields of preconditions.
const CONDITIONS: [&str; 3] = ["if-match", "if-none-match", "if-unmodified-since"];

impl Site {
    pub(super) fn answer_change(
        &mut self,
        (database, key): (Database, &[u8]),
        query: Option<&[u8]>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Result<Answer, Refused> {
        match self.executed(context) {
            Awaited::Nothing => {}
            Awaited::Later => return Ok(Answer::Wait),
            Awaited::Here(executed) => return told(outcome_of(executed)?, exchange),
        }
        let now_ms = context.now.unix_ms();
        let only = self.condition((database, key), exchange, context)?;
        let change = match exchange.request.method() {
            Method::Put => put(key, (query, only), exchange, now_ms)?,
            Method::Delete => match only {
                Only::IfVersion(version) => Change::DeleteVersion(key.into(), version),
                _ => Change::Delete(vec![key.into()]),
            },
            _ => {
                let amount = number::<i64>(query, "add")?;
                let why = "POST adds to a number: `?add=1`".to_owned();
                Change::Add(key.into(), amount.ok_or(Refused::Query(why))?)
            }
        };
        let store = self.store.as_mut().ok_or(Refused::Missing)?;
        if !store.has_room(context.id) {
            return Ok(Answer::Wait);
        }
        let order = Order::of(database, change);
        let size = store.cost_of(&order);
        store.order(context.id, order, size);
        Ok(Answer::Wait)
    }

    /// The condition on the value that the preconditions of a request express.
    fn condition(
        &mut self,
        (database, key): (Database, &[u8]),
        exchange: &Exchange<'_, '_>,
        context: &AnswerContext<'_, Message>,
    ) -> Result<Only, Refused> {
        let request = exchange.request;
        if !CONDITIONS.iter().any(|name| request.field(name).is_some()) {
            return Ok(Only::Always);
        }
        let store = self.store.as_mut().ok_or(Refused::Missing)?;
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

fn put(
    key: &[u8],
    (query, only): (Option<&[u8]>, Only),
    exchange: &Exchange<'_, '_>,
    now_ms: u64,
) -> Result<Change, Refused> {
    let request = exchange.request;
    let media = request.field("content-type").unwrap_or_default();
    let media = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let kind = if media.eq_ignore_ascii_case(b"application/json") {
        json::check(request.body).map_err(|problem| Refused::Json(problem.to_string()))?;
        Kind::Table
    } else {
        Kind::Bytes
    };
    let expiry = match number::<u64>(query, "expires_in")? {
        Some(0) => return Err(Refused::Query("`expires_in` is at least 1 second".to_owned())),
        Some(seconds) => Expiry::At(now_ms.saturating_add(seconds.saturating_mul(1000))),
        None => Expiry::Never,
    };
    let value = Value { kind, bytes: request.body.into() };
    Ok(Change::Put { key: key.into(), value, expiry, only, old: Old::Dropped })
}

fn told(outcome: Outcome, exchange: &mut Exchange<'_, '_>) -> Result<Answer, Refused> {
    match outcome {
        Outcome::Put(true, _) | Outcome::Made(true) => {
            Ok(answer(Status::NO_CONTENT, (&FieldList::new(), ""), Given::Copied(b""), exchange))
        }
        Outcome::Put(false, _) | Outcome::Made(false) => Err(Refused::Condition),
        Outcome::Misuse(misuse) => Err(Refused::Misuse(misuse)),
        Outcome::Number(number) if exchange.request.method() == Method::Post => {
            let text = number.to_string();
            {
                let body = Given::Copied(text.as_bytes());
                Ok(answer(
                    Status::OK,
                    (&FieldList::new(), "text/plain; charset=utf-8"),
                    body,
                    exchange,
                ))
            }
        }
        Outcome::Number(0) => Err(Refused::Missing),
        _ => Ok(answer(Status::NO_CONTENT, (&FieldList::new(), ""), Given::Copied(b""), exchange)),
    }
}

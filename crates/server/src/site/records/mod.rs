//! The store over HTTP: `/store/DATABASE/KEY` is a value, `/store/DATABASE` a list of keys.
//!
//! Owns which database and key a request names, which access it needs, and the texts of refusals. Redis
//! clients use the same store.

mod list;
mod reading;
mod writing;

use channels::TokenProblem;
use config::route::FoundRoute;
use http::{Answer, BodyPolicy, FieldList, Request};
use local::{AccessNeed, Awaited, NoAccess, ValueBytes};
use runtime::trace;
use store::limits::VALUE_SIZE;
use store::{Database, Executed, Misuse, StoreFailure};
use wire::http::method::Method;
use wire::http::status::Status;
use wire::http::target::query_pairs;
use wire::limits::QUERY_PAIRS_MAXIMUM;

use super::Site;
use super::exchange::{Exchange, allow, try_again_soon};
use super::traced;
use crate::message::AnswerContext;
use crate::origin::is_forged;

/// The database and the key that a request names.
#[derive(Debug)]
struct Place<'p> {
    database: Database,
    /// The key; `None` for the list.
    key: Option<std::borrow::Cow<'p, [u8]>>,
}

/// Why a request to the store is refused.
enum Refused {
    Origin,
    Token(TokenProblem),
    Access(NoAccess),
    Missing,
    Misuse(Misuse),
    Query(String),
    Json(String),
    Condition,
    Failure(StoreFailure),
}

impl Refused {
    fn status(&self) -> Status {
        match self {
            Self::Token(_) | Self::Access(NoAccess::NoKey | NoAccess::NoToken) => {
                Status::UNAUTHORIZED
            }
            Self::Origin | Self::Access(NoAccess::Denied) => Status::FORBIDDEN,
            Self::Missing => Status::NOT_FOUND,
            Self::Misuse(Misuse::ValueSize) => Status::CONTENT_TOO_LARGE,
            Self::Misuse(Misuse::NoSuchKey) => Status::NOT_FOUND,
            Self::Misuse(
                Misuse::NotANumber | Misuse::Overflow | Misuse::NotAFloat | Misuse::NotFinite,
            ) => Status::CONFLICT,
            Self::Misuse(Misuse::KeySize) | Self::Query(_) | Self::Json(_) => Status::BAD_REQUEST,
            Self::Condition => Status::PRECONDITION_FAILED,
            Self::Failure(
                StoreFailure::Full | StoreFailure::LargerThanStore | StoreFailure::DiskFull,
            ) => Status::INSUFFICIENT_STORAGE,
            Self::Failure(_) => Status::SERVICE_UNAVAILABLE,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Origin => {
                "pages of other sites may not change values, except those in `origins` of [channels]"
                    .to_owned()
            }
            Self::Token(problem) => problem.to_string(),
            Self::Access(NoAccess::NoKey) => "this database requires one of `api_keys`".to_owned(),
            Self::Access(NoAccess::NoToken) => "this database requires a token".to_owned(),
            Self::Access(NoAccess::Denied) => {
                "the rules of this database do not allow it".to_owned()
            }
            Self::Missing => "there is no such key".to_owned(),
            Self::Misuse(misuse) => misuse.to_string(),
            Self::Query(problem) => problem.clone(),
            Self::Json(problem) => format!("the body is not JSON: {problem}"),
            Self::Condition => "the value has changed".to_owned(),
            Self::Failure(failure) => failure.to_string(),
        }
    }
}

impl Site {
    /// The place in a database that the path and the query of a request name; `None` if the store was opened without
    /// it. The path has the database in its second segment.
    fn place_of<'p>(
        &self,
        database: &str,
        path: &'p str,
        query: Option<&[u8]>,
    ) -> Option<Place<'p>> {
        let client = self.local.store()?;
        let number = client.store().databases().iter().position(|known| known == database)?;
        let key = path.splitn(4, '/').nth(3).map(|key| key.as_bytes().into());
        let key = key.or_else(|| argument(query, b"key").map(Into::into));
        Some(Place { database: Database(u8::try_from(number).ok()?), key })
    }

    /// Collects the body of a value.
    pub(super) fn record_body_policy(request: &Request<'_>) -> BodyPolicy {
        match request.method() {
            Method::Put => BodyPolicy::Collect { limit: VALUE_SIZE as u64 },
            _ => BodyPolicy::Ignore,
        }
    }

    /// Answers a request to the store, or makes it wait for the writer.
    pub(super) fn answer_record(
        &mut self,
        database: &str,
        query: Option<&[u8]>,
        (exchange, found): (&mut Exchange<'_, '_>, &FoundRoute<'_>),
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let Some(place) = self.place_of(database, &found.path, query) else {
            return self.refuse(Status::NOT_FOUND, &FieldList::new(), found, exchange, context);
        };
        let method = exchange.request.method();
        if is_forged(exchange.request, &self.data.config.channel_settings.origins) {
            return refuse(&Refused::Origin, exchange);
        }
        if let (Some(store), Some(key)) = (self.local.store(), &place.key) {
            store.turn_store().note_uses(|| [(place.database, &**key)]);
        }
        if trace::is_on()
            && let Some(key) = &place.key
        {
            traced::key(context.id, exchange.request, key);
        }
        let answered = match (method, &place.key) {
            (Method::Get | Method::Head, None) => self
                .check((AccessNeed::Read, place.database), query, exchange, context)
                .and_then(|()| self.answer_list(place.database, query, exchange, context)),
            (Method::Get | Method::Head, Some(key)) => self
                .check((AccessNeed::Read, place.database), query, exchange, context)
                .and_then(|()| self.answer_value((place.database, key), exchange, context)),
            (Method::Put | Method::Delete | Method::Post, Some(key)) => self
                .check((AccessNeed::Write, place.database), query, exchange, context)
                .and_then(|()| self.answer_change((place.database, key), query, exchange, context)),
            _ => {
                let allow = allow(match place.key {
                    Some(_) => "GET, HEAD, PUT, POST, DELETE",
                    None => "GET, HEAD",
                });
                return self.refuse(Status::METHOD_NOT_ALLOWED, &allow, found, exchange, context);
            }
        };
        let answer = answered.unwrap_or_else(|refused| refuse(&refused, exchange));
        if !matches!(answer, Answer::Wait)
            && let Some(mut store) = self.local.store()
        {
            store.forget(context.id);
        }
        answer
    }

    /// Whether the client of a request has this access.
    fn check(
        &self,
        (need, database): (AccessNeed, Database),
        query: Option<&[u8]>,
        exchange: &Exchange<'_, '_>,
        context: &AnswerContext<'_>,
    ) -> Result<(), Refused> {
        let rights = self.rights_shown(exchange.request, query, context.now.unix_seconds);
        let rights = rights.map_err(Refused::Token)?;
        let store = self.local.store().ok_or(Refused::Missing)?;
        store.check_access(need, database, &rights).map_err(Refused::Access)
    }

    /// Takes the writer's result for this request; `None` while there is none.
    fn executed(&mut self, context: &AnswerContext<'_>) -> Awaited {
        self.local.store().map_or(Awaited::Nothing, |mut store| store.awaited(context.id))
    }
}

/// The first query argument with that name.
fn argument(query: Option<&[u8]>, name: &[u8]) -> Option<Vec<u8>> {
    let mut pairs = query_pairs(query.unwrap_or_default(), QUERY_PAIRS_MAXIMUM);
    pairs.find(|(known, _)| **known == *name).map(|(_, value)| value.into_owned())
}

/// An integer in a query argument.
fn number<T: std::str::FromStr>(query: Option<&[u8]>, name: &str) -> Result<Option<T>, Refused> {
    let Some(value) = argument(query, name.as_bytes()) else { return Ok(None) };
    let number = str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| Refused::Query(format!("`{name}` is not an integer")))
}

fn outcome_of(executed: Result<Executed, StoreFailure>) -> Result<store::StepOutcome, Refused> {
    match executed.map_err(Refused::Failure)? {
        Executed::Done(mut outcomes) => outcomes.pop().ok_or(Refused::Condition),
        Executed::Refused => Err(Refused::Condition),
    }
}

fn refuse(refused: &Refused, exchange: &mut Exchange<'_, '_>) -> Answer {
    let text = serde_json::Value::String(refused.text());
    let text = format!("{{\"error\":{text}}}");
    let fields = match refused {
        Refused::Token(_) => {
            FieldList::of(&[("WWW-Authenticate", "Bearer error=\"invalid_token\"")])
        }
        Refused::Access(NoAccess::NoKey | NoAccess::NoToken) => {
            FieldList::of(&[("WWW-Authenticate", "Bearer")])
        }
        Refused::Failure(_) => try_again_soon(),
        _ => FieldList::new(),
    };
    answer(
        refused.status(),
        (&fields, "application/json"),
        ValueBytes::Copied(text.as_bytes()),
        exchange,
    )
}

/// An answer that no browser displays as a page, whatever the value contains.
fn answer(
    status: Status,
    (fields, media_type): (&FieldList, &str),
    body: ValueBytes<'_>,
    exchange: &mut Exchange<'_, '_>,
) -> Answer {
    exchange.reply.begin(status);
    exchange.configured_fields_but(|field| {
        field.eq_ignore_ascii_case("cache-control")
            || field.eq_ignore_ascii_case("x-content-type-options")
    });
    exchange.reply.fields(fields.fields());
    let _valid = exchange.reply.field("Cache-Control", b"no-cache");
    let _valid = exchange.reply.field("X-Content-Type-Options", b"nosniff");
    if status == Status::NO_CONTENT || status == Status::NOT_MODIFIED {
        exchange.reply.end_head();
        return Answer::Done;
    }
    let _valid = exchange.reply.field("Content-Type", media_type.as_bytes());
    exchange.reply.end_head_with_length(body.length() as u64);
    match body {
        ValueBytes::Copied(bytes) => exchange.reply.body(bytes),
        ValueBytes::Lent(shared) => exchange.reply.body_shared(shared),
    }
    Answer::Done
}

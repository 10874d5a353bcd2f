//! A shared cache by RFC 9111: each module has the requirements of one section as rows.
#![expect(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

mod fetching;
mod forgetting;
mod freshness;
mod properties;
mod recording;
mod reporting;
mod reuse;
mod selecting;
mod storing;
mod validating;
mod varying;

use std::rc::Rc;

use cache::{
    AnswerHead, AnswerKey, Cache, CacheLookup, CacheQuery, CacheRules, KeyParts, NotStored, Object,
    Time, Uri, judge,
};
use wire::http::fields::FieldList;
use wire::http::url::Scheme;

/// The second of the tests: Thu, 01 Jan 2026 00:00:00 GMT.
const NOW_S: u64 = 1_767_225_600;

/// So many seconds after the beginning of a test.
fn at(seconds: u64) -> Time {
    Time { unix_s: NOW_S + seconds, ms: 1_000_000 + seconds * 1000 }
}

/// The date of a second.
fn date(unix_s: u64) -> String {
    String::from_utf8(wire::http::date::format(unix_s).to_vec()).unwrap()
}

/// Fields, a line each.
fn fields(lines: &str) -> FieldList {
    let mut list = FieldList::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap();
        list.add(name, value.trim().as_bytes()).unwrap();
    }
    list
}

fn key(target: &str) -> AnswerKey {
    let uri = Uri { scheme: Scheme::Http, host: "site.test", target, way: 0 };
    AnswerKey::new(&uri, KeyParts::default())
}

/// An answer with a body of two bytes, as it would be stored.
fn object(
    (status, lines): (u16, &str),
    request: &str,
    rules: &CacheRules,
    time: Time,
) -> Result<Rc<Object>, NotStored> {
    let fields = fields(&format!("Content-Length: 2\n{lines}"));
    let answer = AnswerHead { status, fields: fields.fields() };
    let terms = judge(&answer, &self::fields(request).fields(), rules, (time, time))?;
    Ok(Rc::new(Object::new(&answer, b"ok".to_vec(), terms, rules, time)))
}

/// A cache that has one answer to `GET /`.
fn with(lines: &str, rules: CacheRules) -> Cache {
    let stored = object((200, lines), "", &rules, at(0)).unwrap();
    let mut cache = Cache::new(rules);
    assert!(cache.store(&key("/"), stored, &fields("").fields()));
    cache
}

/// The result of looking up `GET` of a target in a cache.
fn look(cache: &mut Cache, target: &str, request: &str, now: Time) -> CacheLookup {
    let (key, request) = (key(target), fields(request));
    let fields = &request.fields();
    cache.look(&CacheQuery { key: &key, fields, now })
}

/// The same as a word.
fn seen(cache: &mut Cache, target: &str, request: &str, now: Time) -> &'static str {
    match look(cache, target, request, now) {
        CacheLookup::Fresh(_) => "fresh",
        CacheLookup::WhileValidated(_) => "stale",
        CacheLookup::Validated(_) => "validate",
        CacheLookup::Missing(why) => why.word(),
        CacheLookup::Pass => "pass",
        CacheLookup::Unwanted => "504",
    }
}

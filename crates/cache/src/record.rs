//! A stored answer as bytes, without its body: what is kept of it where memory does not last.
//!
//! Owns the format, and the numbers by which a record is found. A record that is damaged, or of another format, is
//! none. Never says where records are.

use std::hash::{DefaultHasher, Hash, Hasher};

use wire::http::fields::FieldList;

use crate::freshness::{Basis, Freshness};
use crate::key::{AnswerKey, KeyRecord};
use crate::limits::RECORD_CLOCK_SLACK_S;
use crate::object::Object;
use crate::pattern::path_mark;
use crate::rules::KeyParts;
use crate::storing::StorageTerms;
use crate::time::Time;
use crate::vary::Variant;

/// A record, and the numbers by which it is found. The next start of the server finds the same ones, so they have no
/// secret. Whoever makes two keys with one number gains nothing: records are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskRecord {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Of the text of its key.
    pub text: u64,
    /// Of the path in it.
    pub path: u64,
    /// Of its key and of the requests that it is for: of two records with the same, the younger one counts.
    pub identity: u64,
}

impl DiskRecord {
    /// The record of an answer.
    pub fn of(key: &AnswerKey, object: &Object, now: Time) -> Self {
        let mut writer = Writer(key_bytes(key));
        let values = object.variant().values();
        writer.number(values.len() as u64);
        for (name, value) in values {
            writer.bytes(name.as_bytes());
            writer.number(u64::from(value.is_some()));
            writer.bytes(value.unwrap_or_default());
        }
        let identity = number_of(&writer.0);
        let (terms, freshness) = (object.terms(), object.freshness());
        let (initial_age_s, stored_s) = freshness.ages(now);
        for number in [
            u64::from(object.status()),
            now.unix_s,
            initial_age_s,
            stored_s,
            freshness.lifetime_s,
            freshness.while_revalidate_s,
            freshness.if_error_s,
            u64::from(freshness.basis == Basis::Assumed),
            u64::from(freshness.is_checked_always),
            u64::from(freshness.is_strict),
            u64::from(terms.is_for_all),
        ] {
            writer.number(number);
        }
        for (name, value) in object.fields().iter() {
            writer.bytes(name.as_bytes());
            writer.bytes(value);
        }
        let (text, path) = (number_of_text(key.text()), path_mark(key.target()));
        Self { bytes: writer.0, text, path, identity }
    }
}

/// The key of a record.
pub fn key_of(record: &[u8]) -> Option<AnswerKey> {
    read_key(&mut Reader(record))
}

fn read_key(reader: &mut Reader<'_>) -> Option<AnswerKey> {
    let text = str::from_utf8(reader.bytes()?).ok()?;
    let path_at = usize::try_from(reader.number()?).ok()?;
    let way = reader.number()?;
    let parts = KeyParts { scheme: reader.flag()?, host: reader.flag()?, query: reader.flag()? };
    AnswerKey::recorded(&KeyRecord { text, path_at, way, parts })
}

/// The answer of a record, without its body. `None`: it is none, or of the future.
pub fn read(record: &[u8], now: Time) -> Option<(AnswerKey, Object)> {
    let mut reader = Reader(record);
    let key = read_key(&mut reader)?;
    let mut values = Vec::new();
    for _ in 0..reader.number()? {
        let name = str::from_utf8(reader.bytes()?).ok()?;
        let is_there = reader.flag()?;
        let value = reader.bytes()?;
        values.push((name, is_there.then_some(value)));
    }
    let variant = Variant::recorded(&values);
    let status = u16::try_from(reader.number()?).ok()?;
    let written_s = reader.number()?;
    // The clock of a scheduler may be a turn behind that of another one. A record that is younger than that is of a
    // clock that was wrong.
    let since_s = now.unix_s.saturating_add(RECORD_CLOCK_SLACK_S).checked_sub(written_s)?;
    let since_s = since_s.saturating_sub(RECORD_CLOCK_SLACK_S);
    let (initial_age_s, stored_s) = (reader.number()?, reader.number()?);
    let mut freshness = Freshness::default();
    freshness.lifetime_s = reader.number()?;
    freshness.while_revalidate_s = reader.number()?;
    freshness.if_error_s = reader.number()?;
    freshness.basis = if reader.flag()? { Basis::Assumed } else { Basis::Said };
    freshness.is_checked_always = reader.flag()?;
    freshness.is_strict = reader.flag()?;
    let ages = (initial_age_s, stored_s.saturating_add(since_s));
    let is_for_all = reader.flag()?;
    let mut fields = FieldList::new();
    while !reader.0.is_empty() {
        let name = str::from_utf8(reader.bytes()?).ok()?;
        fields.add_as_spelt(name, reader.bytes()?).ok()?;
    }
    fields.shrink();
    let terms = StorageTerms { freshness: freshness.with_ages(ages, now), variant, is_for_all };
    Some((key, Object::recorded(status, fields, terms)))
}

/// The beginning of each record with this key, and of no other one.
pub fn key_bytes(key: &AnswerKey) -> Vec<u8> {
    let KeyRecord { text, path_at, way, parts } = key.record();
    let mut writer = Writer(Vec::with_capacity(text.len() + 512));
    writer.bytes(text.as_bytes());
    writer.number(path_at as u64);
    writer.number(way);
    for part in [parts.scheme, parts.host, parts.query] {
        writer.number(u64::from(part));
    }
    writer.0
}

/// The number of the text of a key.
pub fn number_of_text(text: &str) -> u64 {
    number_of(text.as_bytes())
}

/// A number of some bytes, the same at each start of this program. Another version of it may find another one: then
/// what was stored before is not found, and leaves in time.
pub fn number_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

struct Reader<'r>(&'r [u8]);

impl<'r> Reader<'r> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<&'r [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

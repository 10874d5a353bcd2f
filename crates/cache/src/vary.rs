//! `Vary`: the fields of a request by which the answers of one URI differ (RFC 9111 section 4.1).
//!
//! Owns how values are compared: those that the server got, which are not always those that the client sent. Never
//! decides what is stored.

use wire::http::head::Fields;

use crate::limits::VARY_NAMES;
use crate::rules::KeyParts;

/// Fields with which the proxy tells the server who the client is, besides those that begin with `x-forwarded-`. What a
/// client sends of them reaches no server, and what the server gets is no field of the client.
const TOLD: [&str; 5] = ["forwarded", "via", "x-real-ip", "x-request-id", "proxy"];

/// The requests that an answer is for, as it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vary {
    /// For no other one: `*`, too many fields, or one that the server gets of the proxy and that is not in the key.
    Nobody,
    /// For those with the same values in these fields, in lower case and with `-` for `_`.
    By(Vec<Box<str>>),
}

impl Vary {
    /// The requests that an answer with these fields is for.
    pub fn of(fields: &Fields<'_, '_>, key: KeyParts) -> Self {
        let mut names: Vec<Box<str>> = Vec::new();
        for name in fields.all("vary").flat_map(members) {
            let Ok(name) = str::from_utf8(name) else { return Self::Nobody };
            if name == "*" {
                return Self::Nobody;
            }
            let name = uniform_name(name).into_boxed_str();
            let is_in_key = match &*name {
                "host" | "x-forwarded-host" => key.host,
                "x-forwarded-proto" => key.scheme,
                _ => false,
            };
            if is_in_key || names.contains(&name) {
                continue;
            }
            let is_told = TOLD.contains(&&*name) || name.starts_with("x-forwarded-");
            if is_told || &*name == "host" {
                return Self::Nobody;
            }
            if names.len() == VARY_NAMES {
                return Self::Nobody;
            }
            names.push(name);
        }
        Self::By(names)
    }
}

/// The values of a request in the fields that `Vary` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant(Vec<Value>);

/// A field of a request, in lower case, and its value; `None`: it has no such field.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    name: Box<str>,
    value: Option<Box<[u8]>>,
}

impl Variant {
    /// The values of a request with these fields.
    pub fn of(names: Vec<Box<str>>, request: &Fields<'_, '_>) -> Self {
        let value = |name: &str| {
            let value: Vec<u8> = uniform(request, name).collect();
            has(request, name).then(|| value.into_boxed_slice())
        };
        let pairs = names.into_iter().map(|name| {
            let value = value(&name);
            Value { name, value }
        });
        Self(pairs.collect())
    }

    /// Whether a request with these fields has the same values.
    pub fn matches(&self, request: &Fields<'_, '_>) -> bool {
        self.0.iter().all(|Value { name, value }| match value {
            Some(value) => has(request, name) && uniform(request, name).eq(value.iter().copied()),
            None => !has(request, name),
        })
    }

    /// Its names, and the value of each; `None`: there is no such field.
    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = (&str, Option<&[u8]>)> {
        self.0.iter().map(|Value { name, value }| (&**name, value.as_deref()))
    }

    /// One with these values.
    pub(crate) fn recorded(values: &[(&str, Option<&[u8]>)]) -> Self {
        let value = |(name, value): &(&str, Option<&[u8]>)| Value {
            name: (*name).into(),
            value: value.map(Into::into),
        };
        Self(values.iter().map(value).collect())
    }

    /// Bytes that it uses.
    pub(crate) fn cost(&self) -> usize {
        let one = |Value { name, value }: &Value| {
            name.len() + value.as_ref().map_or(0, |value| value.len()) + 32
        };
        self.0.iter().map(one).sum()
    }
}

/// The members of a list.
fn members(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b',').map(|one| one.trim_ascii()).filter(|one| !one.is_empty())
}

/// A name in lower case and with `-` for `_`: programs that get fields as variables take both for the same.
fn uniform_name(name: &str) -> String {
    name.bytes().map(|byte| char::from(uniform_byte(byte))).collect()
}

fn uniform_byte(byte: u8) -> u8 {
    if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() }
}

/// Whether a server may take this field for the one with that uniform name.
fn is_like(field: &str, name: &str) -> bool {
    field.len() == name.len() && field.bytes().map(uniform_byte).eq(name.bytes())
}

fn has(request: &Fields<'_, '_>, name: &str) -> bool {
    request.iter().any(|(field, _)| is_like(field, name))
}

/// All values of a field as one, without the space around commas, which means nothing. Another server may know the
/// spelling with `_` for another field, so its values have a mark that no value has.
fn uniform<'b>(request: &Fields<'b, '_>, name: &str) -> impl Iterator<Item = u8> + use<'b> {
    let is_named = |(field, _): &(&str, &[u8])| is_like(field, name);
    let lines: Vec<(&'b str, &'b [u8])> = request.iter().filter(is_named).collect();
    let mut is_first = true;
    lines.into_iter().flat_map(move |(field, line)| {
        let mark = field.contains('_').then_some(0);
        let mut values = Vec::from_iter(mark);
        for member in members(line) {
            values.extend((!std::mem::take(&mut is_first)).then_some(b','));
            values.extend_from_slice(member);
        }
        values
    })
}

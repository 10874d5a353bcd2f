//! `Vary`: the fields of a request by which the answers of one URI differ (RFC 9111 section 4.1).
//!
//! Owns how values are compared. Never decides what is stored.

use wire::http::head::Fields;

use crate::limits::VARY_NAMES;

/// What an answer says of the requests that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vary {
    /// For no other one (`*`), or it names too many fields.
    Nobody,
    /// For those with the same values in these fields, in lower case.
    By(Vec<Box<str>>),
}

impl Vary {
    /// What an answer with these fields says.
    #[must_use]
    pub fn of(fields: &Fields<'_, '_>) -> Self {
        let mut names: Vec<Box<str>> = Vec::new();
        for name in fields.all("vary").flat_map(members) {
            let Ok(name) = str::from_utf8(name) else { return Self::Nobody };
            if name == "*" {
                return Self::Nobody;
            }
            let name = name.to_ascii_lowercase().into_boxed_str();
            if names.contains(&name) {
                continue;
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
    #[must_use]
    pub fn of(names: Vec<Box<str>>, request: &Fields<'_, '_>) -> Self {
        let value = |name: &str| {
            let value: Vec<u8> = uniform(request, name).collect();
            request.has(name).then(|| value.into_boxed_slice())
        };
        let pairs = names.into_iter().map(|name| {
            let value = value(&name);
            Value { name, value }
        });
        Self(pairs.collect())
    }

    /// Whether a request with these fields has the same values.
    #[must_use]
    pub fn matches(&self, request: &Fields<'_, '_>) -> bool {
        self.0.iter().all(|Value { name, value }| match value {
            Some(value) => request.has(name) && uniform(request, name).eq(value.iter().copied()),
            None => !request.has(name),
        })
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

/// All values of a field as one, without the space around commas, which means nothing.
fn uniform<'b>(request: &Fields<'b, '_>, name: &str) -> impl Iterator<Item = u8> + use<'b> {
    let lines: Vec<&'b [u8]> = request.all(name).collect();
    let mut is_first = true;
    lines.into_iter().flat_map(members).flat_map(move |member| {
        let comma = (!std::mem::take(&mut is_first)).then_some(b',');
        comma.into_iter().chain(member.iter().copied())
    })
}

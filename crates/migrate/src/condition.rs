//! The conditions of a route on a request besides its path.
//!
//! Owns the keys `methods` and `when`. Two conditions join only where both can be said of one request.

use crate::word::{list, quoted, table};

/// Methods, and what `when` has; the default is met by all requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    methods: Vec<String>,
    /// Name and value as printed.
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
    addresses: Vec<String>,
    listeners: Vec<String>,
}

impl Condition {
    pub(crate) fn methods(methods: impl IntoIterator<Item = String>) -> Self {
        Self { methods: methods.into_iter().collect(), ..Self::default() }
    }

    /// A field that has this value, in which `*` stands for any characters.
    pub(crate) fn header(name: &str, value: &str) -> Self {
        Self { headers: vec![(name.to_ascii_lowercase(), quoted(value))], ..Self::default() }
    }

    /// A field that is there or not, as printed.
    pub(crate) fn has_header(name: &str, printed: &str) -> Self {
        Self { headers: vec![(name.to_ascii_lowercase(), printed.to_owned())], ..Self::default() }
    }

    /// A parameter of the query, with its value as printed.
    pub(crate) fn query(name: &str, printed: String) -> Self {
        Self { query: vec![(name.to_owned(), printed)], ..Self::default() }
    }

    pub(crate) fn addresses(networks: impl IntoIterator<Item = String>) -> Self {
        Self { addresses: networks.into_iter().collect(), ..Self::default() }
    }

    /// The same for requests through these listeners only.
    pub(crate) fn at(mut self, listeners: &[String]) -> Self {
        self.listeners = listeners.to_vec();
        self
    }

    /// Whether all requests meet it.
    pub(crate) fn is_always(&self) -> bool {
        *self == Self::default()
    }

    /// Both conditions; `None` if no route can have both.
    pub(crate) fn and(&self, other: &Self) -> Option<Self> {
        fn one<T: Clone + PartialEq>(a: &[T], b: &[T]) -> Option<Vec<T>> {
            match (a, b) {
                ([], any) | (any, []) => Some(any.to_vec()),
                (a, b) => (a == b).then(|| a.to_vec()),
            }
        }
        let both = |a: &[(String, String)], b: &[(String, String)]| {
            let is_double =
                |(name, _): &&(String, String)| a.iter().any(|(known, _)| known == name);
            let new: Vec<_> = b.iter().filter(|entry| !a.contains(entry)).collect();
            (!new.iter().any(is_double))
                .then(|| a.iter().chain(new.iter().copied()).cloned().collect())
        };
        Some(Self {
            methods: one(&self.methods, &other.methods)?,
            headers: both(&self.headers, &other.headers)?,
            query: both(&self.query, &other.query)?,
            addresses: one(&self.addresses, &other.addresses)?,
            listeners: one(&self.listeners, &other.listeners)?,
        })
    }

    /// The keys of a route, with their values as printed.
    pub(crate) fn keys(&self) -> Vec<(&'static str, String)> {
        let mut keys = Vec::new();
        if !self.methods.is_empty() {
            keys.push(("methods", list(&self.methods)));
        }
        let entries = |all: &[(String, String)]| {
            table(all.iter().map(|(name, value)| (&**name, value.clone())))
        };
        let mut when = Vec::new();
        if !self.headers.is_empty() {
            when.push(("header", entries(&self.headers)));
        }
        if !self.query.is_empty() {
            when.push(("query", entries(&self.query)));
        }
        if !self.addresses.is_empty() {
            when.push(("address", list(&self.addresses)));
        }
        if !self.listeners.is_empty() {
            when.push(("listener", list(&self.listeners)));
        }
        if !when.is_empty() {
            keys.push(("when", table(when)));
        }
        keys
    }
}

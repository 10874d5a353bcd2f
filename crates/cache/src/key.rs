//! The key of a request: what distinguishes it from all whose stored answer it must not get.
//!
//! Owns how a URI becomes a key. The path and the query are taken byte for byte, as the server gets them, because it
//! may read two spellings differently. Only the host is made uniform (RFC 9110 section 4.2.3).

use std::rc::Rc;

use ahash::RandomState;
use wire::http::url::{self, Scheme};

use crate::rules::KeyParts;

/// The URI of a request, and what else the server is told that others are not.
#[derive(Clone, Copy, Debug)]
pub struct Uri<'u> {
    /// How the client came.
    pub scheme: Scheme,
    /// `Host`, with its port if it has one.
    pub host: &'u str,
    /// The path and the query, percent-encoded.
    pub target: &'u str,
    /// A number of what is done with the request on its way to the server.
    pub way: u64,
}

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerKey {
    text: Rc<str>,
    /// Where the path begins.
    path_at: usize,
    way: u64,
    parts: KeyParts,
}

/// The contents of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRecord<'k> {
    pub(crate) text: &'k str,
    pub(crate) path_at: usize,
    pub(crate) way: u64,
    pub(crate) parts: KeyParts,
}

impl AnswerKey {
    /// Its contents.
    pub(crate) fn record(&self) -> KeyRecord<'_> {
        KeyRecord { text: &self.text, path_at: self.path_at, way: self.way, parts: self.parts }
    }

    /// A key of this. `None`: it is none.
    pub(crate) fn recorded(record: &KeyRecord<'_>) -> Option<Self> {
        let KeyRecord { text, path_at, way, parts } = *record;
        text.is_char_boundary(path_at).then(|| Self { text: text.into(), path_at, way, parts })
    }

    /// The key of a URI.
    pub fn new(uri: &Uri<'_>, parts: KeyParts) -> Self {
        let mut text = String::with_capacity(uri.host.len() + uri.target.len() + 9);
        if parts.scheme {
            text.push_str(match uri.scheme {
                Scheme::Http => "http:",
                Scheme::Https => "https:",
            });
        }
        text.push_str("//");
        if parts.host {
            let host = url::without_default_port(uri.scheme, uri.host.as_bytes());
            // A part of a text that ends before a colon.
            let host = str::from_utf8(host).unwrap_or(uri.host);
            text.extend(host.chars().map(|letter| letter.to_ascii_lowercase()));
        }
        let path_at = text.len();
        match uri.target.split_once('?') {
            Some((path, _)) if !parts.query => text.push_str(path),
            _ => text.push_str(uri.target),
        }
        Self { text: text.into(), path_at, way: uri.way, parts }
    }

    /// The key as text, the same for all ways.
    pub fn text(&self) -> &Rc<str> {
        &self.text
    }

    /// Host and port, if they are part of it.
    pub fn host(&self) -> &str {
        let authority = self.text.get(..self.path_at).unwrap_or_default();
        authority.split_once("//").map_or("", |(_, host)| host)
    }

    /// Path and query.
    pub fn target(&self) -> &str {
        self.text.get(self.path_at..).unwrap_or_default()
    }

    /// The same URI with another path and query.
    fn at(&self, target: &str) -> Self {
        let before = self.text.get(..self.path_at).unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default();
        let target = if self.parts.query { target } else { path };
        let text: Rc<str> = format!("{before}{target}").into();
        Self { text, ..*self }
    }

    /// The same URI with the path and query of a reference in a field of its answer, if that is one of the same origin
    /// (RFC 9111 section 4.4).
    pub fn referred(&self, reference: &str) -> Option<Self> {
        let whole = reference.split('#').next()?;
        let target = match url::scheme(whole.as_bytes()) {
            Some((scheme, rest)) => {
                let (authority, target) = url::split_authority(rest);
                let is_same = url::is_same_authority(scheme, authority, self.host().as_bytes());
                str::from_utf8(target).ok().filter(|_| is_same)?
            }
            None => whole,
        };
        let is_path = target.starts_with('/') && !target.starts_with("//");
        is_path.then(|| self.at(target))
    }

    /// A number for tables, with the secret of a cache, so that nobody can choose keys with the same one.
    pub(crate) fn hash(&self, secret: &RandomState) -> u64 {
        secret.hash_one((&*self.text, self.way))
    }

    /// Bytes that it uses.
    pub(crate) fn cost(&self) -> usize {
        self.text.len()
    }
}

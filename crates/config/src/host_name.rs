//! The names a virtual host answers to: `example.org`, `*.example.org`, `[::1]`.
//!
//! Owns their syntax and the comparison of one of them. Never resolves a name.

use std::fmt;

use crate::item::Item;
use crate::limits::HOST_NAME_SIZE_MAX;
use crate::value::{borrowed_text, cannot_be};

/// A name of a host, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HostName {
    /// Only this name.
    Exact(String),
    /// All names with this ending, which begins with a dot.
    Wildcard(String),
}

impl HostName {
    /// Parses a name from the file.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let lower = text.to_ascii_lowercase();
        let name = lower.strip_suffix('.').unwrap_or(&lower);
        if name == "*" {
            return Err("the top level of the file is the host for all other names already");
        }
        if name.len() > HOST_NAME_SIZE_MAX {
            return Err("a host name has at most 253 bytes");
        }
        let is_literal = name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
        if is_literal {
            return Ok(Self::Exact(name.to_owned()));
        }
        if name.parse::<std::net::Ipv6Addr>().is_ok() {
            return Err("an IPv6 address needs brackets, as in \"[::1]\"");
        }
        if name.contains(':') {
            return Err("a name has no port; the listeners say which ports there are");
        }
        if !name.is_ascii() {
            return Err("write the name in its ASCII form, which begins with \"xn--\"");
        }
        match name.strip_prefix("*.") {
            Some(rest) => labels(rest).map(|()| Self::Wildcard(format!(".{rest}"))),
            None => labels(name).map(|()| Self::Exact(name.to_owned())),
        }
    }

    /// Whether this is the name of a host, given in lower case without port and final dot.
    pub fn is_match(&self, host: &[u8]) -> bool {
        match self {
            Self::Exact(name) => name.as_bytes() == host,
            Self::Wildcard(end) => host.len() > end.len() && host.ends_with(end.as_bytes()),
        }
    }
}

fn labels(name: &str) -> Result<(), &'static str> {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if name.split('.').all(is_label) {
        return Ok(());
    }
    if name.contains('*') {
        return Err("`*` is allowed at the beginning, for whole labels, as in \"*.example.org\"");
    }
    Err("write a host name such as \"example.org\" or \"*.example.org\"")
}

impl fmt::Display for HostName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => out.write_str(name),
            Self::Wildcard(end) => write!(out, "*{end}"),
        }
    }
}

pub(super) fn read(item: &Item<'_>) -> Result<HostName, String> {
    let text = borrowed_text(item, "a host name in quotes such as \"example.org\"")?;
    HostName::parse(text).map_err(|why| cannot_be(item, text, why))
}

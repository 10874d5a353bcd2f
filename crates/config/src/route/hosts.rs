//! Which host a request is for, by the name it gives.
//!
//! Owns the form in which names are compared, and the order: the exact name, then the longest
//! wildcard, then the default host. Allocates nothing per request.

use ahash::HashMap;

use crate::host_id::HostId;
use crate::host_name::HostName;
use crate::limits::HOST_NAME_SIZE_MAX;

/// The names of all virtual hosts.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    exact: HashMap<Box<[u8]>, HostId>,
    /// By the ending of the name from its dot on.
    wildcards: HashMap<Box<[u8]>, HostId>,
}

/// A host in the form in which names are compared: lower case, without port and final dot. Empty for none and for
/// names that are too long.
pub(super) struct PlainHost {
    bytes: [u8; HOST_NAME_SIZE_MAX],
    size: usize,
}

impl PlainHost {
    pub(super) fn none() -> Self {
        Self { bytes: [0; HOST_NAME_SIZE_MAX], size: 0 }
    }

    pub(super) fn of(host: Option<&str>) -> Self {
        let mut plain = Self::none();
        let name = without_port(host.unwrap_or_default());
        let name = name.strip_suffix('.').unwrap_or(name).as_bytes();
        if let Some(slot) = plain.bytes.get_mut(..name.len()) {
            slot.copy_from_slice(name);
            slot.make_ascii_lowercase();
            plain.size = name.len();
        }
        plain
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.size).unwrap_or_default()
    }

    /// The host as a URL may name it, so that text behind it stays text behind it: a name, or an address (in brackets
    /// for IPv6). `None` for anything else that RFC 3986 section 3.2.2 would allow.
    pub(super) fn of_url(&self) -> Option<&str> {
        let text = str::from_utf8(self.as_bytes()).ok()?;
        let is_literal = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        let is_host = is_literal || !text.is_empty() && text.bytes().all(is_name);
        is_host.then_some(text)
    }
}

/// RFC 3986 §3.2: an address in brackets contains colons.
fn without_port(host: &str) -> &str {
    if host.starts_with('[') {
        return host.find(']').and_then(|end| host.get(..=end)).unwrap_or(host);
    }
    memchr::memchr(b':', host.as_bytes()).and_then(|colon| host.get(..colon)).unwrap_or(host)
}

impl Hosts {
    pub(super) fn insert(&mut self, name: &HostName, host: HostId) {
        match name {
            HostName::Exact(name) => self.exact.insert(name.as_bytes().into(), host),
            HostName::Wildcard(end) => self.wildcards.insert(end.as_bytes().into(), host),
        };
    }

    pub(super) fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.wildcards.is_empty()
    }

    /// The host for a plain name; the default host if no other has it.
    pub(super) fn find(&self, name: &[u8]) -> HostId {
        if let Some(host) = self.exact.get(name) {
            return *host;
        }
        if self.wildcards.is_empty() {
            return HostId::DEFAULT;
        }
        // A wildcard matches at least one label, so the dot is never the first byte.
        memchr::memchr_iter(b'.', name)
            .filter(|dot| *dot > 0)
            .find_map(|dot| self.wildcards.get(name.get(dot..)?))
            .copied()
            .unwrap_or(HostId::DEFAULT)
    }
}

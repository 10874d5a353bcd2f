//! URLs of fetches: `http://host:port/path?query`.
//!
//! Owns which of them can be fetched. The grammar is `wire`'s. Never encodes: characters that a
//! request line cannot carry are refused.

use std::net::IpAddr;

use config::limits::HOST_NAME_SIZE_MAX;
use wire::http::url::{self, Authority, AuthorityError, HTTP_PORT, Scheme};

use super::failure::Failure;

use crate::limits::FETCH_URL_SIZE;

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// An address, which needs no lookup.
    Address(IpAddr),
    /// A name in lower case, without a final dot.
    Name(Box<str>),
}

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
    /// For the Host field: without the default port.
    pub(super) authority: String,
    /// Path and query for the request line.
    pub(super) path: String,
}

/// Splits a URL into its parts.
pub(super) fn parse(url: &[u8]) -> Result<Target, Failure> {
    if url.len() > FETCH_URL_SIZE {
        return Err(Failure::UrlTooLong);
    }
    if !url.iter().all(u8::is_ascii_graphic) {
        return Err(Failure::UrlCharacter);
    }
    let rest = match url::scheme(url) {
        Some((Scheme::Http, rest)) => rest,
        Some((Scheme::Https, _)) => return Err(Failure::Https),
        None => return Err(Failure::NotHttp),
    };
    let (authority, path) = url::split_authority(rest);
    // Browsers take a backslash in a path for a slash, other readers do not (WHATWG URL, section 4.4).
    if path.iter().take_while(|byte| !b"?#".contains(byte)).any(|byte| *byte == b'\\') {
        return Err(Failure::UrlCharacter);
    }
    let text = |bytes| str::from_utf8(bytes).map_err(|_| Failure::UrlCharacter);
    let Authority { host, host_text, port } =
        Authority::parse(text(authority)?).map_err(|error| match error {
            AuthorityError::UserInformation => Failure::UserInformation,
            AuthorityError::Port => Failure::Port,
            _ => Failure::HostName,
        })?;
    let host_text = host_text.to_ascii_lowercase();
    let host = match host {
        url::Host::Address(address) => Host::Address(address),
        url::Host::Name(_) => {
            let name = host_text.strip_suffix('.').unwrap_or(&host_text);
            if name.len() > HOST_NAME_SIZE_MAX {
                return Err(Failure::HostName);
            }
            Host::Name(name.into())
        }
    };
    let authority = if port == HTTP_PORT { host_text } else { format!("{host_text}:{port}") };
    let path = text(path)?.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Target { host, port, authority, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> (String, u16, String, String) {
        let target = parse(url.as_bytes()).unwrap();
        let host = match target.host {
            Host::Address(address) => format!("<{address}>"),
            Host::Name(name) => name.into(),
        };
        (host, target.port, target.authority, target.path)
    }

    #[test]
    fn a_url_is_taken_apart() {
        let of = |host: &str, port, authority: &str, path: &str| {
            (host.to_owned(), port, authority.to_owned(), path.to_owned())
        };
        assert_eq!(parts("http://Example.ORG"), of("example.org", 80, "example.org", "/"));
        assert_eq!(parts("HTTP://a.b.:80/x?y=1#z"), of("a.b", 80, "a.b.", "/x?y=1"));
        assert_eq!(parts("http://a:/"), of("a", 80, "a", "/"));
        assert_eq!(parts("http://a?q=/@:"), of("a", 80, "a", "/?q=/@:"));
        assert_eq!(parts("http://a#f"), of("a", 80, "a", "/"));
        assert_eq!(parts("http://10.1.2.3:9000/"), of("<10.1.2.3>", 9000, "10.1.2.3:9000", "/"));
        assert_eq!(parts("http://[::1]:8080/p"), of("<::1>", 8080, "[::1]:8080", "/p"));
        assert_eq!(parts("http://[::1]"), of("<::1>", 80, "[::1]", "/"));
        assert_eq!(parts("http://my_host/"), of("my_host", 80, "my_host", "/"));
    }

    #[test]
    fn what_cannot_be_fetched_is_told_apart() {
        let failure = |url: &str| parse(url.as_bytes()).unwrap_err();
        assert_eq!(failure("https://a/"), Failure::Https);
        for url in ["ftp://a/", "a/b", "", "//a/", "http:/a", "://a"] {
            assert_eq!(failure(url), Failure::NotHttp, "{url}");
        }
        for url in [
            "http://a/ b",
            "http://a/b\\c",
            "http://a/\r\nX: y",
            "http://a/\u{e4}",
            "http://a\0/",
            "http://a/\t",
        ] {
            assert_eq!(failure(url), Failure::UrlCharacter, "{url:?}");
        }
        for url in ["http://a:b/", "http://a:0/", "http://a:65536/", "http://a:+80/"] {
            assert_eq!(failure(url), Failure::Port, "{url}");
        }
        for url in [
            "http://",
            "http:///x",
            "http://a..b/",
            "http://a*b/",
            "http://[x]/",
            "http://[::1/",
            "http://a::80/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0177.0.0.1/",
            "http://%31%32%37.0.0.1/",
        ] {
            assert_eq!(failure(url), Failure::HostName, "{url}");
        }
        assert_eq!(failure("http://a\\@b/"), Failure::UserInformation);
        assert_eq!(failure("http://user@a/"), Failure::UserInformation);
        assert_eq!(failure("http://user:word@a/"), Failure::UserInformation);
        assert_eq!(
            failure(&format!("http://a/{}", "x".repeat(FETCH_URL_SIZE))),
            Failure::UrlTooLong
        );
    }
}

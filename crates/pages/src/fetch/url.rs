//! URLs of fetches: `http://host:port/path?query`.
//!
//! Owns which of them can be fetched, and where they lead. Never encodes: what a request line cannot carry is refused.

use std::net::{IpAddr, Ipv6Addr};

use super::failure::Failure;
use config::limits::HOST_NAME_SIZE_MAX;

use crate::limits::FETCH_URL_SIZE;

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// An address, which nobody has to be asked for.
    Address(IpAddr),
    /// A name in lower case, without a last dot.
    Name(Box<str>),
}

/// A URL taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
    /// As the Host field names it: without the usual port.
    pub(super) authority: String,
    /// Path and query as the request line has them.
    pub(super) path: String,
}

const USUAL_PORT: u16 = 80;

/// Takes a URL apart (RFC 3986, 3; RFC 9110, 4.2.1).
pub(super) fn parse(url: &[u8]) -> Result<Target, Failure> {
    if url.len() > FETCH_URL_SIZE {
        return Err(Failure::UrlTooLong);
    }
    let is_visible = url.iter().all(u8::is_ascii_graphic);
    let url = str::from_utf8(url).ok().filter(|_| is_visible).ok_or(Failure::UrlCharacter)?;
    let (scheme, rest) = url.split_once("://").ok_or(Failure::NotHttp)?;
    if scheme.eq_ignore_ascii_case("https") {
        return Err(Failure::Https);
    }
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Failure::NotHttp);
    }
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err(Failure::UserInformation);
    }
    let (host_text, port) = split_port(authority)?;
    let host_text = host_text.to_ascii_lowercase();
    let host = host_of(&host_text)?;
    let authority = if port == USUAL_PORT { host_text } else { format!("{host_text}:{port}") };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Target { host, port, authority, path })
}

fn split_port(authority: &str) -> Result<(&str, u16), Failure> {
    // Behind the bracket of an IPv6 address: its own colons are no ports.
    let after = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let Some(colon) = authority.get(after..).and_then(|rest| rest.find(':')) else {
        return Ok((authority, USUAL_PORT));
    };
    let (host, port) = authority.split_at(after + colon);
    let digits = port.trim_start_matches(':');
    if digits.is_empty() && port.len() == 1 {
        return Ok((host, USUAL_PORT));
    }
    let is_number =
        port.len() == digits.len() + 1 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|number| is_number && *number > 0);
    number.map(|number| (host, number)).ok_or(Failure::Port)
}

fn host_of(text: &str) -> Result<Host, Failure> {
    if let Some(rest) = text.strip_prefix('[') {
        let address = rest.strip_suffix(']').and_then(|inner| inner.parse::<Ipv6Addr>().ok());
        return address.map(|address| Host::Address(address.into())).ok_or(Failure::HostName);
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(Host::Address(address));
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.bytes().all(is_part)
    };
    if name.len() > HOST_NAME_SIZE_MAX || !name.split('.').all(is_label) {
        return Err(Failure::HostName);
    }
    Ok(Host::Name(name.into()))
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
        for url in
            ["http://a/ b", "http://a/\r\nX: y", "http://a/\u{e4}", "http://a\0/", "http://a/\t"]
        {
            assert_eq!(failure(url), Failure::UrlCharacter, "{url:?}");
        }
        for url in [
            "http://a:b/",
            "http://a:0/",
            "http://a:65536/",
            "http://a::80/",
            "http://[::1/",
            "http://a:+80/",
        ] {
            assert_eq!(failure(url), Failure::Port, "{url}");
        }
        for url in ["http://", "http:///x", "http://a..b/", "http://a*b/", "http://[x]/"] {
            assert_eq!(failure(url), Failure::HostName, "{url}");
        }
        assert_eq!(failure("http://user@a/"), Failure::UserInformation);
        assert_eq!(failure("http://user:word@a/"), Failure::UserInformation);
        assert_eq!(
            failure(&format!("http://a/{}", "x".repeat(FETCH_URL_SIZE))),
            Failure::UrlTooLong
        );
    }
}

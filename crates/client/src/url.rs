//! URLs as a requester gives them: `http://host:port/path?query`.
//!
//! Owns which of them can be requested. The grammar is `wire`'s. Never encodes: characters that a
//! request line cannot contain are an error, because encoding them here would only guess their meaning.

use wire::http::url::{self, Authority, AuthorityError, Scheme};

use crate::limits::{HOST_NAME_BYTES, URL_BYTES};
use crate::origin::{OriginHost, OriginTransport, ServerOrigin};

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The server.
    pub origin: ServerOrigin,
    /// For the Host field: without the default port.
    pub authority: String,
    /// Path and query for the request line.
    pub target: String,
}

/// Why a text is not a URL that can be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It has an unknown scheme.
    #[error("it does not begin with http:// or https://")]
    Scheme,
    /// It is too long.
    #[error("it is longer than {URL_BYTES} bytes")]
    TooLong,
    /// It contains a character that a request line cannot contain.
    #[error("it holds blanks or characters that are to be encoded")]
    Character,
    /// It contains a user name, which belongs in a field.
    #[error("it names a user; set the header 'authorization' instead")]
    UserInformation,
    /// It has an invalid port.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// It has no host, or an invalid one.
    #[error("its host is neither a name nor an address")]
    Host,
}

impl Url {
    /// Splits a URL into its parts.
    ///
    /// # Errors
    /// If it cannot be requested.
    pub fn parse(url: &[u8]) -> Result<Self, UrlError> {
        if url.len() > URL_BYTES {
            return Err(UrlError::TooLong);
        }
        if !url.iter().all(u8::is_ascii_graphic) {
            return Err(UrlError::Character);
        }
        let (scheme, rest) = url::scheme(url).ok_or(UrlError::Scheme)?;
        let (authority, target) = url::split_authority(rest);
        // Browsers take a backslash in a path for a slash, other readers do not (WHATWG URL, section 4.4).
        if target.iter().take_while(|byte| !b"?#".contains(byte)).any(|byte| *byte == b'\\') {
            return Err(UrlError::Character);
        }
        let text = |bytes| str::from_utf8(bytes).map_err(|_| UrlError::Character);
        let (origin, authority) = read_authority(scheme, text(authority)?)?;
        let target = text(target)?.split('#').next().unwrap_or_default();
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Self { origin, authority, target })
    }
}

/// The origin, and its text for the Host field.
fn read_authority(scheme: Scheme, authority: &str) -> Result<(ServerOrigin, String), UrlError> {
    let Authority { host, host_text, port } = Authority::parse(authority)?;
    let default_port = match scheme {
        Scheme::Http => url::HTTP_PORT,
        Scheme::Https => url::HTTPS_PORT,
    };
    // A colon without digits is no port (RFC 3986 section 3.2.3).
    let has_port = authority.len() > host_text.len() + 1;
    let port = if has_port { port } else { default_port };
    let host_text = host_text.to_ascii_lowercase();
    let host = match host {
        url::UrlHost::Address(address) => OriginHost::Address(address),
        url::UrlHost::Name(_) => {
            let name = host_text.strip_suffix('.').unwrap_or(&host_text);
            if name.len() > HOST_NAME_BYTES {
                return Err(UrlError::Host);
            }
            OriginHost::Name(name.into())
        }
    };
    let text = if port == default_port { host_text } else { format!("{host_text}:{port}") };
    Ok((ServerOrigin { transport: OriginTransport::from(scheme), host, port }, text))
}

impl From<AuthorityError> for UrlError {
    fn from(error: AuthorityError) -> Self {
        match error {
            AuthorityError::UserInformation => Self::UserInformation,
            AuthorityError::Port => Self::Port,
            AuthorityError::NoHost
            | AuthorityError::Host
            | AuthorityError::Ipv6
            | AuthorityError::BareIpv6 => Self::Host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> (String, u16, String, String) {
        let url = Url::parse(url.as_bytes()).unwrap();
        let host = match url.origin.host {
            OriginHost::Address(address) => format!("<{address}>"),
            OriginHost::Name(name) => name.into(),
            OriginHost::Socket(path) => panic!("no URL leads to {path:?}"),
        };
        (host, url.origin.port, url.authority, url.target)
    }

    #[test]
    fn a_url_is_split_into_its_origin_host_field_and_target() {
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
        assert_eq!(parts("https://a"), of("a", 443, "a", "/"));
        assert_eq!(parts("https://a:80/"), of("a", 80, "a:80", "/"));
        assert_eq!(parts("http://my_host/"), of("my_host", 80, "my_host", "/"));
    }

    #[test]
    fn urls_that_cannot_be_requested_have_different_errors() {
        let failure = |url: &str| Url::parse(url.as_bytes()).unwrap_err();
        for url in ["ftp://a/", "a/b", "", "//a/", "http:/a", "://a"] {
            assert_eq!(failure(url), UrlError::Scheme, "{url}");
        }
        for url in [
            "http://a/ b",
            "http://a/b\\c",
            "http://a/\r\nX: y",
            "http://a/\u{e4}",
            "http://a\0/",
            "http://a/\t",
        ] {
            assert_eq!(failure(url), UrlError::Character, "{url:?}");
        }
        for url in ["http://a:b/", "http://a:0/", "http://a:65536/", "http://a:+80/"] {
            assert_eq!(failure(url), UrlError::Port, "{url}");
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
            assert_eq!(failure(url), UrlError::Host, "{url}");
        }
        assert_eq!(failure("http://a\\@b/"), UrlError::UserInformation);
        assert_eq!(failure("http://user@a/"), UrlError::UserInformation);
        assert_eq!(failure("http://user:word@a/"), UrlError::UserInformation);
        assert_eq!(failure(&format!("http://a/{}", "x".repeat(URL_BYTES))), UrlError::TooLong);
    }
}

//! The URLs of a run.
//!
//! Owns their forms: `http://HOST[:PORT][/PATH]` and `https://` (with the grammar of `wire`), the same without
//! `http://`, and `unix:SOCKET[:/PATH]`. Never looks up a name: [`super::address`] does.
//!
//! Not the crate `url`, because it includes internationalised names and normalises what it reads (dots, escapes,
//! case), while a generator sends the target exactly as given, including templates with their braces.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use wire::http::url::{self, Authority, AuthorityError, HTTP_PORT, HTTPS_PORT, Scheme, UrlHost};

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadUrl {
    /// Whether it is encrypted.
    pub scheme: Scheme,
    /// The server.
    pub place: ServerPlace,
    /// Path and query for the request line, perhaps with templates; begins with a slash.
    pub path_and_query: String,
}

/// The place of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerPlace {
    /// A name that has to be looked up.
    Name {
        /// The name.
        host: String,
        /// The port.
        port: u16,
    },
    /// An address.
    Address {
        /// The address.
        address: IpAddr,
        /// The port.
        port: u16,
    },
    /// A Unix stream socket.
    Unix(PathBuf),
}

impl ServerPlace {
    /// The host without its port, as a certificate has it.
    pub fn host(&self) -> String {
        match self {
            // The path of a socket names no host; curl sends the same.
            Self::Unix(_) => "localhost".to_owned(),
            Self::Name { host, .. } => host.trim_end_matches('.').to_owned(),
            Self::Address { address, .. } => address.to_string(),
        }
    }
}

impl LoadUrl {
    /// The `Host` field (RFC 9110, 7.2): with the port only if it is not the scheme's.
    pub fn host_field(&self) -> String {
        let usual = match self.scheme {
            Scheme::Http => HTTP_PORT,
            Scheme::Https => HTTPS_PORT,
        };
        match &self.place {
            place @ ServerPlace::Unix(_) => place.host(),
            ServerPlace::Name { port, host } if *port == usual => host.clone(),
            ServerPlace::Address { port, address: IpAddr::V6(address) } if *port == usual => {
                format!("[{address}]")
            }
            ServerPlace::Address { port, address } if *port == usual => address.to_string(),
            place => place.to_string(),
        }
    }

    /// The name that the server's certificate must have; `None` without encryption.
    pub fn server_name(&self) -> Option<String> {
        (self.scheme == Scheme::Https).then(|| self.place.host())
    }
}

impl fmt::Display for ServerPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { host, port } => write!(formatter, "{host}:{port}"),
            Self::Address { address: IpAddr::V6(address), port } => {
                write!(formatter, "[{address}]:{port}")
            }
            Self::Address { address, port } => write!(formatter, "{address}:{port}"),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for LoadUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            ServerPlace::Unix(path) => write!(formatter, "unix:{}:", path.display())?,
            _ => {
                let scheme = match self.scheme {
                    Scheme::Http => "http",
                    Scheme::Https => "https",
                };
                write!(formatter, "{scheme}://{}", self.host_field())?;
            }
        }
        formatter.write_str(&self.path_and_query)
    }
}

/// An error in a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadUrlError {
    /// Another scheme than `http` and `https`.
    #[error(
        "the scheme is neither http nor https; write http://HOST:PORT/PATH, https://HOST:PORT/PATH or \
         unix:SOCKET:/PATH"
    )]
    Scheme,
    /// No host and port.
    #[error("{}; {}", .0, mend(*.0))]
    Authority(AuthorityError),
    /// A `#`, which is never sent.
    #[error("the part behind `#` is never sent to a server; leave it out or write %23")]
    Fragment,
    /// A blank, a control character, or one beyond ASCII.
    #[error("{:?} is not allowed in a URL; write {}", .0, escaped(*.0))]
    Character(char),
    /// No file after `unix:`.
    #[error("no socket is named; write unix:/run/server.sock:/PATH")]
    NoSocket,
}

/// A character as a URL may have it.
fn escaped(character: char) -> String {
    let mut bytes = [0; 4];
    character.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A hint on what to write instead.
fn mend(error: AuthorityError) -> &'static str {
    match error {
        AuthorityError::NoHost => "write http://HOST:PORT/PATH",
        AuthorityError::UserInformation => "give it with --header 'Authorization: ...'",
        AuthorityError::Host => "write it in letters, digits, dots and hyphens",
        AuthorityError::Ipv6 => "write http://[::1]:8080/",
        AuthorityError::BareIpv6 => "write http://[::1]:8080/",
        AuthorityError::Port => "write http://HOST:PORT/PATH",
    }
}

impl FromStr for LoadUrl {
    type Err = LoadUrlError;

    fn from_str(text: &str) -> Result<Self, LoadUrlError> {
        if let Some(front) = text.get(..5)
            && front.eq_ignore_ascii_case("unix:")
        {
            return unix(&text[5..]);
        }
        let (scheme, rest) = match url::scheme(text.as_bytes()) {
            Some((scheme, rest)) => (scheme, &text[text.len() - rest.len()..]),
            None if has_scheme(text) => return Err(LoadUrlError::Scheme),
            None => (Scheme::Http, text),
        };
        let (authority, _) = url::split_authority(rest.as_bytes());
        let (authority, target) = rest.split_at(authority.len());
        let Authority { host, host_text, port } =
            Authority::parse(authority).map_err(LoadUrlError::Authority)?;
        // `Authority` has the port of http where none is written. One is if digits follow the host and a colon.
        let has_port = authority.len() > host_text.len() + 1;
        let port = if scheme == Scheme::Https && !has_port { HTTPS_PORT } else { port };
        let place = match host {
            UrlHost::Address(address) => ServerPlace::Address { address, port },
            UrlHost::Name(name) => ServerPlace::Name { host: name.to_owned(), port },
        };
        Ok(Self { scheme, place, path_and_query: path_and_query(target)? })
    }
}

/// Whether a text begins with `NAME://`; a path or query may contain that, too.
fn has_scheme(text: &str) -> bool {
    let name = text.split("://").next().filter(|name| name.len() < text.len());
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// `SOCKET` or `SOCKET:/PATH`.
fn unix(rest: &str) -> Result<LoadUrl, LoadUrlError> {
    let (socket, target) =
        rest.split_once(":/").map_or((rest, ""), |(socket, _)| (socket, &rest[socket.len() + 1..]));
    if socket.is_empty() {
        return Err(LoadUrlError::NoSocket);
    }
    let place = ServerPlace::Unix(socket.into());
    Ok(LoadUrl { scheme: Scheme::Http, place, path_and_query: path_and_query(target)? })
}

/// The target of the request line: unchanged, with the slash that may be missing.
fn path_and_query(target: &str) -> Result<String, LoadUrlError> {
    for character in target.chars() {
        match character {
            '#' => return Err(LoadUrlError::Fragment),
            '!'..='~' => {}
            other => return Err(LoadUrlError::Character(other)),
        }
    }
    if target.starts_with('/') { Ok(target.to_owned()) } else { Ok(format!("/{target}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> LoadUrl {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_url_is_place_and_target() {
        for (text, host, target, again) in [
            ("http://a.example/x?y=1", "a.example", "/x?y=1", "http://a.example/x?y=1"),
            ("HTTP://a.example:80", "a.example", "/", "http://a.example/"),
            ("a.example:8080", "a.example:8080", "/", "http://a.example:8080/"),
            ("localhost/b", "localhost", "/b", "http://localhost/b"),
            ("127.0.0.1:9?q=//", "127.0.0.1:9", "/?q=//", "http://127.0.0.1:9/?q=//"),
            ("a.example/to?url=http://b.example/", "a.example", "/to?url=http://b.example/", ""),
            ("[::1]:8080/a", "[::1]:8080", "/a", "http://[::1]:8080/a"),
            ("http://[fe80::1]/", "[fe80::1]", "/", "http://[fe80::1]/"),
            ("https://a.example/x", "a.example", "/x", "https://a.example/x"),
            ("HTTPS://a.example:443", "a.example", "/", "https://a.example/"),
            ("https://a.example:", "a.example", "/", "https://a.example/"),
            ("https://a.example:80/", "a.example:80", "/", "https://a.example:80/"),
            ("https://[::1]/a", "[::1]", "/a", "https://[::1]/a"),
            ("http://h/{{key:zipf:10:1.1}}", "h", "/{{key:zipf:10:1.1}}", ""),
            ("unix:/run/a.sock:/x?y", "localhost", "/x?y", "unix:/run/a.sock:/x?y"),
            ("unix:/run/a:b.sock", "localhost", "/", "unix:/run/a:b.sock:/"),
        ] {
            let url = url(text);
            assert_eq!((url.host_field().as_str(), url.path_and_query.as_str()), (host, target));
            if !again.is_empty() {
                assert_eq!(url.to_string(), again);
            }
        }
        assert_eq!(url("unix:/run/a.sock:/").place, ServerPlace::Unix("/run/a.sock".into()));
        assert_eq!(url("https://a.example.:8443").server_name().as_deref(), Some("a.example"));
        assert_eq!(url("https://[::1]").server_name().as_deref(), Some("::1"));
        assert_eq!(url("http://a.example").server_name(), None);
        assert_eq!(
            url("[::1]:1").place,
            ServerPlace::Address { address: IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), port: 1 }
        );
    }

    #[test]
    fn a_wrong_url_is_refused_for_its_reason() {
        for (text, expected) in [
            ("http://fe80::1:8080/", LoadUrlError::Authority(AuthorityError::BareIpv6)),
            ("ftp://a.example/", LoadUrlError::Scheme),
            ("ws://a.example", LoadUrlError::Scheme),
            ("", LoadUrlError::Authority(AuthorityError::NoHost)),
            ("/path", LoadUrlError::Authority(AuthorityError::NoHost)),
            ("http://", LoadUrlError::Authority(AuthorityError::NoHost)),
            ("http:///x", LoadUrlError::Authority(AuthorityError::NoHost)),
            ("http://:80/", LoadUrlError::Authority(AuthorityError::NoHost)),
            (
                "http://me:secret@a.example/",
                LoadUrlError::Authority(AuthorityError::UserInformation),
            ),
            ("http://a b/", LoadUrlError::Authority(AuthorityError::Host)),
            ("http://a.example\u{e9}/", LoadUrlError::Authority(AuthorityError::Host)),
            ("http://::1/", LoadUrlError::Authority(AuthorityError::BareIpv6)),
            ("::1", LoadUrlError::Authority(AuthorityError::BareIpv6)),
            ("http://[::1", LoadUrlError::Authority(AuthorityError::Ipv6)),
            ("http://[::1]x/", LoadUrlError::Authority(AuthorityError::Ipv6)),
            ("http://[localhost]/", LoadUrlError::Authority(AuthorityError::Ipv6)),
            ("http://a:0/", LoadUrlError::Authority(AuthorityError::Port)),
            ("http://a:65536/", LoadUrlError::Authority(AuthorityError::Port)),
            ("http://a:+80/", LoadUrlError::Authority(AuthorityError::Port)),
            ("http://a/#top", LoadUrlError::Fragment),
            ("http://a/b c", LoadUrlError::Character(' ')),
            ("http://a/b\r\nX: y", LoadUrlError::Character('\r')),
            ("http://a/\u{e9}", LoadUrlError::Character('\u{e9}')),
            ("unix:", LoadUrlError::NoSocket),
            ("unix::/x", LoadUrlError::NoSocket),
        ] {
            assert_eq!(text.parse::<LoadUrl>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_character_is_refused_with_its_escape() {
        let error = "http://a/\u{e9}".parse::<LoadUrl>().unwrap_err();
        assert!(error.to_string().ends_with("write %C3%A9"), "{error}");
    }
}

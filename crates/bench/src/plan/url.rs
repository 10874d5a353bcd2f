//! The URLs a run asks for, as they are written.
//!
//! Owns their grammar: `http://HOST[:PORT][/PATH]`, the same without `http://`, and `unix:SOCKET[:/PATH]`. Never
//! looks up a name: that is [`super::address`].
//!
//! By hand: the crate `url` brings the whole of internationalised names and rewrites what it reads (dots, escapes,
//! case), while a generator sends the target exactly as it was given, templates with their braces among it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Where it is.
    pub place: Place,
    /// Path and query as they go into the request line, perhaps with templates; begins with a slash.
    pub path_and_query: String,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
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

/// The port of `http` without a number (RFC 9110, 4.2.1).
const HTTP_PORT: u16 = 80;

impl Place {
    /// What goes into `Host` (RFC 9110, 7.2): the port only where it is not the scheme's.
    pub fn host_field(&self) -> String {
        match self {
            // Nothing in a socket's path names a host; curl sends the same.
            Self::Unix(_) => "localhost".to_owned(),
            Self::Name { port: HTTP_PORT, host } => host.clone(),
            Self::Address { port: HTTP_PORT, address: IpAddr::V6(address) } => {
                format!("[{address}]")
            }
            Self::Address { port: HTTP_PORT, address } => address.to_string(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Place {
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

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Unix(path) => write!(formatter, "unix:{}:", path.display())?,
            place => write!(formatter, "http://{}", place.host_field())?,
        }
        formatter.write_str(&self.path_and_query)
    }
}

/// What is wrong with a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// `https`.
    Encrypted,
    /// Another scheme.
    Scheme,
    /// Nothing before the path.
    NoHost,
    /// A name and perhaps a password before the host.
    UserInformation,
    /// A host with a character that no name has.
    Host,
    /// A bracket that is not closed, or what is in it is no IPv6 address.
    Ipv6,
    /// An IPv6 address without its brackets.
    BareIpv6,
    /// Not a number from 1 to 65535.
    Port,
    /// A `#`: it never leaves the client.
    Fragment,
    /// A blank, a control character, or one beyond ASCII.
    Character(char),
    /// No file after `unix:`.
    NoSocket,
}

impl fmt::Display for UrlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Encrypted => {
                "https is not spoken here; ask the server's plain port (http://...), or measure what terminates TLS with \
                 another tool"
            }
            Self::Scheme => "the scheme is not http; write http://HOST:PORT/PATH or unix:SOCKET:/PATH",
            Self::NoHost => "there is no host; write http://HOST:PORT/PATH",
            Self::UserInformation => {
                "a user in the URL is not sent; give it with --header 'Authorization: ...'"
            }
            Self::Host => "the host is neither a name nor an address; write it in letters, digits, dots and hyphens",
            Self::Ipv6 => "the brackets hold no IPv6 address; write http://[::1]:8080/",
            Self::BareIpv6 => "an IPv6 address stands in brackets: http://[::1]:8080/",
            Self::Port => "the port is not a number from 1 to 65535",
            Self::Fragment => "what follows `#` is never sent to a server; leave it out or write %23",
            Self::Character(character) => {
                let mut bytes = [0; 4];
                write!(formatter, "{character:?} cannot stand in a URL; write ")?;
                for byte in character.encode_utf8(&mut bytes).bytes() {
                    write!(formatter, "%{byte:02X}")?;
                }
                return Ok(());
            }
            Self::NoSocket => "no socket is named; write unix:/run/server.sock:/PATH",
        })
    }
}

impl std::error::Error for UrlError {}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if let Some(rest) = strip_prefix_of_any_case(text, "unix:") {
            return unix(rest);
        }
        if strip_prefix_of_any_case(text, "https:").is_some() {
            return Err(UrlError::Encrypted);
        }
        let rest = match strip_prefix_of_any_case(text, "http://") {
            Some(rest) => rest,
            None if has_scheme(text) => return Err(UrlError::Scheme),
            None => text,
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        Ok(Self { place: place(authority)?, path_and_query: path_and_query(target)? })
    }
}

/// Schemes have no case (RFC 3986, 3.1).
fn strip_prefix_of_any_case<'text>(text: &'text str, prefix: &str) -> Option<&'text str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Whether a text begins as `NAME://`; a path or query may hold such a thing, too.
fn has_scheme(text: &str) -> bool {
    let name = text.split("://").next().filter(|name| name.len() < text.len());
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// `SOCKET` or `SOCKET:/PATH`.
fn unix(rest: &str) -> Result<Url, UrlError> {
    let (socket, target) =
        rest.split_once(":/").map_or((rest, ""), |(socket, _)| (socket, &rest[socket.len() + 1..]));
    if socket.is_empty() {
        return Err(UrlError::NoSocket);
    }
    Ok(Url { place: Place::Unix(socket.into()), path_and_query: path_and_query(target)? })
}

fn place(authority: &str) -> Result<Place, UrlError> {
    if authority.contains('@') {
        return Err(UrlError::UserInformation);
    }
    if let Some(rest) = authority.strip_prefix('[') {
        let (inside, after) = rest.split_once(']').ok_or(UrlError::Ipv6)?;
        let address: Ipv6Addr = inside.parse().map_err(|_| UrlError::Ipv6)?;
        let port = match after.strip_prefix(':') {
            Some(digits) => port(digits)?,
            None if after.is_empty() => HTTP_PORT,
            None => return Err(UrlError::Ipv6),
        };
        return Ok(Place::Address { address: address.into(), port });
    }
    if authority.bytes().filter(|byte| *byte == b':').count() > 1 {
        return Err(UrlError::BareIpv6);
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, digits)) => (host, port(digits)?),
        None => (authority, HTTP_PORT),
    };
    if host.is_empty() {
        return Err(UrlError::NoHost);
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(Place::Address { address, port });
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if !host.bytes().all(is_name) {
        return Err(UrlError::Host);
    }
    Ok(Place::Name { host: host.to_owned(), port })
}

fn port(digits: &str) -> Result<u16, UrlError> {
    let number = digits.parse::<u16>().ok().filter(|number| *number > 0);
    number.filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit())).ok_or(UrlError::Port)
}

/// The target of the request line: everything as it stands, with the slash that may be missing.
fn path_and_query(target: &str) -> Result<String, UrlError> {
    for character in target.chars() {
        match character {
            '#' => return Err(UrlError::Fragment),
            '!'..='~' => {}
            other => return Err(UrlError::Character(other)),
        }
    }
    if target.starts_with('/') { Ok(target.to_owned()) } else { Ok(format!("/{target}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
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
            ("http://h/{{key:zipf:10:1.1}}", "h", "/{{key:zipf:10:1.1}}", ""),
            ("unix:/run/a.sock:/x?y", "localhost", "/x?y", "unix:/run/a.sock:/x?y"),
            ("unix:/run/a:b.sock", "localhost", "/", "unix:/run/a:b.sock:/"),
        ] {
            let url = url(text);
            assert_eq!(
                (url.place.host_field().as_str(), url.path_and_query.as_str()),
                (host, target)
            );
            if !again.is_empty() {
                assert_eq!(url.to_string(), again);
            }
        }
        assert_eq!(url("unix:/run/a.sock:/").place, Place::Unix("/run/a.sock".into()));
        assert_eq!(
            url("[::1]:1").place,
            Place::Address { address: IpAddr::V6(Ipv6Addr::LOCALHOST), port: 1 }
        );
    }

    #[test]
    fn a_wrong_url_is_refused_for_its_reason() {
        for (text, expected) in [
            ("https://a.example/", UrlError::Encrypted),
            ("HTTPS://a.example/", UrlError::Encrypted),
            ("ftp://a.example/", UrlError::Scheme),
            ("ws://a.example", UrlError::Scheme),
            ("", UrlError::NoHost),
            ("/path", UrlError::NoHost),
            ("http://", UrlError::NoHost),
            ("http:///x", UrlError::NoHost),
            ("http://:80/", UrlError::NoHost),
            ("http://me:secret@a.example/", UrlError::UserInformation),
            ("http://a b/", UrlError::Host),
            ("http://a.example\u{e9}/", UrlError::Host),
            ("http://::1/", UrlError::BareIpv6),
            ("::1:8080", UrlError::BareIpv6),
            ("http://[::1", UrlError::Ipv6),
            ("http://[::1]x/", UrlError::Ipv6),
            ("http://[localhost]/", UrlError::Ipv6),
            ("http://a:0/", UrlError::Port),
            ("http://a:65536/", UrlError::Port),
            ("http://a:+80/", UrlError::Port),
            ("http://a:/", UrlError::Port),
            ("http://a/#top", UrlError::Fragment),
            ("http://a/b c", UrlError::Character(' ')),
            ("http://a/b\r\nX: y", UrlError::Character('\r')),
            ("http://a/\u{e9}", UrlError::Character('\u{e9}')),
            ("unix:", UrlError::NoSocket),
            ("unix::/x", UrlError::NoSocket),
        ] {
            assert_eq!(text.parse::<Url>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_character_is_refused_with_its_escape() {
        let error = "http://a/\u{e9}".parse::<Url>().unwrap_err();
        assert!(error.to_string().ends_with("write %C3%A9"), "{error}");
    }
}

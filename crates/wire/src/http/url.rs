//! URLs of http: the scheme, the authority, and the rest that goes into a request line (RFC 3986 section 3).
//!
//! Owns the grammar for those who make requests, and how a URL is cut into its parts for all. Never looks a name up,
//! and never encodes. What a server accepts as `Host` is in `head`.

use std::net::{IpAddr, Ipv6Addr};

use memchr::memchr3;

/// The port of `http` (RFC 9110 section 4.2.1).
pub const HTTP_PORT: u16 = 80;
/// The port of `https` (RFC 9110 section 4.2.2).
pub const HTTPS_PORT: u16 = 443;

/// The schemes of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// `http://`.
    #[default]
    Http,
    /// `https://`.
    Https,
}

impl Scheme {
    /// Its name, as in `X-Forwarded-Proto`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Removes the scheme, which is case-insensitive (RFC 3986 section 3.1).
pub fn scheme(url: &[u8]) -> Option<(Scheme, &[u8])> {
    for (text, scheme) in [(b"http://".as_slice(), Scheme::Http), (b"https://", Scheme::Https)] {
        if let Some((front, rest)) = url.split_at_checked(text.len())
            && front.eq_ignore_ascii_case(text)
        {
            return Some((scheme, rest));
        }
    }
    None
}

/// Splits the text after the scheme into the authority and the rest: path, query and fragment.
pub fn split_authority(rest: &[u8]) -> (&[u8], &[u8]) {
    rest.split_at(memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len()))
}

/// Whether two authorities of a scheme are equal: case does not matter, and the port of the scheme may be written,
/// omitted or empty (RFC 9110 section 4.2.3).
///
/// ```
/// use wire::http::url::{Scheme, is_same_authority};
///
/// assert!(is_same_authority(Scheme::Https, b"Example.org:443", b"example.org"));
/// assert!(!is_same_authority(Scheme::Http, b"example.org:443", b"example.org"));
/// ```
pub fn is_same_authority(scheme: Scheme, one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
        || without_default_port(scheme, one)
            .eq_ignore_ascii_case(without_default_port(scheme, other))
}

/// An authority without the port that its scheme has anyway.
pub fn without_default_port(scheme: Scheme, authority: &[u8]) -> &[u8] {
    let port: &[u8] = match scheme {
        Scheme::Http => b":80",
        Scheme::Https => b":443",
    };
    // The colons of an IPv6 address are within brackets.
    authority.strip_suffix(port).or_else(|| authority.strip_suffix(b":")).unwrap_or(authority)
}

/// The origin of a page (RFC 6454), as a browser sends it: a scheme and an authority, nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'t> {
    /// The scheme.
    pub scheme: Scheme,
    /// Host, and perhaps port.
    pub authority: &'t [u8],
}

impl<'t> Origin<'t> {
    /// Reads `http://HOST:PORT` or `https://HOST:PORT`; `None` for anything else, such as `null`.
    pub fn parse(text: &'t [u8]) -> Option<Self> {
        let (scheme, rest) = scheme(text)?;
        let (authority, behind) = split_authority(rest);
        let is_authority = Authority::parse(str::from_utf8(authority).ok()?).is_ok();
        (is_authority && behind.is_empty()).then_some(Self { scheme, authority })
    }

    /// Whether a page of this origin belongs to the site that a client asks for with this `Host`.
    pub fn is_of(&self, host: &[u8]) -> bool {
        is_same_authority(self.scheme, self.authority, host)
    }
}

impl PartialEq for Origin<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.is_of(other.authority)
    }
}

/// The host of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlHost<'t> {
    /// A name, as written.
    Name(&'t str),
    /// An address.
    Address(IpAddr),
}

/// Host and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority<'t> {
    /// The host.
    pub host: UrlHost<'t>,
    /// The host as written, including the brackets of an IPv6 address.
    pub host_text: &'t str,
    /// The port; [`HTTP_PORT`] if none is written.
    pub port: u16,
}

/// Why a text is not an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// It is empty, or begins with the port.
    #[error("there is no host")]
    NoHost,
    /// There is a user name, and perhaps a password, before the host.
    #[error("there is a user before the host")]
    UserInformation,
    /// A host that is neither a name nor an address.
    #[error("the host is neither a name nor an address")]
    Host,
    /// A bracket is not closed, or does not contain an IPv6 address.
    #[error("the brackets hold no IPv6 address")]
    Ipv6,
    /// An IPv6 address without brackets.
    #[error("an IPv6 address needs brackets")]
    BareIpv6,
    /// Not a number from 1 to 65535.
    #[error("the port is not a number from 1 to 65535")]
    Port,
}

impl<'t> Authority<'t> {
    /// Reads an authority: `HOST`, `HOST:` or `HOST:PORT`.
    ///
    /// ```
    /// use wire::http::url::{Authority, UrlHost};
    ///
    /// let authority = Authority::parse("[::1]:8080").unwrap();
    /// assert_eq!((authority.host_text, authority.port), ("[::1]", 8080));
    /// assert_eq!(Authority::parse("example.org").unwrap().host, UrlHost::Name("example.org"));
    /// ```
    ///
    /// # Errors
    /// If the text is not an authority.
    pub fn parse(text: &'t str) -> Result<Self, AuthorityError> {
        if text.contains('@') {
            return Err(AuthorityError::UserInformation);
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (inside, after) = rest.split_once(']').ok_or(AuthorityError::Ipv6)?;
            let address: Ipv6Addr = inside.parse().map_err(|_| AuthorityError::Ipv6)?;
            let port = match after.strip_prefix(':') {
                Some(digits) => port(digits)?,
                None if after.is_empty() => HTTP_PORT,
                None => return Err(AuthorityError::Ipv6),
            };
            let host_text = text.strip_suffix(after).unwrap_or(text);
            return Ok(Self { host: UrlHost::Address(address.into()), host_text, port });
        }
        let (host_text, digits) = text.split_once(':').unwrap_or((text, ""));
        if text.parse::<Ipv6Addr>().is_ok() {
            return Err(AuthorityError::BareIpv6);
        }
        let port = port(digits)?;
        if host_text.is_empty() {
            return Err(AuthorityError::NoHost);
        }
        if let Ok(address) = host_text.parse() {
            return Ok(Self { host: UrlHost::Address(address), host_text, port });
        }
        if !is_name(host_text) {
            return Err(AuthorityError::Host);
        }
        Ok(Self { host: UrlHost::Name(host_text), host_text, port })
    }
}

/// Labels of letters, digits, hyphens and underscores, separated by dots, perhaps with a final dot.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let name = text.strip_suffix('.').unwrap_or(text);
    !ends_in_number(name)
        && name.split('.').all(|label| !label.is_empty() && label.bytes().all(is_part))
}

/// Whether the last label is a number. Browsers and the C library read `127.1`, `0x7f.1` and `2130706433` as an
/// address, rules for names as a name (WHATWG URL, section 3.5).
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let digits = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    match digits {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// A port; an empty one is the default (RFC 3986 section 3.2.3).
fn port(digits: &str) -> Result<u16, AuthorityError> {
    if digits.is_empty() {
        return Ok(HTTP_PORT);
    }
    let number = digits.parse::<u16>().ok().filter(|number| *number > 0);
    number.filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit())).ok_or(AuthorityError::Port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_cut_into_its_parts() {
        for (url, expected) in [
            ("http://a/b?c#d", Some((Scheme::Http, "a", "/b?c#d"))),
            ("HTTPS://a:1?b", Some((Scheme::Https, "a:1", "?b"))),
            ("http://#x", Some((Scheme::Http, "", "#x"))),
            ("http:/a", None),
            ("ftp://a", None),
            ("http", None),
        ] {
            let parts = scheme(url.as_bytes()).map(|(scheme, rest)| {
                let (authority, rest) = split_authority(rest);
                (scheme, str::from_utf8(authority).unwrap(), str::from_utf8(rest).unwrap())
            });
            assert_eq!(parts, expected, "{url}");
        }
    }

    #[test]
    fn the_port_of_a_scheme_is_part_of_its_origin_written_or_not() {
        for (one, other, expected) in [
            ("http://a", "http://A:80", true),
            ("https://a:443", "https://a", true),
            ("https://a:", "https://a", true),
            ("http://[::1]:80", "http://[::1]", true),
            ("http://[::80]", "http://[::]", false),
            ("http://a:443", "http://a", false),
            ("https://a", "http://a", false),
            ("https://a.", "https://a", false),
            ("https://a:8443", "https://a", false),
        ] {
            let origin = |text: &'static str| Origin::parse(text.as_bytes()).unwrap();
            assert_eq!(origin(one) == origin(other), expected, "{one} {other}");
        }
        for text in ["null", "", "a", "ftp://a", "http://", "http://a/", "http://u@a", "http://a\\"]
        {
            assert_eq!(Origin::parse(text.as_bytes()).map(|origin| origin.scheme), None, "{text}");
        }
    }

    #[test]
    fn hosts_and_ports() {
        for (text, host, host_text, port) in [
            ("a", UrlHost::Name("a"), "a", 80),
            ("A.b-c_d.", UrlHost::Name("A.b-c_d."), "A.b-c_d.", 80),
            ("a:", UrlHost::Name("a"), "a", 80),
            ("a:65535", UrlHost::Name("a"), "a", 65535),
            ("10.1.2.3:9", UrlHost::Address([10, 1, 2, 3].into()), "10.1.2.3", 9),
            ("[::1]", UrlHost::Address(Ipv6Addr::LOCALHOST.into()), "[::1]", 80),
            ("[::1]:8", UrlHost::Address(Ipv6Addr::LOCALHOST.into()), "[::1]", 8),
        ] {
            assert_eq!(Authority::parse(text), Ok(Authority { host, host_text, port }), "{text}");
        }
    }

    #[test]
    fn invalid_authority_is_refused_with_reason() {
        for (text, error) in [
            ("", AuthorityError::NoHost),
            (":80", AuthorityError::NoHost),
            ("me:secret@a", AuthorityError::UserInformation),
            ("a b", AuthorityError::Host),
            ("a..b", AuthorityError::Host),
            (".", AuthorityError::Host),
            ("127.1", AuthorityError::Host),
            ("2130706433", AuthorityError::Host),
            ("0x7f.0.0.1.", AuthorityError::Host),
            ("a.0x", AuthorityError::Host),
            ("10.1.2.3.", AuthorityError::Host),
            ("a\u{e9}", AuthorityError::Host),
            ("[::1", AuthorityError::Ipv6),
            ("[::1]x", AuthorityError::Ipv6),
            ("[a]", AuthorityError::Ipv6),
            ("::1", AuthorityError::BareIpv6),
            ("a:0", AuthorityError::Port),
            ("a:65536", AuthorityError::Port),
            ("a:+80", AuthorityError::Port),
            ("a::80", AuthorityError::BareIpv6),
            ("a:b:80", AuthorityError::Port),
        ] {
            assert_eq!(Authority::parse(text), Err(error), "{text}");
        }
    }
}

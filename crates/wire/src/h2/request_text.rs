//! A request as HTTP/2 sends it, from its head as HTTP/1.1 does (RFC 9113, 8.3.1).
//!
//! Owns which lines become which fields, for heads that this side has written itself: every name is a token and no
//! value has a line end. Never encodes a field.

use memchr::{memchr, memchr_iter};

use crate::http::head::authority;
use crate::http::kept::is_of_connection;
use crate::http::url::Scheme;

/// A head whose Host is no authority, or that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the field Host is not one host with its port")]
pub struct InvalidAuthority;

/// The head of a request, up to its empty line.
///
/// ```
/// use wire::h2::RequestText;
/// use wire::http::url::Scheme;
///
/// let head = b"GET /a HTTP/1.1\r\nHost: a.example\r\nX-A: b\r\nConnection: close\r\n\r\n";
/// let mut fields = Vec::new();
/// RequestText::read(head).visit(Scheme::Https, |name, value| {
///     fields.push(format!("{}={}", name.escape_ascii(), value.escape_ascii()));
/// });
/// let expected = [":method=GET", ":scheme=https", ":authority=a.example", ":path=/a", "x-a=b"];
/// assert_eq!(fields, expected);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RequestText<'t> {
    method: &'t [u8],
    path: &'t [u8],
    lines: &'t [u8],
}

impl<'t> RequestText<'t> {
    /// Finds the parts of a head.
    pub fn read(head: &'t [u8]) -> Self {
        let line_size = memchr(b'\n', head).map_or(head.len(), |end| end + 1);
        let (line, lines) = head.split_at(line_size);
        let mut words = line.trim_ascii_end().split(|byte| *byte == b' ');
        let mut word = || words.next().unwrap_or_default();
        Self { method: word(), path: word(), lines }
    }

    /// Checks the field that becomes `:authority`: a server of HTTP/1.1 would refuse what is not one host, and one of
    /// HTTP/2 might take it for another.
    ///
    /// # Errors
    /// If there are several, or it is not a host with or without a port. A head without Host is valid.
    pub fn check_authority(&self) -> Result<(), InvalidAuthority> {
        let mut hosts = self.hosts();
        match (hosts.next(), hosts.next()) {
            (None, _) => Ok(()),
            (Some(host), None) if authority::is_valid(host) => Ok(()),
            (Some(_), _) => Err(InvalidAuthority),
        }
    }

    /// Passes on pseudo-fields, then all fields but those of one connection (8.2.2), with their names in lower case.
    pub fn visit(&self, scheme: Scheme, mut visit: impl FnMut(&[u8], &[u8])) {
        visit(b":method", self.method);
        visit(b":scheme", scheme.as_str().as_bytes());
        if let Some(host) = self.hosts().next() {
            visit(b":authority", host);
        }
        visit(b":path", self.path);
        let mut lower = Vec::new();
        for (name, value) in self.fields() {
            lower.clear();
            lower.extend(name.iter().map(u8::to_ascii_lowercase));
            let is_left_out =
                lower == b"host" || str::from_utf8(&lower).is_ok_and(is_of_connection);
            if !is_left_out {
                visit(&lower, value);
            }
        }
    }

    fn hosts(&self) -> impl Iterator<Item = &'t [u8]> {
        let is_host = |name: &[u8]| name.eq_ignore_ascii_case(b"host");
        self.fields().filter(move |(name, _)| is_host(name)).map(|(_, value)| value)
    }

    /// Names as they are spelt, and values.
    fn fields(&self) -> impl Iterator<Item = (&'t [u8], &'t [u8])> + use<'t> {
        let lines = self.lines;
        let mut begin = 0;
        memchr_iter(b'\n', lines).filter_map(move |end| {
            let line = lines.get(begin..end).unwrap_or_default();
            begin = end + 1;
            let (name, value) = line.split_at_checked(memchr(b':', line)?)?;
            Some((name, value.get(1..)?.trim_ascii()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(head: &str) -> String {
        let mut fields = String::new();
        RequestText::read(head.as_bytes()).visit(Scheme::Http, |name, value| {
            fields += &format!("{}={};", name.escape_ascii(), value.escape_ascii());
        });
        fields
    }

    #[test]
    fn lines_become_fields_without_those_of_the_connection() {
        assert_eq!(
            fields(
                "POST /a?b HTTP/1.1\r\nX-A:  b: c\t\r\nHost: a.example:1\r\nCONNECTION: X-Q\r\n\
                 Transfer-Encoding: chunked\r\nUpgrade: x\r\nKeep-Alive: 1\r\nProxy-Connection: \
                 y\r\nContent-Length: 6\r\nempty:\r\n\r\n"
            ),
            ":method=POST;:scheme=http;:authority=a.example:1;:path=/a?b;x-a=b: c;\
             content-length=6;empty=;"
        );
        assert_eq!(fields("OPTIONS * HTTP/1.1\r\n\r\n"), ":method=OPTIONS;:scheme=http;:path=*;");
    }

    #[test]
    fn a_host_is_one_authority() {
        let check = |hosts: &str| {
            RequestText::read(format!("GET / HTTP/1.1\r\n{hosts}\r\n").as_bytes()).check_authority()
        };
        for hosts in ["", "Host: a\r\n", "host: [::1]:80\r\nX-Host: b c\r\n"] {
            assert_eq!(check(hosts), Ok(()), "{hosts:?}");
        }
        for hosts in ["Host:\r\n", "Host: a b\r\n", "Host: u@a\r\n", "Host: a\r\nHOST: a\r\n"] {
            assert_eq!(check(hosts), Err(InvalidAuthority), "{hosts:?}");
        }
    }
}

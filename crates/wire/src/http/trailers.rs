//! Trailers: the fields behind the content of a message (RFC 9110, 6.5).
//!
//! Owns which fields are none, and the reading of a trailer section of HTTP/1.1. Never decides what becomes of them.

use memchr::memchr;

use super::fields::FieldList;
use super::head::meaning::imitates_framing;
use super::refusal::Reason;

/// Fields that are no trailers, in lower case (RFC 9110, 6.5.1): whoever reads them there is too late, or would be told
/// something else than those who have read the head. They frame or route the message, say how it is answered, who asks,
/// or what its content is.
const NO_TRAILERS: [&str; 43] = [
    "accept-ranges",
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "forwarded",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "x-forwarded",
    "x-http-method-override",
    "x-real-ip",
    "x-request-id",
];

/// Whether a field may stand behind content. Programs that get fields as variables take `_` for `-`, so both are the
/// same here.
pub fn is_trailer(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    NO_TRAILERS.binary_search(&name.as_str()).is_err() && !name.starts_with("x-forwarded-")
}

/// Reads a trailer section whose lines a decoder has checked. Fields that are no trailers are left out: they mean
/// nothing there.
///
/// # Errors
/// If it has more fields than that, or one that pretends to frame a message, as in a head.
pub fn read_trailers(section: &[u8], most: usize) -> Result<FieldList, Reason> {
    let mut trailers = FieldList::new();
    let mut count = 0;
    for line in section.split(|byte| *byte == b'\n') {
        let Some((name, value)) = memchr(b':', line).and_then(|at| line.split_at_checked(at))
        else {
            continue;
        };
        count += 1;
        if count > most {
            return Err(Reason::TooManyFields);
        }
        let name = str::from_utf8(name).map_err(|_| Reason::InvalidFieldName)?;
        if imitates_framing(name.as_bytes()) {
            return Err(Reason::DisguisedFraming);
        }
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if is_trailer(name) {
            trailers.add(name, value).map_err(|_| Reason::TrailersTooLarge)?;
        }
    }
    Ok(trailers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_no_trailers_are_left_out() {
        assert!(NO_TRAILERS.is_sorted());
        let section =
            b"X-Sum: 7 \r\nhost: b\r\nContent-Length: 9\r\nx-forwarded-for: c\r\nX-Sum:\r\n\r\n";
        let trailers = read_trailers(section, 5).unwrap();
        assert_eq!(trailers, FieldList::of(&[("x-sum", "7"), ("x-sum", "")]));
        assert_eq!(read_trailers(section, 4), Err(Reason::TooManyFields));
        let disguised = read_trailers(b"transfer_encoding: chunked\r\n\r\n", 5);
        assert_eq!(disguised, Err(Reason::DisguisedFraming));
        assert_eq!(read_trailers(b"", 0), Ok(FieldList::new()));
    }
}

//! The request line (RFC 9112, 3): method, target, version.
//!
//! Owns the forms of the target and of the version. Reads from left to right and decides at the first
//! byte that settles a question, so that a cut never changes an answer.

use super::{HttpVersion, RequestTarget, Stop, authority, method_token, scan};
use crate::http::method::Method;
use crate::http::refusal::Reason;
use crate::http::url::{self, Scheme};

/// The content of the first line. Plain data.
pub(crate) struct RequestLine<'b> {
    pub(crate) method: Method,
    pub(crate) target: RequestTarget<'b>,
    /// Bytes of the target before its question mark.
    pub(crate) path_size: usize,
    pub(crate) version: HttpVersion,
    /// The authority of an absolute target.
    pub(crate) authority: Option<&'b [u8]>,
    /// The input after the line.
    pub(crate) rest: &'b [u8],
}

/// Reads the line at the start of `input`.
#[inline(always)]
pub(super) fn read(
    input: &[u8],
    carried: Scheme,
    target_size: usize,
) -> Result<RequestLine<'_>, Stop> {
    let (method, rest) = method_token::read(input)?;
    let (size, path_size) = scan::target(rest);
    if size > target_size {
        return Err(Reason::TargetTooLong.into());
    }
    let (bytes, after) = rest.split_at_checked(size).unwrap_or((rest, &[]));
    let usual = after.strip_prefix(b" HTTP/1.1\r\n");
    if usual.is_none() && after.first() != Some(&b' ') {
        return Err(target_stop(after, size));
    }
    let (target, authority, path_size) = match bytes.first() {
        Some(b'/') => (RequestTarget::Origin(bytes), None, path_size),
        _ => other_form(method, carried, bytes)?,
    };
    let (version, rest) = match usual {
        Some(rest) => (HttpVersion::Http11, rest),
        None => read_version(after.get(1..).unwrap_or_default())?,
    };
    Ok(RequestLine { method, target, path_size, version, authority, rest })
}

/// Why a target of this size, followed by `after`, is invalid.
#[cold]
fn target_stop(after: &[u8], size: usize) -> Stop {
    let reason = match after.first() {
        None => return Stop::Partial,
        Some(b'\n') => Reason::BareLineFeed,
        Some(b'\r') if size == 0 => Reason::MissingTarget,
        Some(b'\r') => Reason::MissingVersion,
        Some(b'#') => Reason::FragmentInTarget,
        Some(_) => Reason::InvalidTarget,
    };
    Stop::Refused(reason)
}

/// A target, the authority of an absolute one, and the size of its path.
type Form<'b> = (RequestTarget<'b>, Option<&'b [u8]>, usize);

/// The asterisk form and the absolute form (RFC 9112, 3.2.2 and 3.2.4). CONNECT is refused before this.
#[inline(never)]
fn other_form(method: Method, carried: Scheme, bytes: &[u8]) -> Result<Form<'_>, Reason> {
    if bytes.is_empty() {
        return Err(Reason::MissingTarget);
    }
    if bytes == b"*" && method == Method::Options {
        return Ok((RequestTarget::Asterisk, None, bytes.len()));
    }
    let rest = match url::scheme(bytes) {
        Some((scheme, rest)) if scheme == carried => rest,
        // RFC 9110, 7.4: a request for https must not be answered over an unencrypted connection.
        Some((Scheme::Https, _)) => return Err(Reason::SecureTarget),
        Some((Scheme::Http, _)) => return Err(Reason::PlainTarget),
        None => return Err(Reason::InvalidTargetForm),
    };
    let (authority, path) = url::split_authority(rest);
    if !authority::is_valid(authority) {
        return Err(Reason::InvalidTargetAuthority);
    }
    // A query without a path belongs to the path `/`, which is not in the input; `target::split` handles this.
    let path = if path.is_empty() { b"/" } else { path };
    Ok((RequestTarget::Origin(path), Some(authority), scan::path(path)))
}

/// Byte by byte, because a peer may stop after any of them and wait for the answer.
#[inline(never)]
fn read_version(rest: &[u8]) -> Result<(HttpVersion, &[u8]), Stop> {
    const PATTERN: &[u8] = b"HTTP/d.d\r\n";
    for (index, &expected) in PATTERN.iter().enumerate() {
        let byte = *rest.get(index).ok_or(Stop::Partial)?;
        let fits = if expected == b'd' { byte.is_ascii_digit() } else { byte == expected };
        if !fits {
            return Err(Stop::Refused(match (byte, expected) {
                (b'\n', b'\n') => Reason::InvalidVersion,
                (b'\n', _) => Reason::BareLineFeed,
                (_, b'\n') => Reason::BareCarriageReturn,
                (b'\r', _) if index == 0 => Reason::MissingVersion,
                _ => Reason::InvalidVersion,
            }));
        }
    }
    let version = match (rest.get(5), rest.get(7)) {
        (Some(b'1'), Some(b'0')) => HttpVersion::Http10,
        (Some(b'1'), _) => HttpVersion::Http11,
        (Some(b'0'), Some(b'9')) => return Err(Reason::MissingVersion.into()),
        _ => return Err(Reason::VersionNotSupported.into()),
    };
    Ok((version, rest.get(PATTERN.len()..).unwrap_or_default()))
}

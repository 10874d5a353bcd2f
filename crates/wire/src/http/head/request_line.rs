//! The request line (RFC 9112, 3): method, target, version.
//!
//! Owns the forms of the target and of the version. Reads from left to right and decides at the first
//! byte that settles a question, so that a cut never changes an answer.

use super::{Stop, Target, Version, authority, method_token, scan};
use crate::http::method::Method;
use crate::http::refusal::Reason;
use crate::http::url::{self, Scheme};

/// What the first line says.
pub(super) struct RequestLine<'b> {
    pub(super) method: Method,
    pub(super) target: Target<'b>,
    /// Bytes of the target before its question mark.
    pub(super) path_size: usize,
    pub(super) version: Version,
    /// The authority of an absolute target.
    pub(super) authority: Option<&'b [u8]>,
    /// Index behind the line.
    pub(super) end: usize,
}

/// Reads the line that begins at `at`.
#[inline(always)]
pub(super) fn read(input: &[u8], at: usize, target_size: usize) -> Result<RequestLine<'_>, Stop> {
    let (method, begin) = method_token::read(input, at)?;
    let blank = scan::target(input, begin);
    if blank - begin > target_size {
        return Err(Reason::TargetTooLong.into());
    }
    if input.get(blank) != Some(&b' ') {
        return Err(target_stop(input, begin, blank));
    }
    let bytes = input.get(begin..blank).unwrap_or_default();
    let (target, authority) = match bytes.first() {
        Some(b'/') => (Target::Origin(bytes), None),
        _ => other_form(method, bytes)?,
    };
    let path_size = match target {
        Target::Origin(path) if authority.is_some() => scan::path(path),
        _ => scan::path_within(input, begin, blank) - begin,
    };
    let (version, end) = read_version(input, blank + 1)?;
    Ok(RequestLine { method, target, path_size, version, authority, end })
}

#[cold]
fn target_stop(input: &[u8], begin: usize, stop: usize) -> Stop {
    let reason = match input.get(stop) {
        None => return Stop::Partial,
        Some(b'\n') => Reason::BareLineFeed,
        Some(b'\r') if stop == begin => Reason::MissingTarget,
        Some(b'\r') => Reason::MissingVersion,
        Some(b'#') => Reason::FragmentInTarget,
        Some(_) => Reason::InvalidTarget,
    };
    Stop::Refused(reason)
}

/// The asterisk form and the absolute form (RFC 9112, 3.2.2 and 3.2.4); CONNECT never comes this far.
#[inline(never)]
fn other_form(method: Method, bytes: &[u8]) -> Result<(Target<'_>, Option<&[u8]>), Reason> {
    if bytes.is_empty() {
        return Err(Reason::MissingTarget);
    }
    if bytes == b"*" && method == Method::Options {
        return Ok((Target::Asterisk, None));
    }
    let rest = match url::scheme(bytes) {
        Some((Scheme::Http, rest)) => rest,
        // RFC 9110, 7.4: what is asked for over https is not answered in the clear.
        Some((Scheme::Https, _)) => return Err(Reason::SecureTarget),
        None => return Err(Reason::InvalidTargetForm),
    };
    let (authority, path) = url::split_authority(rest);
    if !authority::is_valid(authority) {
        return Err(Reason::InvalidTargetAuthority);
    }
    match path.first() {
        None => Ok((Target::Origin(b"/"), Some(authority))),
        // A query without a path is of the path `/`, which is not in the input: `target::split` knows.
        Some(_) => Ok((Target::Origin(path), Some(authority))),
    }
}

#[inline(always)]
fn read_version(input: &[u8], at: usize) -> Result<(Version, usize), Stop> {
    let rest = input.get(at..).unwrap_or_default();
    if rest.starts_with(b"HTTP/1.1\r\n") {
        return Ok((Version::Http11, at + 10));
    }
    read_any_version(rest).map(|version| (version, at + 10))
}

/// Byte by byte, as a peer may stop after any of them and wait for the answer.
#[inline(never)]
fn read_any_version(rest: &[u8]) -> Result<Version, Stop> {
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
    match (rest.get(5), rest.get(7)) {
        (Some(b'1'), Some(b'0')) => Ok(Version::Http10),
        (Some(b'1'), _) => Ok(Version::Http11),
        (Some(b'0'), Some(b'9')) => Err(Reason::MissingVersion.into()),
        _ => Err(Reason::VersionNotSupported.into()),
    }
}

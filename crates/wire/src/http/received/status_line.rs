//! The first line of a response (RFC 9112, 4), and why a line of a head is not taken.
//!
//! Owns the three parts of the line. Takes it whole or not at all.

use super::problem::ResponseProblem;
use crate::http::head::{HttpVersion, Stop, line_end, scan};
use crate::http::refusal::Reason;

/// Bytes of a status line up to the blank after the status.
const STATUS_LINE_BEGIN: usize = 13;

/// The status line of most responses.
const USUAL_STATUS_LINE: &[u8] = b"HTTP/1.1 200 OK\r\n";

/// Why a line is not taken.
pub(super) enum Halt {
    /// It is incomplete.
    Partial,
    /// It is invalid.
    Problem(ResponseProblem),
}

impl From<Stop> for Halt {
    #[inline]
    fn from(stop: Stop) -> Halt {
        match stop {
            Stop::Partial => Halt::Partial,
            Stop::Refused(reason) => Halt::Problem(ResponseProblem::Rule(reason)),
        }
    }
}

impl From<ResponseProblem> for Halt {
    fn from(problem: ResponseProblem) -> Halt {
        Halt::Problem(problem)
    }
}

impl From<Reason> for ResponseProblem {
    fn from(reason: Reason) -> ResponseProblem {
        ResponseProblem::Rule(reason)
    }
}

/// Reads the status line and returns the index after it.
#[inline(always)]
pub(super) fn status_line(input: &[u8]) -> Result<(HttpVersion, u16, usize), Halt> {
    if input.starts_with(USUAL_STATUS_LINE) {
        return Ok((HttpVersion::Http11, 200, USUAL_STATUS_LINE.len()));
    }
    let usual = input.first_chunk::<STATUS_LINE_BEGIN>().filter(|begin| {
        begin.starts_with(b"HTTP/1.1 ") && matches!(begin[9], b'1'..=b'9') && begin[12] == b' '
    });
    let (version, begin) = match usual {
        Some(begin) if begin[10].is_ascii_digit() && begin[11].is_ascii_digit() => {
            (HttpVersion::Http11, begin)
        }
        _ => unusual_status_line(input)?,
    };
    let digit = |index: usize| u16::from(begin[index] - b'0');
    let status = digit(9) * 100 + digit(10) * 10 + digit(11);
    // RFC 9112, 4: the blank is required even if the reason is empty, but some servers omit it.
    let reason = if begin[12] == b' ' { STATUS_LINE_BEGIN } else { STATUS_LINE_BEGIN - 1 };
    Ok((version, status, line_end(input, scan::value(input, reason))?))
}

/// Checks every byte up to the one after the status, from left to right.
#[cold]
fn unusual_status_line(input: &[u8]) -> Result<(HttpVersion, &[u8; STATUS_LINE_BEGIN]), Halt> {
    const NAME: &[u8; 5] = b"HTTP/";
    for (index, &byte) in input.iter().take(STATUS_LINE_BEGIN).enumerate() {
        let problem = match (index, byte) {
            (0..5, _) if byte != NAME[index] => ResponseProblem::NotHttp,
            (5, b'0' | b'2'..=b'9') => ResponseProblem::Rule(Reason::VersionNotSupported),
            (5, b'1') | (6, b'.') | (7, b'0'..=b'9') | (8, b' ') | (0..5, _) => continue,
            (..9, _) => ResponseProblem::Rule(Reason::InvalidVersion),
            (9, b'1'..=b'9') | (10 | 11, b'0'..=b'9') | (12, b' ' | b'\r') => continue,
            _ => ResponseProblem::InvalidStatus,
        };
        return Err(problem.into());
    }
    let begin = input.first_chunk::<STATUS_LINE_BEGIN>().ok_or(Halt::Partial)?;
    // RFC 9110, 2.5: a later minor version is treated as 1.1.
    let version = if begin[7] == b'0' { HttpVersion::Http10 } else { HttpVersion::Http11 };
    Ok((version, begin))
}

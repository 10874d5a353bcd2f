//! The head of a request: request line and fields (RFC 9112, 2 to 6).
//!
//! Owns the rules by which bytes become a request or a refusal. One pass from left to right, no copy, no
//! allocation; the answer to a question depends only on the bytes up to the one that settles it, so a
//! head that comes in pieces gets the same answer as a whole one. Never looks at a body, never answers.

pub(crate) mod authority;
mod fields;
pub(crate) mod meaning;
pub(crate) mod method_token;
mod request_line;
pub(crate) mod scan;

use super::method::Method;
use super::refusal::{Reason, Refusal};
use super::url::Scheme;
use crate::limits;

pub use fields::{FieldSlots, Fields};
pub(super) use fields::{Initials, Slot};
use meaning::{Conclusion, Meaning};
use request_line::RequestLine;

/// Limits of a head, in bytes and lines. The defaults are in [`limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes of the whole head; beyond this 431. Values above [`limits::HEAD_SIZE_MAX`] count as that.
    pub head_size: usize,
    /// Field lines; beyond this 431. Values above [`limits::FIELD_COUNT`] count as that.
    pub field_count: usize,
    /// Bytes of one field line; beyond this 431.
    pub field_size: usize,
    /// Bytes of one field name; beyond this 431.
    pub field_name_size: usize,
    /// Bytes of the request target; beyond this 414.
    pub target_size: usize,
}

impl Default for HeadLimits {
    fn default() -> HeadLimits {
        HeadLimits {
            head_size: limits::HEAD_SIZE,
            field_count: limits::FIELD_COUNT,
            field_size: limits::FIELD_SIZE,
            field_name_size: limits::FIELD_NAME_SIZE,
            target_size: limits::REQUEST_LINE_SIZE,
        }
    }
}

/// The result of parsing the received bytes.
#[derive(Debug)]
pub enum Head<'b, 's> {
    /// Valid so far, but incomplete.
    Partial,
    /// A request.
    Complete {
        /// The request.
        request: RequestHead<'b, 's>,
        /// Bytes of the head, including empty lines before it. The body begins after them.
        length: usize,
    },
}

/// A request with a valid head.
#[derive(Clone, Debug)]
pub struct RequestHead<'b, 's> {
    /// The method.
    pub method: Method,
    /// The request target.
    pub target: RequestTarget<'b>,
    /// Bytes of the target before its query: see [`RequestHead::split_target`].
    pub(crate) path_size: usize,
    /// Whether the connection it came over is encrypted.
    pub scheme: Scheme,
    /// The client's version.
    pub version: HttpVersion,
    /// All field lines in order.
    pub fields: Fields<'b, 's>,
    /// The authority of an absolute target, otherwise Host. `None` only in HTTP/1.0.
    pub host: Option<&'b [u8]>,
    /// How the body is delimited.
    pub framing: Framing,
    /// Whether another request may follow on the connection (RFC 9112, 9.3).
    pub persistent: bool,
    /// Whether the peer waits for `100 Continue` before it sends the body (RFC 9110, 10.1.1).
    pub expects_continue: bool,
    /// The protocols in Upgrade, if the request may be upgraded (RFC 9110, 7.8).
    pub upgrade: Option<&'b [u8]>,
}

impl<'b> RequestHead<'b, '_> {
    /// Splits the target into path and query (without its question mark). The path is empty for an absolute target
    /// without a path; [`resolve`](super::target::resolve) treats that as `/`.
    #[inline]
    pub fn split_target(&self) -> (&'b [u8], Option<&'b [u8]>) {
        let target = match self.target {
            RequestTarget::Origin(target) => target,
            RequestTarget::Asterisk => b"*",
        };
        let (path, rest) = target.split_at_checked(self.path_size).unwrap_or((target, b""));
        (path, rest.get(1..))
    }

    /// The request line as it was sent, without its end; for a request that came as values, one with the same meaning.
    pub fn line(&self) -> &'b [u8] {
        self.fields.preface()
    }
}

/// The request target: visible ASCII without a number sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTarget<'b> {
    /// An absolute path, perhaps with a query. An absolute target is reduced to this; one without a path to its
    /// query alone, whose path [`target::split`](super::target::split) and `resolve` treat as `/`.
    Origin(&'b [u8]),
    /// The server as a whole, for OPTIONS.
    Asterisk,
}

/// The version of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1, or a later minor version, which is answered as 1.1 (RFC 9110, 2.5).
    Http11,
    /// A version in which requests come as values, each on a stream of its own.
    Http2,
}

/// How a body is delimited (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    None,
    /// This many bytes.
    Length(u64),
    /// Chunks, until one without data; on a stream, bytes until its end.
    Chunked,
}

/// Why parsing stops.
pub(super) enum Stop {
    /// The input ends here.
    Partial,
    /// A rule was broken.
    Refused(Reason),
}

impl From<Reason> for Stop {
    #[inline]
    fn from(reason: Reason) -> Stop {
        Stop::Refused(reason)
    }
}

/// Whether new bytes can complete a head that was partial before them. Without a line feed they cannot.
/// This avoids parsing a head again for each byte of a slow peer. Only [`parse`] checks
/// limits, so call it too once the maximum size of a head has been received.
#[inline]
pub fn may_complete(new_bytes: &[u8]) -> bool {
    memchr::memchr(b'\n', new_bytes).is_some()
}

/// Parses the head at the start of `input`, which came over a connection of this scheme. More bytes may follow it.
#[inline(always)]
pub fn parse<'b, 's>(
    input: &'b [u8],
    scheme: Scheme,
    limits: &HeadLimits,
    slots: &'s mut FieldSlots,
) -> Result<Head<'b, 's>, Refusal> {
    let bound = limits.head_size.min(limits::HEAD_SIZE_MAX);
    // Bytes beyond the limit are never read, so the result does not depend on how many there are.
    let window = input.get(..bound).unwrap_or(input);
    let (input, line, fields, conclusion) = match read(window, scheme, limits, slots) {
        Ok(read) => read,
        Err(Stop::Refused(reason)) => return Err(reason.into()),
        Err(Stop::Partial) if window.len() == bound => return Err(Reason::HeadTooLarge.into()),
        Err(Stop::Partial) => return Ok(Head::Partial),
    };
    // Constructed in place, because a value that is assembled elsewhere would be copied.
    Ok(Head::Complete {
        request: RequestHead {
            method: line.method,
            target: line.target,
            path_size: line.path_size,
            scheme,
            version: line.version,
            fields: slots.fields(input, fields.count, fields.initials),
            host: conclusion.host,
            framing: conclusion.framing,
            persistent: conclusion.persistent,
            expects_continue: conclusion.expects_continue,
            upgrade: conclusion.upgrade,
        },
        length: window.len() - input.len() + fields.end,
    })
}

/// The content of a head, and the input without the empty lines before it.
type Read<'b> = (&'b [u8], RequestLine<'b>, FieldLines<'b>, Conclusion<'b>);

#[inline(always)]
fn read<'b>(
    input: &'b [u8],
    scheme: Scheme,
    limits: &HeadLimits,
    slots: &mut FieldSlots,
) -> Result<Read<'b>, Stop> {
    let input = skip_empty_lines(input)?;
    let line = request_line::read(input, scheme, limits.target_size)?;
    let mut meaning = Meaning::new(line.version);
    let fields = read_fields(input, line.rest, limits, slots, &mut meaning)?;
    let conclusion = meaning.conclude(scheme, &line, &fields)?;
    Ok((input, line, fields, conclusion))
}

/// The facts that were found in the field lines.
struct FieldLines<'b> {
    host: Option<&'b [u8]>,
    count: usize,
    initials: Initials,
    /// Index after the empty line.
    end: usize,
}

/// RFC 9112, 2.2: some clients send an extra empty line after a body.
#[inline(always)]
fn skip_empty_lines(input: &[u8]) -> Result<&[u8], Stop> {
    match input.first() {
        Some(byte) if *byte > b'\r' => Ok(input),
        Some(_) => skip_some_empty_lines(input),
        None => Err(Stop::Partial),
    }
}

#[cold]
fn skip_some_empty_lines(input: &[u8]) -> Result<&[u8], Stop> {
    let mut at = 0;
    while at <= 2 * limits::LEADING_EMPTY_LINES {
        match input.get(at) {
            None => return Err(Stop::Partial),
            Some(b'\n') => return Err(Reason::BareLineFeed.into()),
            Some(b'\r') if at == 2 * limits::LEADING_EMPTY_LINES => break,
            Some(b'\r') => at = line_end(input, at)?,
            Some(_) => return Ok(input.get(at..).unwrap_or_default()),
        }
    }
    Err(Reason::TooManyEmptyLines.into())
}

/// Reads the field lines and the empty line after them. `rest` is the input after the request line.
#[inline(always)]
fn read_fields<'b>(
    input: &'b [u8],
    mut rest: &'b [u8],
    limits: &HeadLimits,
    slots: &mut FieldSlots,
    meaning: &mut Meaning<'b>,
) -> Result<FieldLines<'b>, Stop> {
    let most = limits.field_count.min(limits::FIELD_COUNT);
    let mut count = 0;
    let mut initials = Initials::default();
    let mut host = None;
    if let Some((value, next)) = usual_host(rest, limits)
        && let Some(slot) = slots.slot(0)
    {
        *slot = Slot { begin: (input.len() - rest.len()) as u16, name_size: 4 };
        host = Some(value);
        initials = const { Initials::of(b"Host") };
        count = 1;
        rest = next;
    }
    let mut at = input.len() - rest.len();
    loop {
        let Some(slot) = slots.slot(count) else {
            return Err(Reason::TooManyFields.into());
        };
        slot.begin = at as u16;
        if input.get(at) == Some(&b'\r') {
            return Ok(FieldLines { host, count, initials, end: line_end(input, at)? });
        }
        let colon = scan::token(input, at);
        if count == most
            || colon - at > limits.field_name_size
            || input.get(colon) != Some(&b':')
            || colon == at
        {
            return Err(name_stop(input, at, colon, count, limits));
        }
        slot.name_size = (colon - at) as u16;
        let end = scan::value(input, colon + 1);
        if end - at > limits.field_size {
            return Err(Reason::FieldTooLarge.into());
        }
        let next = line_end(input, end)?;
        let name = input.get(at..colon).unwrap_or_default();
        initials = initials.and(Initials::of(name));
        let value = input.get(colon + 1..end).unwrap_or_default();
        if meaning::is_host(name) {
            host = Some(meaning::read_host(value, host)?);
        } else {
            meaning.note(name, value)?;
        }
        count += 1;
        at = next;
    }
}

/// The first field as nearly every client sends it, read without searching for its parts: the processor can predict a
/// comparison, but must wait for the end of a search. Anything unusual takes the path of all fields. Returns the value
/// and the input after the line.
#[inline(always)]
fn usual_host<'b>(lines: &'b [u8], limits: &HeadLimits) -> Option<(&'b [u8], &'b [u8])> {
    const NAME: &[u8] = b"Host: ";
    let line = lines.strip_prefix(NAME)?;
    let name_size = scan::plain_host(line, 0);
    let (_, after) = line.split_at_checked(name_size)?;
    let rest = match after.strip_prefix(b":") {
        Some(digits) => authority::after_port(digits)?,
        None => after,
    };
    let value = line.get(..line.len() - rest.len())?;
    let fits = name_size > 0
        && NAME.len() + value.len() <= limits.field_size
        && limits.field_count > 0
        && limits.field_name_size >= 4;
    if fits { Some((value, rest.strip_prefix(b"\r\n")?)) } else { None }
}

/// Why a name that begins at `at` and ends at `stop` is invalid.
#[cold]
pub(super) fn name_stop(
    input: &[u8],
    at: usize,
    stop: usize,
    count: usize,
    limits: &HeadLimits,
) -> Stop {
    let is_first = count == 0;
    let Some(first) = input.get(at) else { return Stop::Partial };
    let reason = match (first, input.get(stop)) {
        (b' ' | b'\t', _) if is_first => Reason::BlankBeforeFirstField,
        (b' ' | b'\t', _) => Reason::ObsoleteFold,
        (b'\n', _) => Reason::BareLineFeed,
        _ if count == limits.field_count.min(limits::FIELD_COUNT) => Reason::TooManyFields,
        _ if stop - at > limits.field_name_size => Reason::FieldNameTooLong,
        (_, None) => return Stop::Partial,
        (b':', _) => Reason::EmptyFieldName,
        (_, Some(b' ' | b'\t')) => Reason::BlankInFieldName,
        (_, Some(b'\r' | b'\n')) => Reason::FieldWithoutColon,
        _ => Reason::InvalidFieldName,
    };
    Stop::Refused(reason)
}

/// Index after the line end at `at`.
#[inline(always)]
pub(super) fn line_end(input: &[u8], at: usize) -> Result<usize, Stop> {
    if input.get(at..).is_some_and(|rest| rest.starts_with(b"\r\n")) {
        return Ok(at + 2);
    }
    Err(line_stop(input, at))
}

#[cold]
fn line_stop(input: &[u8], at: usize) -> Stop {
    match (input.get(at), input.get(at + 1)) {
        (None, _) | (Some(b'\r'), None) => Stop::Partial,
        (Some(b'\r'), _) => Stop::Refused(Reason::BareCarriageReturn),
        (Some(b'\n'), _) => Stop::Refused(Reason::BareLineFeed),
        _ => Stop::Refused(Reason::InvalidFieldValue),
    }
}

/// Without blanks and tabs at both ends (RFC 9110, 5.6.3).
#[inline(always)]
pub(super) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && scan::token(bytes, 0) == bytes.len()
}

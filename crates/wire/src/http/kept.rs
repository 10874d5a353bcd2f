//! A request head that outlives the bytes it came in: the copy of a parsed one, or one that came as values.
//!
//! Owns the text and what the parser found in it, so that the request can be lent again without parsing. Owns also
//! the rules for a head that comes as values (RFC 9113, 8.2 and 8.3), which are those of a text as far as they apply.
//! Never looks at a body.

use super::fields::FieldList;
use super::head::meaning::{imitates_framing, parse_length};
use super::head::{
    Fields, Framing, HeadLimits, HttpVersion, Initials, RequestHead, RequestTarget, Slot,
    authority, scan,
};
use super::method::Method;
use super::refusal::{Reason, Refusal};
use super::response::InvalidField;
use super::url::{Scheme, is_same_authority};
use crate::limits::FIELD_COUNT;

/// A head on its own. [`request`](KeptHead::request) lends it.
#[derive(Clone, Debug)]
pub struct KeptHead {
    /// The request line with its end, and the field lines.
    text: Box<[u8]>,
    slots: Box<[Slot]>,
    initials: Initials,
    method: Method,
    version: HttpVersion,
    scheme: Scheme,
    target: KeptTarget,
    path_size: u16,
    host: Option<Span>,
    upgrade: Option<Span>,
    framing: Framing,
    persistent: bool,
    expects_continue: bool,
}

#[derive(Clone, Copy, Debug)]
enum KeptTarget {
    /// Nowhere: it is the server as a whole.
    Asterisk,
    /// Nowhere: the absolute form had no path, which means `/` (RFC 9110 section 4.2.3).
    Root,
    /// In the text.
    At(Span),
}

/// A part of the text. Heads are shorter than 64 KiB.
#[derive(Clone, Copy, Debug)]
struct Span {
    begin: u16,
    end: u16,
}

impl Span {
    /// Where a part of a text lies in it.
    fn of(part: &[u8], text: &[u8]) -> Option<Self> {
        let begin = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        let end = begin + part.len();
        let is_inside = end <= text.len();
        is_inside
            .then_some(Self { begin: u16::try_from(begin).ok()?, end: u16::try_from(end).ok()? })
    }

    fn in_text(self, text: &[u8]) -> &[u8] {
        text.get(usize::from(self.begin)..usize::from(self.end)).unwrap_or_default()
    }
}

impl KeptHead {
    /// The copy of a parsed head, without the bytes around it.
    #[must_use]
    pub fn of(request: &RequestHead<'_, '_>) -> Self {
        let (input, slots, initials) = request.fields.places();
        let end = slots.last().map_or(0, |last| usize::from(last.begin));
        let text = input.get(..end).unwrap_or_default();
        let target = match request.target {
            RequestTarget::Origin(target) => {
                Span::of(target, text).map_or(KeptTarget::Root, KeptTarget::At)
            }
            RequestTarget::Asterisk => KeptTarget::Asterisk,
        };
        Self {
            target,
            // It is shorter than its head.
            path_size: request.path_size as u16,
            host: request.host.and_then(|host| Span::of(host, text)),
            upgrade: request.upgrade.and_then(|upgrade| Span::of(upgrade, text)),
            method: request.method,
            version: request.version,
            scheme: request.scheme,
            framing: request.framing,
            persistent: request.persistent,
            expects_continue: request.expects_continue,
            text: text.into(),
            slots: slots.into(),
            initials,
        }
    }

    /// Bytes of memory that it holds.
    pub fn held_bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + size_of_val(&*self.slots)
    }

    /// The request.
    pub fn request(&self) -> RequestHead<'_, '_> {
        RequestHead {
            method: self.method,
            target: match self.target {
                KeptTarget::Asterisk => RequestTarget::Asterisk,
                KeptTarget::Root => RequestTarget::Origin(b"/"),
                KeptTarget::At(target) => RequestTarget::Origin(target.in_text(&self.text)),
            },
            path_size: usize::from(self.path_size),
            scheme: self.scheme,
            version: self.version,
            fields: Fields::at(&self.text, &self.slots, self.initials),
            host: self.host.map(|host| host.in_text(&self.text)),
            framing: self.framing,
            persistent: self.persistent,
            expects_continue: self.expects_continue,
            upgrade: self.upgrade.map(|upgrade| upgrade.in_text(&self.text)),
        }
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The request line, without its end.
    pub fn line(&self) -> &[u8] {
        Fields::at(&self.text, &self.slots, self.initials).preface()
    }

    /// A head that came as values.
    ///
    /// # Errors
    /// The rule that it breaks. Only this request is refused: the values say where it ends.
    pub fn of_values<'v>(
        values: &HeadValues<'v>,
        fields: impl Iterator<Item = (&'v str, &'v [u8])>,
        limits: &HeadLimits,
    ) -> Result<Self, Refusal> {
        let HeadValues { method, scheme, target, authority, follows } = *values;
        let path_size = check_target(method, target, limits)?;
        if !authority::is_valid(authority) {
            return Err(Reason::InvalidHost.into());
        }
        if "Host: ".len() + authority.len() > limits.field_size {
            return Err(Reason::FieldTooLarge.into());
        }
        let mut text = Vec::with_capacity(64 + target.len());
        text.extend_from_slice(method.as_str().as_bytes());
        text.push(b' ');
        let target_at = text.len();
        text.extend_from_slice(target);
        text.extend_from_slice(b" HTTP/2\r\n");
        let mut read = ReadFields::new(FieldList::behind(text), values);
        read.list.add("Host", authority).map_err(|_| Reason::HeadTooLarge)?;
        if let StreamContent::Protocol(protocol) = follows {
            check_protocol(method, protocol)?;
            read.list.add("Upgrade", protocol).map_err(|_| Reason::HeadTooLarge)?;
        }
        for (name, value) in fields {
            read.note(name, value, limits)?;
        }
        let list = read.list;
        let head = RequestHead {
            method,
            target: if target == b"*" {
                RequestTarget::Asterisk
            } else {
                RequestTarget::Origin(target)
            },
            path_size,
            scheme,
            version: HttpVersion::Http2,
            fields: list.fields(),
            host: list.fields().first("host"),
            framing: match (follows, read.length) {
                (StreamContent::None | StreamContent::Protocol(_), _) => Framing::None,
                (StreamContent::Body, Some(length)) => Framing::Length(length),
                (StreamContent::Body, None) => Framing::Chunked,
            },
            persistent: true,
            expects_continue: read.expects_continue && follows == StreamContent::Body,
            // A field of this name does not come as a value.
            upgrade: list.fields().first("upgrade"),
        };
        let mut kept = Self::of(&head);
        // The target was lent from elsewhere; its copy is part of the text.
        kept.target = kept.place_of_target(target_at, target);
        Ok(kept)
    }

    fn place_of_target(&self, at: usize, target: &[u8]) -> KeptTarget {
        let part = self.text.get(at..at + target.len());
        match part.filter(|_| target != b"*").and_then(|part| Span::of(part, &self.text)) {
            Some(span) => KeptTarget::At(span),
            None => KeptTarget::Asterisk,
        }
    }
}

/// The values of a head beside its fields (RFC 9113, 8.3.1).
#[derive(Clone, Copy, Debug)]
pub struct HeadValues<'v> {
    /// The method.
    pub method: Method,
    /// The scheme of the target.
    pub scheme: Scheme,
    /// Path and query, or `*`.
    pub target: &'v [u8],
    /// The host, and perhaps port.
    pub authority: &'v [u8],
    /// What follows on the stream.
    pub follows: StreamContent<'v>,
}

/// The content of a stream behind a head that came as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamContent<'v> {
    /// None: the request ends with its head.
    None,
    /// A body, until the end of its stream.
    Body,
    /// The bytes of this protocol, if the answer accepts it. It was asked for with the method CONNECT and `:protocol`
    /// (RFC 8441, 4), which mean what GET and `Upgrade` mean in HTTP/1.1: the method of the values is GET.
    Protocol(&'v [u8]),
}

/// Returns the size of the path.
fn check_target(method: Method, target: &[u8], limits: &HeadLimits) -> Result<usize, Reason> {
    if target.len() > limits.target_size {
        return Err(Reason::TargetTooLong);
    }
    let (size, path_size) = scan::target(target);
    match target {
        [] => Err(Reason::MissingTarget),
        b"*" if method == Method::Options => Ok(1),
        _ if target.get(size) == Some(&b'#') => Err(Reason::FragmentInTarget),
        _ if size < target.len() => Err(Reason::InvalidTarget),
        [b'/', ..] => Ok(path_size),
        _ => Err(Reason::InvalidTargetForm),
    }
}

/// Checks a request for another protocol.
fn check_protocol(method: Method, protocol: &[u8]) -> Result<(), Reason> {
    if method != Method::Get {
        return Err(Reason::MethodNotAllowed);
    }
    let is_token = !protocol.is_empty() && scan::token(protocol, 0) == protocol.len();
    if is_token { Ok(()) } else { Err(Reason::InvalidFieldValue) }
}

/// Whether a field belongs to one connection, so that it is in no message whose head is values. The name is in lower
/// case.
#[must_use]
pub fn is_of_connection(name: &str) -> bool {
    OF_CONNECTION.contains(&name)
}

/// Fields that belong to one connection, and say nothing where requests come as values (RFC 9113, 8.2.2).
const OF_CONNECTION: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// The fields so far, and what they mean.
struct ReadFields<'v> {
    list: FieldList,
    values: HeadValues<'v>,
    length: Option<u64>,
    expects_continue: bool,
}

impl<'v> ReadFields<'v> {
    fn new(list: FieldList, values: &HeadValues<'v>) -> Self {
        Self { list, values: *values, length: None, expects_continue: false }
    }

    fn note(&mut self, name: &str, value: &[u8], limits: &HeadLimits) -> Result<(), Reason> {
        if self.list.len() >= limits.field_count.min(FIELD_COUNT) {
            return Err(Reason::TooManyFields);
        }
        if name.len() > limits.field_name_size {
            return Err(Reason::FieldNameTooLong);
        }
        if name.len() + 2 + value.len() > limits.field_size {
            return Err(Reason::FieldTooLarge);
        }
        if imitates_framing(name.as_bytes()) {
            return Err(Reason::DisguisedFraming);
        }
        let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if is_blank(value.first()) || is_blank(value.last()) {
            return Err(Reason::InvalidFieldValue);
        }
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) || is_of_connection(name) {
            return Err(Reason::InvalidFieldName);
        }
        match name {
            "host" => {
                let is_same = is_same_authority(self.values.scheme, self.values.authority, value);
                return if is_same { Ok(()) } else { Err(Reason::HostMismatch) };
            }
            "te" if value != b"trailers" => return Err(Reason::InvalidFieldValue),
            "content-length" => {
                let length = parse_length(value).ok_or(Reason::InvalidContentLength)?;
                if self.length.replace(length).is_some() {
                    return Err(Reason::DuplicateContentLength);
                }
                if self.values.follows != StreamContent::Body && length > 0 {
                    return Err(Reason::InvalidContentLength);
                }
            }
            "expect" if value.eq_ignore_ascii_case(b"100-continue") => self.expects_continue = true,
            "expect" => return Err(Reason::ExpectationUnknown),
            _ => {}
        }
        self.list.add(name, value).map_err(|invalid| match invalid {
            InvalidField::Name => Reason::InvalidFieldName,
            InvalidField::Value => Reason::InvalidFieldValue,
            InvalidField::Room => Reason::HeadTooLarge,
        })?;
        if self.list.fields().places().0.len() > limits.head_size {
            return Err(Reason::HeadTooLarge);
        }
        Ok(())
    }
}

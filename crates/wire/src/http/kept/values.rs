//! A head that comes as values (RFC 9113, 8.2 and 8.3).
//!
//! Owns the rules for it, which are those of a text as far as they apply, and the room in which it is put together.
//! Never knows how the values came.

use super::{KeptHead, KeptTarget, Span};
use crate::http::fields::FieldList;
use crate::http::head::meaning::{imitates_framing, may_resemble, parse_length};
use crate::http::head::{Framing, HeadLimits, HttpVersion, authority, scan};
use crate::http::method::Method;
use crate::http::refusal::{Reason, Refusal};
use crate::http::response::InvalidField;
use crate::http::url::{Scheme, is_same_authority};
use crate::limits::FIELD_COUNT;

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
    /// The content that follows on the stream.
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

impl KeptHead {
    /// A head that came as values.
    ///
    /// # Errors
    /// The rule that it breaks. Only this request is refused: the values say where it ends.
    pub fn of_values<'v>(
        values: &HeadValues<'v>,
        fields: impl Iterator<Item = (&'v str, &'v [u8])>,
        limits: &HeadLimits,
    ) -> Result<Self, Refusal> {
        let mut builder = HeadBuilder::new();
        builder.begin(values, Some(values.authority), limits)?;
        for (name, value) in fields {
            builder.note(name, value, limits)?;
        }
        Ok(builder.finish(limits)?)
    }
}

/// Puts a head together, value by value. Its room can be used for one head after the other.
#[derive(Debug)]
pub(crate) struct HeadBuilder {
    list: FieldList,
    /// Cookies so far, which may come in several fields (RFC 9113, 8.2.3).
    cookie: Vec<u8>,
    /// Fields that came.
    count: usize,
    method: Method,
    scheme: Scheme,
    target: KeptTarget,
    path_size: u16,
    has_host: bool,
    has_body: bool,
    has_protocol: bool,
    length: Option<u64>,
    expects_continue: bool,
}

impl HeadBuilder {
    /// Room for a head.
    pub(crate) const fn new() -> Self {
        Self {
            list: FieldList::new(),
            cookie: Vec::new(),
            count: 0,
            method: Method::Get,
            scheme: Scheme::Http,
            target: KeptTarget::Root,
            path_size: 0,
            has_host: false,
            has_body: false,
            has_protocol: false,
            length: None,
            expects_continue: false,
        }
    }

    /// Begins a head. Without an authority, a `host` among the fields is one (RFC 9113, 8.3.1); that of the values is
    /// not looked at.
    pub(crate) fn begin(
        &mut self,
        values: &HeadValues<'_>,
        authority: Option<&[u8]>,
        limits: &HeadLimits,
    ) -> Result<(), Reason> {
        let HeadValues { method, scheme, target, follows, .. } = *values;
        let path_size = check_target(method, target, limits)?;
        let target_at = method.as_str().len() + 1;
        self.list.restart_behind(&[method.as_str().as_bytes(), b" ", target, b" HTTP/2.0\r\n"]);
        self.cookie.clear();
        (self.length, self.expects_continue) = (None, false);
        (self.method, self.scheme, self.has_host) = (method, scheme, false);
        self.has_body = follows == StreamContent::Body;
        self.has_protocol = matches!(follows, StreamContent::Protocol(_));
        // Targets have a bound below 64 KiB, and so has the path of one.
        self.path_size = path_size as u16;
        self.target = match target {
            b"*" => KeptTarget::Asterisk,
            _ => Span::at(target_at, target.len()).map_or(KeptTarget::Root, KeptTarget::At),
        };
        if let Some(authority) = authority {
            self.note_host(authority, limits)?;
        }
        if let StreamContent::Protocol(protocol) = follows {
            check_protocol(method, protocol)?;
            self.add("Upgrade", protocol, limits)?;
        }
        self.count = self.list.len();
        Ok(())
    }

    /// Adds a field. Each crumb of a cookie counts as one.
    pub(crate) fn note(
        &mut self,
        name: &str,
        value: &[u8],
        limits: &HeadLimits,
    ) -> Result<(), Reason> {
        if self.count >= limits.field_count.min(FIELD_COUNT) {
            return Err(Reason::TooManyFields);
        }
        self.count += 1;
        if name.len() > limits.field_name_size {
            return Err(Reason::FieldNameTooLong);
        }
        if name.len() + 2 + value.len() > limits.field_size {
            return Err(Reason::FieldTooLarge);
        }
        check_form(name, value)?;
        match name {
            "host" => return self.note_host(value, limits),
            "cookie" => return self.note_cookie(value, limits),
            "te" if value != b"trailers" => return Err(Reason::InvalidFieldValue),
            "content-length" => {
                let length = parse_length(value).ok_or(Reason::InvalidContentLength)?;
                if self.length.replace(length).is_some() {
                    return Err(Reason::DuplicateContentLength);
                }
                if !self.has_body && length > 0 {
                    return Err(Reason::InvalidContentLength);
                }
            }
            "expect" if value.eq_ignore_ascii_case(b"100-continue") => self.expects_continue = true,
            "expect" => return Err(Reason::ExpectationUnknown),
            _ => {}
        }
        self.add(name, value, limits)
    }

    /// The first one is the authority; others must be the same.
    fn note_host(&mut self, value: &[u8], limits: &HeadLimits) -> Result<(), Reason> {
        if self.has_host {
            let own = self.list.fields().first("host").unwrap_or_default();
            let is_same = is_same_authority(self.scheme, own, value);
            return if is_same { Ok(()) } else { Err(Reason::HostMismatch) };
        }
        if !authority::is_valid(value) {
            return Err(Reason::InvalidHost);
        }
        if "Host: ".len() + value.len() > limits.field_size {
            return Err(Reason::FieldTooLarge);
        }
        self.has_host = true;
        self.add("Host", value, limits)
    }

    /// Everything that is not HTTP/2 gets one field (RFC 9113, 8.2.3), which comes last.
    fn note_cookie(&mut self, value: &[u8], limits: &HeadLimits) -> Result<(), Reason> {
        if !self.cookie.is_empty() {
            self.cookie.extend_from_slice(b"; ");
        }
        self.cookie.extend_from_slice(value);
        match "Cookie: ".len() + self.cookie.len() > limits.field_size {
            true => Err(Reason::FieldTooLarge),
            false => Ok(()),
        }
    }

    fn add(&mut self, name: &str, value: &[u8], limits: &HeadLimits) -> Result<(), Reason> {
        self.list.add(name, value).map_err(|invalid| match invalid {
            InvalidField::Name => Reason::InvalidFieldName,
            InvalidField::Value => Reason::InvalidFieldValue,
            InvalidField::Room => Reason::HeadTooLarge,
        })?;
        let size = self.list.fields().places().0.len();
        if size > limits.head_size { Err(Reason::HeadTooLarge) } else { Ok(()) }
    }

    /// The head.
    pub(crate) fn finish(&mut self, limits: &HeadLimits) -> Result<KeptHead, Reason> {
        if !self.has_host {
            return Err(Reason::MissingHost);
        }
        if !self.cookie.is_empty() {
            let cookie = std::mem::take(&mut self.cookie);
            let added = self.add("Cookie", &cookie, limits);
            self.cookie = cookie;
            added?;
        }
        let fields = self.list.fields();
        let (text, slots, initials) = fields.places();
        // A field of the name Upgrade does not come as a value.
        let upgrade = if self.has_protocol { fields.first("upgrade") } else { None };
        Ok(KeptHead {
            host: fields.first("host").and_then(|host| Span::of(host, text)),
            upgrade: upgrade.and_then(|upgrade| Span::of(upgrade, text)),
            text: text.into(),
            slots: slots.into(),
            initials,
            method: self.method,
            version: HttpVersion::Http2,
            scheme: self.scheme,
            target: self.target,
            path_size: self.path_size,
            framing: match (self.has_body, self.length) {
                (false, None) => Framing::None,
                // An empty body, which a request that ends with its head may announce.
                (false, Some(length)) | (true, Some(length)) => Framing::Length(length),
                (true, None) => Framing::Chunked,
            },
            persistent: true,
            expects_continue: self.expects_continue && self.has_body,
        })
    }
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

/// Checks what the form of a field as a value says (RFC 9113, 8.2.1 and 8.2.2). Which bytes may be in it is checked
/// when it is added to a list.
#[inline]
pub(crate) fn check_form(name: &str, value: &[u8]) -> Result<(), Reason> {
    if may_resemble(name.as_bytes()) && imitates_framing(name.as_bytes()) {
        return Err(Reason::DisguisedFraming);
    }
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_blank(value.first()) || is_blank(value.last()) {
        return Err(Reason::InvalidFieldValue);
    }
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) || is_of_connection(name) {
        return Err(Reason::InvalidFieldName);
    }
    Ok(())
}

/// Whether a field belongs to one connection. The name is in lower case.
pub fn is_of_connection(name: &str) -> bool {
    OF_CONNECTION.contains(&name)
}

/// Fields that belong to one connection, so that they are in no message whose head is values (RFC 9113, 8.2.2).
pub const OF_CONNECTION: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

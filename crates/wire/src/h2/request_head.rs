//! The head of a request, from the fields of its block (RFC 9113, 8.3; RFC 8441, 4).
//!
//! Owns the rules for pseudo-fields, and which broken rule ends a stream and which is answered. The other fields are
//! judged by [`KeptHead`]'s rules for values.

use super::fields::{FIELD_OVERHEAD, is_pseudo};
use crate::http::head::{HeadLimits, method_token, scan};
use crate::http::kept::{HeadBuilder, HeadValues, KeptHead, StreamContent};
use crate::http::method::Method;
use crate::http::refusal::{Reason, Refusal};
use crate::http::url::Scheme;

/// A head that no request can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableHead {
    /// It is malformed: a stream error of the type PROTOCOL_ERROR (RFC 9113, 8.1.1).
    Malformed(Reason),
    /// It is answered with the status of the refusal.
    Refused(Refusal),
}

impl From<Reason> for UnusableHead {
    fn from(reason: Reason) -> Self {
        if reason.is_malformed() { Self::Malformed(reason) } else { Self::Refused(reason.into()) }
    }
}

/// The content behind a HEADERS frame that begins a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterHead {
    /// Nothing: it has END_STREAM.
    Nothing,
    /// Content or trailers.
    Content,
}

/// Reads heads, one after the other. Its room is kept from one to the next, so a scheduler needs one reader for all its
/// connections.
///
/// ```
/// use wire::h2::{AfterHead, RequestFields};
/// use wire::hpack::Decoder;
/// use wire::http::head::HeadLimits;
/// use wire::http::url::Scheme;
///
/// let (mut decoder, mut fields) = (Decoder::new(4_096), RequestFields::new());
/// fields.begin(Scheme::Https, AfterHead::Nothing, HeadLimits::default());
/// decoder.decode(b"\x82\x84\x87\x41\x09a.example", |name, value| fields.note(name, value))?;
/// let head = fields.finish().expect("it is a request");
/// assert_eq!(head.request().host, Some(&b"a.example"[..]));
/// # Ok::<(), wire::hpack::HpackError>(())
/// ```
#[derive(Debug)]
pub struct RequestFields {
    builder: HeadBuilder,
    pseudo: PseudoFields,
    limits: HeadLimits,
    scheme: Scheme,
    after: AfterHead,
    /// Bytes of all fields, as RFC 9113, 6.5.2, counts them.
    bytes: usize,
    state: ReadState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadState {
    /// No field but pseudo-fields.
    Pseudo,
    /// The builder has begun.
    Fields,
    Unusable(Reason),
}

impl Default for RequestFields {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestFields {
    /// A reader without room.
    pub fn new() -> Self {
        Self {
            builder: HeadBuilder::new(),
            pseudo: PseudoFields::new(),
            limits: HeadLimits::default(),
            scheme: Scheme::Http,
            after: AfterHead::Nothing,
            bytes: 0,
            state: ReadState::Pseudo,
        }
    }

    /// Begins a head that came over a connection of this scheme. The sum of all fields, each with 32 bytes more, may be
    /// [`HeadLimits::head_size`], which is what we announce as SETTINGS_MAX_HEADER_LIST_SIZE.
    pub fn begin(&mut self, scheme: Scheme, after: AfterHead, limits: HeadLimits) {
        self.pseudo.clear();
        self.limits = limits;
        (self.scheme, self.after) = (scheme, after);
        (self.bytes, self.state) = (0, ReadState::Pseudo);
    }

    /// Takes a field. After one that breaks a rule all others pass by.
    #[inline]
    pub fn note(&mut self, name: &[u8], value: &[u8]) {
        if matches!(self.state, ReadState::Unusable(_)) {
            return;
        }
        if let Err(reason) = self.try_note(name, value) {
            self.state = ReadState::Unusable(reason);
        }
    }

    fn try_note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Reason> {
        self.bytes += name.len() + value.len() + FIELD_OVERHEAD;
        if self.bytes > self.limits.head_size {
            return Err(Reason::HeadTooLarge);
        }
        if is_pseudo(name) {
            return match self.state {
                ReadState::Pseudo => self.pseudo.note(name, value),
                _ => Err(Reason::PseudoFieldLate),
            };
        }
        self.begin_fields()?;
        let name = str::from_utf8(name).map_err(|_| Reason::InvalidFieldName)?;
        self.builder.note(name, value, &self.limits)
    }

    /// All pseudo-fields have come.
    #[inline]
    fn begin_fields(&mut self) -> Result<(), Reason> {
        if self.state == ReadState::Pseudo {
            let begun = self.pseudo.begin(&mut self.builder, self.scheme, self.after, &self.limits);
            begun.map_err(|reason| self.pseudo.blame(reason))?;
            self.state = ReadState::Fields;
        }
        Ok(())
    }

    /// Ends the head.
    ///
    /// # Errors
    /// If it is no request.
    pub fn finish(&mut self) -> Result<KeptHead, UnusableHead> {
        if let ReadState::Unusable(reason) = self.state {
            return Err(reason.into());
        }
        self.begin_fields()?;
        Ok(self.builder.finish(&self.limits)?)
    }

    /// A request line of what came, for the log of a head that was refused. Any bytes may be in it.
    pub fn line(&self) -> Vec<u8> {
        let [method, path] = [&self.pseudo.method, &self.pseudo.path]
            .map(|part| self.pseudo.value(*part).unwrap_or(b"-"));
        [method, b" ", path, b" HTTP/2.0"].concat()
    }
}

/// The pseudo-fields of a head, which come in any order, before all others.
#[derive(Debug)]
struct PseudoFields {
    text: Vec<u8>,
    method: Option<Part>,
    scheme: Option<Part>,
    authority: Option<Part>,
    path: Option<Part>,
    protocol: Option<Part>,
}

/// A part of the text.
#[derive(Clone, Copy, Debug)]
struct Part {
    begin: usize,
    end: usize,
}

impl PseudoFields {
    fn new() -> Self {
        Self {
            text: Vec::new(),
            method: None,
            scheme: None,
            authority: None,
            path: None,
            protocol: None,
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        (self.method, self.scheme, self.authority) = (None, None, None);
        (self.path, self.protocol) = (None, None);
    }

    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Reason> {
        let place = match name {
            b":method" => &mut self.method,
            b":scheme" => &mut self.scheme,
            b":authority" => &mut self.authority,
            b":path" => &mut self.path,
            b":protocol" => &mut self.protocol,
            _ => return Err(Reason::PseudoFieldUnknown),
        };
        let begin = self.text.len();
        if place.replace(Part { begin, end: begin + value.len() }).is_some() {
            return Err(Reason::PseudoFieldDuplicate);
        }
        self.text.extend_from_slice(value);
        Ok(())
    }

    /// Which rule is broken by values that are no request: each of them has stricter rules than a field value, so only
    /// wrong ones are looked at again (RFC 9113, 8.2.1).
    #[cold]
    fn blame(&self, reason: Reason) -> Reason {
        let are_field_values = scan::value(&self.text, 0) == self.text.len();
        if are_field_values { reason } else { Reason::InvalidFieldValue }
    }

    fn value(&self, part: Option<Part>) -> Option<&[u8]> {
        let Part { begin, end } = part?;
        self.text.get(begin..end)
    }

    /// RFC 9113, 8.3.1 and 8.5; RFC 8441, 4.
    fn begin(
        &self,
        builder: &mut HeadBuilder,
        scheme: Scheme,
        after: AfterHead,
        limits: &HeadLimits,
    ) -> Result<(), Reason> {
        let method = self.value(self.method).ok_or(Reason::PseudoFieldMissing)?;
        let protocol = self.value(self.protocol);
        let authority = self.value(self.authority);
        let is_connect = method == b"CONNECT";
        if is_connect && protocol.is_none() {
            let is_whole = authority.is_some() && self.scheme.is_none() && self.path.is_none();
            let is_tunnel =
                if is_whole { Reason::MethodNotAllowed } else { Reason::PseudoFieldMissing };
            return Err(is_tunnel);
        }
        let target = self.value(self.path).ok_or(Reason::PseudoFieldMissing)?;
        check_scheme(self.value(self.scheme).ok_or(Reason::PseudoFieldMissing)?, scheme)?;
        let (method, follows) = match protocol {
            Some(_) if !is_connect => return Err(Reason::PseudoFieldUnknown),
            Some(_) if authority.is_none() => return Err(Reason::PseudoFieldMissing),
            Some(protocol) => (Method::Get, StreamContent::Protocol(protocol)),
            None => (read_method(method)?, content(after)),
        };
        let values = HeadValues { method, scheme, target, authority: b"", follows };
        builder.begin(&values, authority, limits)
    }
}

fn content(after: AfterHead) -> StreamContent<'static> {
    match after {
        AfterHead::Nothing => StreamContent::None,
        AfterHead::Content => StreamContent::Body,
    }
}

fn read_method(method: &[u8]) -> Result<Method, Reason> {
    match method_token::named(method) {
        Err(_) if method.is_empty() || scan::token(method, 0) < method.len() => {
            Err(Reason::InvalidMethod)
        }
        named => named,
    }
}

/// Compares the scheme of a target with that of the connection. A proxy that ends TLS passes on `https` over a plain
/// connection: what its client speaks is said by fields that count only if they come from a trusted one.
fn check_scheme(value: &[u8], scheme: Scheme) -> Result<(), Reason> {
    let is = |scheme: Scheme| value.eq_ignore_ascii_case(scheme.as_str().as_bytes());
    match scheme {
        _ if is(Scheme::Https) => Ok(()),
        Scheme::Http if is(Scheme::Http) => Ok(()),
        Scheme::Https if is(Scheme::Http) => Err(Reason::PlainTarget),
        _ => Err(Reason::InvalidTargetForm),
    }
}

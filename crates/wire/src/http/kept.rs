//! A request head that outlives the bytes it came in: the copy of a parsed one, or one that came as values.
//!
//! Owns the text and what the parser found in it, so that the request can be lent again without parsing. Never looks at
//! a body.

mod values;

use super::head::{Fields, Framing, HttpVersion, Initials, RequestHead, RequestTarget, Slot};
use super::method::Method;
use super::url::Scheme;

pub(crate) use values::{HeadBuilder, check_form};
pub use values::{HeadValues, OF_CONNECTION, StreamContent, is_of_connection};

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

    /// The part of this size at this place.
    fn at(begin: usize, size: usize) -> Option<Self> {
        let end = u16::try_from(begin + size).ok()?;
        Some(Self { begin: u16::try_from(begin).ok()?, end })
    }

    fn in_text(self, text: &[u8]) -> &[u8] {
        text.get(usize::from(self.begin)..usize::from(self.end)).unwrap_or_default()
    }
}

impl KeptHead {
    /// The copy of a parsed head, without the bytes around it.
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
}

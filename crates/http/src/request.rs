//! A request as its application sees it: borrowed for one call.

use std::borrow::Cow;
use std::rc::Rc;

use runtime::clock::Now;
use runtime::service::ListenerIndex;
use runtime::trace::{self, Sampled};
use runtime::transport::Agreed;
use sys::socket::Peer;
use sys::text::ascii;
use wire::http::fields::FieldList;
use wire::http::head::{self, Fields, HttpVersion, RequestTarget};
use wire::http::method::Method;
use wire::http::trace_context::{SpanId, TraceId, TraceParent};
use wire::http::url::Scheme;

use crate::limits::REQUEST_ID_SIZE;

/// When a request came, and its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// The number of its service, which differs between schedulers and processes.
    service: u64,
    /// Its number within the service.
    serial: u64,
    /// When its head was complete, on the monotonic clock.
    began_ns: u64,
}

/// One request: head, whole body, and sender.
///
/// ```
/// use http::{Function, Http, Reply, Request, HttpSettings};
/// use world::Stage;
///
/// fn answer(request: &Request<'_>, reply: &mut Reply<'_>) {
///     let host = request.host().unwrap_or("-");
///     let query = request.query().unwrap_or("-");
///     reply.text(&format!("{} {} {query} {host}", request.method().as_str(), request.path()));
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Function(answer), HttpSettings::default().into(), None));
/// let client = stage.connect();
/// let text = stage.exchange(client, "GET /a?b=1 HTTP/1.1\r\nHost: example.org\r\n\r\n");
/// assert!(text.ends_with("GET /a b=1 example.org"), "{text}");
/// ```
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The head, which is valid.
    pub head: &'a head::RequestHead<'a, 'a>,
    /// The body; empty while the application is asked how to handle the body.
    pub body: &'a [u8],
    /// The fields behind its body, once that is complete, if there are any that mean something there (RFC 9110,
    /// 6.5).
    pub trailers: Option<&'a FieldList>,
    /// Bytes of its body that have come, whether they are in [`body`](Self::body) or were handed over.
    pub received: u64,
    /// The client: taken from a PROXY header if the listener requires one, and from the fields of trusted proxies.
    pub peer: Peer,
    /// The trusted proxy that has told of the client, if one has: then the other end of the connection is that proxy.
    pub via: Option<Peer>,
    /// When it came, and its number.
    pub begin: Begin,
    /// The listener through which it came.
    pub listener: ListenerIndex,
    /// The agreement of the encrypting transport of its connection with the client; `None`: the connection is plain, or
    /// its other end is a trusted proxy. Whether the client used encryption says [`scheme`](Self::scheme).
    pub secured: Option<&'a Rc<Agreed>>,
}

impl<'a> Request<'a> {
    /// Whether the client used encryption, towards this server or towards the first trusted proxy.
    #[inline]
    pub fn scheme(&self) -> Scheme {
        self.head.scheme
    }

    /// The method.
    #[inline]
    pub fn method(&self) -> Method {
        self.head.method
    }

    /// The client's version of HTTP.
    #[inline]
    pub fn version(&self) -> HttpVersion {
        self.head.version
    }

    /// The client, if its connection may have several requests at a time. Those of Unix sockets cannot be told apart.
    #[inline]
    pub fn sharing_client(&self) -> Option<Peer> {
        let may_share = self.version() == HttpVersion::Http2 && self.peer != Peer::LOCAL;
        may_share.then_some(self.peer)
    }

    /// The target as it was sent; `*` means the server as a whole.
    #[inline]
    pub fn target(&self) -> &'a [u8] {
        match self.head.target {
            RequestTarget::Origin(target) => target,
            RequestTarget::Asterisk => b"*",
        }
    }

    /// The path as it was sent, still percent-encoded.
    #[inline]
    pub fn path(&self) -> &'a str {
        // The head parser accepts visible ASCII only.
        let path = ascii(self.head.split_target().0).unwrap_or_default();
        if path.is_empty() { "/" } else { path }
    }

    /// The query as it was sent, without its question mark.
    #[inline]
    pub fn query(&self) -> Option<&'a str> {
        self.head.split_target().1.and_then(ascii)
    }

    /// The value of the first field with this name. The name must be in lower case.
    #[inline]
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.head.fields.first(name)
    }

    /// The requested authority: host, and perhaps port.
    pub fn host(&self) -> Option<&'a str> {
        self.head.host.and_then(|host| str::from_utf8(host).ok())
    }

    /// Its name in logs, in error pages and for other servers: `X-Request-Id` of a trusted proxy, or else a
    /// number that no other request has.
    pub fn id(&self) -> Cow<'a, str> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:+/=@".contains(byte);
        let told = self.via.and_then(|_| self.field("x-request-id"));
        let told = told.filter(|told| !told.is_empty() && told.len() <= REQUEST_ID_SIZE);
        let told = told.filter(|told| told.iter().all(is_plain)).and_then(ascii);
        match told {
            Some(told) => Cow::Borrowed(told),
            None => Cow::Owned(format!("{:016x}{:016x}", self.begin.service, self.begin.serial)),
        }
    }

    /// The trace to which it belongs: the one that it names, or one of its own if a collector is told of it. Anyone may
    /// name one: it is a name, and grants nothing.
    pub fn trace(&self) -> Option<TraceId> {
        self.parent_of_others().map(|parent| parent.trace)
    }

    /// The context of the requests that its answer needs: with its own span as their parent if a collector is told of
    /// that span, else as it came, because a span that exists nowhere would be the parent of others.
    pub fn parent_of_others(&self) -> Option<TraceParent> {
        let own = self.begin.span();
        let is_sampled = trace::samples(own.0);
        match TraceParent::of(&self.head.fields) {
            Some(parent) if is_sampled => Some(parent.within(own).recorded()),
            Some(parent) => Some(parent),
            None if is_sampled => Some(TraceParent::begun(self.begin.trace(), own)),
            None => None,
        }
    }
}

impl Begin {
    #[inline]
    pub(super) fn new(service: u64, serial: u64, now: Now) -> Self {
        Self { service, serial, began_ns: now.monotonic_ns }
    }

    /// When its head was complete, on the monotonic clock.
    #[inline]
    pub(super) fn began_ns(self) -> u64 {
        self.began_ns
    }

    /// The beginning of what a collector is told of it, if it is told.
    pub(super) fn sampled(self, fields: &Fields<'_, '_>) -> Option<Sampled> {
        let span = self.span().0;
        trace::samples(span).then(|| {
            let (trace, parent) = TraceParent::of(fields)
                .map_or((self.trace().0, 0), |parent| (parent.trace.0, parent.span.0));
            Sampled { trace, span, parent, steps: Vec::new() }
        })
    }

    /// A number that no other request of this service has: the function has an inverse (`SplitMix64`).
    fn span(self) -> SpanId {
        SpanId(mixed(self.service ^ self.serial.wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1))
    }

    /// The trace that begins with it.
    fn trace(self) -> TraceId {
        TraceId(u128::from(mixed(self.service.rotate_left(32))) << 64 | u128::from(self.span().0))
    }
}

fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

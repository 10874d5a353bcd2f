//! A request as an application sees it: borrowed for one call.

use runtime::service::ListenerIndex;
use sys::socket::Peer;
use sys::text::ascii;
use wire::http::head::{self, Target, Version};
use wire::http::method::Method;

/// One request: head, whole body, and who sent it.
///
/// ```
/// use http::{Function, Http, Reply, Request, Settings};
/// use world::Stage;
///
/// fn answer(request: &Request<'_>, reply: &mut Reply<'_>) {
///     let host = request.host().unwrap_or("-");
///     let query = request.query().unwrap_or("-");
///     reply.text(&format!("{} {} {query} {host}", request.method().as_str(), request.path()));
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Function(answer), Settings::default().into(), None));
/// let client = stage.connect();
/// let text = stage.exchange(client, "GET /a?b=1 HTTP/1.1\r\nHost: example.org\r\n\r\n");
/// assert!(text.ends_with("GET /a b=1 example.org"), "{text}");
/// ```
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The head, valid by every rule.
    pub head: &'a head::Request<'a, 'a>,
    /// The body, empty while the body's policy is asked for.
    pub body: &'a [u8],
    /// Who sent it; through a PROXY header where the listener requires one.
    pub peer: Peer,
    /// Which listener it came through.
    pub listener: ListenerIndex,
}

impl<'a> Request<'a> {
    /// The method.
    #[inline]
    pub fn method(&self) -> Method {
        self.head.method
    }

    /// The version the client speaks.
    #[inline]
    pub fn version(&self) -> Version {
        self.head.version
    }

    /// The target as it was sent, `*` for the server as a whole.
    #[inline]
    pub fn target(&self) -> &'a [u8] {
        match self.head.target {
            Target::Origin(target) => target,
            Target::Asterisk => b"*",
        }
    }

    /// The path as it was sent, still percent-encoded.
    #[inline]
    pub fn path(&self) -> &'a str {
        // The head parser lets visible ASCII through and nothing else.
        let path = ascii(self.head.split_target().0).unwrap_or_default();
        if path.is_empty() { "/" } else { path }
    }

    /// The query as it was sent, without its question mark.
    #[inline]
    pub fn query(&self) -> Option<&'a str> {
        self.head.split_target().1.and_then(ascii)
    }

    /// The value of the first field of that name, which is given in lower case.
    #[inline]
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.head.fields.first(name)
    }

    /// The authority asked for: host and perhaps port.
    pub fn host(&self) -> Option<&'a str> {
        self.head.host.and_then(|host| str::from_utf8(host).ok())
    }
}

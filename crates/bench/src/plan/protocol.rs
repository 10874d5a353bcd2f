//! The version of HTTP that connections speak.

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadProtocol {
    /// HTTP/1.1: requests in flight at once are answered in their order.
    Http1,
    /// HTTP/2, agreed on by ALPN over TLS, and with prior knowledge without (RFC 9113, 3.2 and 3.3).
    Http2,
}

impl LoadProtocol {
    /// The name that is offered by ALPN.
    pub const fn alpn(self) -> &'static str {
        match self {
            Self::Http1 => "http/1.1",
            Self::Http2 => "h2",
        }
    }
}

//! The versions of HTTP that a connection may speak, and whether exchanges share it.
//!
//! Owns their names. Never negotiates: the transport does.

/// The name of HTTP/1.1 in handshakes (RFC 7301).
pub const HTTP1: &str = "http/1.1";
/// The name of HTTP/2 in handshakes (RFC 9113, 3.1).
pub const HTTP2: &str = "h2";

/// The versions that the connections to a server may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Versions {
    /// HTTP/1.1, for one exchange after the other.
    Http1,
    /// Either, as the handshake of each says.
    Agreed,
    /// HTTP/2, for many exchanges at once, because the server is known to speak it.
    Http2,
}

/// Whether an exchange may share a connection with others at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sharing {
    Shared,
    /// It may not: it wants another protocol, or its connection tells of one client.
    Alone,
}

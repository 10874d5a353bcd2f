//! The interface of a transport: a layer between a socket and its process, such as encryption.
//!
//! Owns [`Transport`] and what its two sides agree on. Never sends or receives: the scheduler does, and lends the
//! buffers. A connection gets its transport when it begins
//! ([`Service::transport`](crate::service::Service::transport)).

/// A transport between a socket and its process. It may hold bytes back in both directions, such as parts of records.
///
/// ```
/// use runtime::transport::{Agreed, Transport, Violation};
///
/// /// Flips all bits of every byte; a zero byte of the wire is the end. There is no handshake.
/// #[derive(Default)]
/// struct Flip {
///     has_ended: bool,
/// }
///
/// impl Transport for Flip {
///     fn open(
///         &mut self,
///         bytes: &[u8],
///         plain: &mut Vec<u8>,
///         _wire: &mut Vec<u8>,
///     ) -> Result<(), Violation> {
///         for byte in bytes {
///             if self.has_ended {
///                 return Err(Violation::Protocol);
///             }
///             match byte {
///                 0 => self.has_ended = true,
///                 byte => plain.push(!byte),
///             }
///         }
///         Ok(())
///     }
///
///     fn agreed(&self) -> Option<Agreed<'_>> {
///         Some(Agreed::default())
///     }
///
///     fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>) {
///         wire.extend(bytes.iter().map(|byte| !byte));
///     }
///
///     fn end(&mut self, wire: &mut Vec<u8>) {
///         wire.push(0);
///     }
///
///     fn has_ended(&self) -> bool {
///         self.has_ended
///     }
/// }
///
/// let (mut one, mut other) = (Flip::default(), Flip::default());
/// let (mut wire, mut plain) = (Vec::new(), Vec::new());
/// one.seal(b"hello", &mut wire);
/// one.end(&mut wire);
/// assert_eq!(other.open(&wire, &mut plain, &mut Vec::new()), Ok(()));
/// assert_eq!((&*plain, other.has_ended()), (&b"hello"[..], true));
/// ```
pub trait Transport {
    /// Takes bytes from the peer: appends the decoded bytes to `plain`, and the transport's own answer to `wire`. On a
    /// connection that this side began, it is first called without bytes: the first flight of the handshake goes to
    /// `wire`.
    ///
    /// # Errors
    /// If the connection cannot go on. The bytes in `wire`, such as an alert, are sent before it ends.
    fn open(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation>;

    /// What both sides agreed on; `None` until the handshake is over. From then on [`seal`](Self::seal) may be called.
    fn agreed(&self) -> Option<Agreed<'_>>;

    /// Encodes these bytes and appends them to `wire`.
    fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>);

    /// Appends the end-of-stream record to `wire` (in TLS `close_notify`, RFC 8446 section 6.1).
    fn end(&mut self, wire: &mut Vec<u8>);

    /// Whether the peer has announced the end of its stream. A connection that ends without that is a failure: the
    /// stream may have been cut.
    fn has_ended(&self) -> bool;
}

/// What the two sides of a transport agreed on in the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed<'a> {
    /// The application protocol (ALPN, RFC 7301); `None` if none was negotiated.
    pub protocol: Option<&'a [u8]>,
    /// The server name that the client asked for (RFC 6066 section 3), or that this side asked for.
    pub server_name: Option<&'a str>,
    /// The certificate that the peer proved to own, in DER; `None` if it sent none.
    pub peer_certificate: Option<&'a [u8]>,
}

/// Why a transport cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The peer broke the transport's protocol.
    Protocol,
    /// Both sides have no version, algorithm or application protocol in common.
    NothingInCommon,
    /// No certificate for the server name that the client asked for.
    UnknownName,
    /// The peer's certificate is missing, or is not accepted.
    Certificate,
    /// The peer sent this fatal alert (RFC 8446 section 6).
    Alert(u8),
    /// The connection ended or failed during the handshake.
    Cut,
}

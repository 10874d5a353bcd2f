//! The interface of a transport: a layer between a socket and its process, such as encryption.
//!
//! Owns [`Transport`] and what its two sides agree on. Never sends or receives: the scheduler does, and lends the
//! buffers. A connection gets its transport when it begins
//! ([`Service::transport`](crate::service::Service::transport)).

use std::rc::Rc;

/// A transport between a socket and its process. It may hold bytes back in both directions, such as parts of records.
///
/// ```
/// use std::rc::Rc;
///
/// use runtime::transport::{Agreed, Transport, Violation};
///
/// /// Flips all bits of every byte; a zero byte of the wire is the end. There is no handshake.
/// #[derive(Default)]
/// struct Flip {
///     agreed: Rc<Agreed>,
///     has_ended: bool,
/// }
///
/// impl Transport for Flip {
///     fn open(
///         &mut self,
///         bytes: &mut [u8],
///         plain: &mut Vec<u8>,
///         _wire: &mut Vec<u8>,
///     ) -> Result<(), Violation> {
///         for byte in bytes {
///             if self.has_ended {
///                 return Err(Violation::Protocol);
///             }
///             match *byte {
///                 0 => self.has_ended = true,
///                 byte => plain.push(!byte),
///             }
///         }
///         Ok(())
///     }
///
///     fn agreed(&self) -> Option<&Rc<Agreed>> {
///         Some(&self.agreed)
///     }
///
///     fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>) -> Result<(), Violation> {
///         wire.extend(bytes.iter().map(|byte| !byte));
///         Ok(())
///     }
///
///     fn end(&mut self, wire: &mut Vec<u8>) {
///         wire.push(0);
///     }
///
///     fn has_ended(&self) -> bool {
///         self.has_ended
///     }
///
///     fn held_bytes(&self) -> usize {
///         0
///     }
/// }
///
/// let (mut one, mut other) = (Flip::default(), Flip::default());
/// let (mut wire, mut plain) = (Vec::new(), Vec::new());
/// one.seal(b"hello", &mut wire)?;
/// one.end(&mut wire);
/// other.open(&mut wire, &mut plain, &mut Vec::new())?;
/// assert_eq!((&*plain, other.has_ended()), (&b"hello"[..], true));
/// # Ok::<(), Violation>(())
/// ```
pub trait Transport {
    /// Takes bytes from the peer: appends the decoded bytes to `plain`, and the transport's own answer to `wire`. On a
    /// connection that this side began, it is first called without bytes: the first flight of the handshake goes to
    /// `wire`. It may change the bytes, and keeps what it cannot decode yet.
    ///
    /// # Errors
    /// If the connection cannot go on. The bytes in `wire`, such as an alert, are sent before it ends.
    fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation>;

    /// Both sides' agreement; `None` until the handshake is over. From then on [`seal`](Self::seal) may be called.
    fn agreed(&self) -> Option<&Rc<Agreed>>;

    /// Encodes these bytes and appends them to `wire`.
    ///
    /// # Errors
    /// If no more can be encoded, such as at the end of a key that cannot be replaced. The connection ends.
    fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>) -> Result<(), Violation>;

    /// Appends the end-of-stream record to `wire` (in TLS `close_notify`, RFC 8446 section 6.1).
    fn end(&mut self, wire: &mut Vec<u8>);

    /// Whether the peer has announced the end of its stream. A connection that ends without that is a failure: the
    /// stream may have been cut.
    fn has_ended(&self) -> bool;

    /// Bytes of the peer that it keeps because they cannot be decoded yet, such as a part of a record. They count
    /// towards the scheduler's memory.
    fn held_bytes(&self) -> usize;
}

/// The agreement of the two sides of a transport in the handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// The version of the transport's protocol, such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite by its registered name, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
    /// The group of the key exchange by its registered name, such as `X25519MLKEM768`. Empty if there was none: TLS 1.2
    /// resumes a session without.
    pub group: &'static str,
    /// Whether keys of an earlier connection were used again.
    pub resumption: Resumption,
    /// The application protocol (ALPN, RFC 7301); `None` if none was negotiated.
    pub protocol: Option<Box<[u8]>>,
    /// The server name that the client asked for (RFC 6066 section 3), or that this side asked for.
    pub server_name: Option<Box<str>>,
    /// The certificate that the peer proved to own, in DER; `None` if it sent none.
    pub peer_certificate: Option<Box<[u8]>>,
    /// On the server's side: what that certificate says of the client; `None` if it sent none.
    pub client: Option<Rc<ClientCertificate>>,
}

/// The subject, issuer and fingerprint of a client's certificate. The handshake has verified it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject, as RFC 4514 writes it; often empty.
    pub subject: Box<str>,
    /// The issuer, in the same form.
    pub issuer: Box<str>,
    /// SHA-256 of the whole certificate, in lower-case hexadecimal.
    pub fingerprint: Box<str>,
}

impl ClientCertificate {
    /// Whether this text names it: its whole subject, or its fingerprint, also in capitals.
    pub fn is_named(&self, text: &str) -> bool {
        *text == *self.subject || text.eq_ignore_ascii_case(&self.fingerprint)
    }
}

/// How the keys of a connection came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// By a full handshake.
    #[default]
    None,
    /// From an earlier connection (RFC 8446 section 2.2).
    Resumed,
}

/// Why a transport cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The peer broke the transport's protocol.
    Protocol,
    /// The first bytes of the peer are of another protocol: it has no such transport.
    OtherProtocol,
    /// Both sides have no version, algorithm or application protocol in common.
    NothingInCommon,
    /// No certificate for the server name that the client asked for.
    UnknownName,
    /// The peer's certificate is not accepted.
    Certificate(CertificateFault),
    /// The peer sent this fatal alert (RFC 8446 section 6).
    Alert(u8),
    /// The connection ended or failed during the handshake.
    Cut,
}

/// Why the certificate of a peer is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CertificateFault {
    /// It sent none.
    Missing,
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYetValid,
    /// It is for other names.
    WrongName,
    /// No authority that is trusted has issued it.
    UnknownAuthority,
    /// It was revoked.
    Revoked,
    /// It cannot be read, its signature is wrong, or it is for another purpose.
    Invalid,
}

//! The seam between a socket and its process, for an encrypting transport.
//!
//! Owns the interface of a transport ([`Transport`]); [`Layered`] is a pollset that adds one to the
//! connections of some listeners. Processes, outboxes and fans see plain bytes either way. A
//! pollset without layers pays nothing, because the scheduler's questions are constants there.

mod layered;

pub use layered::{Layered, Listener, Socket};

/// A transport between a socket and its process. It may hold bytes back in both directions, such as parts of records.
///
/// ```
/// use runtime::transport::{Transport, Violation};
///
/// /// Flips all bits of every byte; a zero byte of the wire is the end.
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
///                 return Err(Violation);
///             }
///             match byte {
///                 0 => self.has_ended = true,
///                 byte => plain.push(!byte),
///             }
///         }
///         Ok(())
///     }
///
///     fn is_ready(&self) -> bool {
///         true
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
    /// Takes bytes from the peer: appends the decoded bytes to `plain`, and the transport's own answer to `wire`.
    ///
    /// # Errors
    /// If the peer breaks the protocol. The bytes in `wire` are sent before the connection ends.
    fn open(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation>;

    /// Whether the handshake is over, and [`seal`](Self::seal) may be called.
    fn is_ready(&self) -> bool;

    /// Encodes these bytes and appends them to `wire`.
    fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>);

    /// Appends the end-of-stream record to `wire`.
    fn end(&mut self, wire: &mut Vec<u8>);

    /// Whether the peer has announced the end of its stream. A connection that ends without that is a failure: the stream may have been cut.
    fn has_ended(&self) -> bool;
}

/// The peer broke the transport's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation;

//! Every limit of TLS: name, number and consequence.

/// Bytes of a file with certificates or a key: a bundle of all public authorities has 250 KB.
///
/// Consequence: a longer one is refused with its name.
pub const PEM_BYTES: usize = 4 * 1024 * 1024;

/// Plain bytes of a full record (RFC 8446 section 5.1).
pub const RECORD_BYTES: usize = 16 * 1024;

/// Plain bytes of the first records of a large answer: about three segments of a network.
///
/// Consequence: the peer can use what has arrived while the rest is on its way; each record costs 22 bytes and a
/// call of the cipher.
pub const FIRST_RECORD_BYTES: usize = 4 * 1024;

/// Plain bytes of an answer that are sent in small records: what a new connection may have on its way, several times.
///
/// Consequence: what follows is sent in full records.
pub const FIRST_BYTES: usize = 64 * 1024;

/// Room for what a record adds to its plain bytes, in any version and cipher.
pub const RECORD_EXTRA_BYTES: usize = 64;

/// Bytes of messages that are not complete, which a server keeps: the largest hello of a client known is 2 KiB, and a
/// record is at most 16 KiB and 261 bytes.
///
/// Consequence: a longer message of a handshake is refused.
pub const SERVER_HELD_BYTES: usize = 20 * 1024;

/// The same, where clients show certificates, and of this side as a client: certificates come in messages of at most
/// this size (rustls' own limit is 64 KiB).
///
/// Consequence: a chain of certificates that is longer is refused.
pub const CERTIFICATES_HELD_BYTES: usize = 64 * 1024 + 20 * 1024;

/// Tickets that a server sends after a full handshake of TLS 1.3: browsers use each of them once.
///
/// Consequence: a client that opens more connections at once makes full handshakes with the others.
pub const TICKETS: usize = 2;

/// Sessions that a client keeps for resumption.
///
/// Consequence: the oldest is forgotten, and the next connection to that server makes a full handshake.
pub const CLIENT_SESSIONS: usize = 256;

/// Names of a certificate that are read (1,000). One with more is malformed.
pub const NAMES_READ: usize = 1_000;

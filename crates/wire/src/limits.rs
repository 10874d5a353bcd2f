//! The bounds of the codecs: a name, a number with its unit, and what happens beyond it.
//!
//! These are defaults and hard maxima; the server's configuration may lower or raise the former within
//! the latter. Nothing here is a knob by itself.

/// Bytes of a whole request head, from the first byte to the empty line. Beyond: 431 and close.
pub const HEAD_SIZE: usize = 16 * 1024;

/// Maximum bytes of a head, whatever the configuration says, because field positions are 16-bit
/// offsets. A larger configured `head_size` counts as this one. Beyond: 431 and close.
pub const HEAD_SIZE_MAX: usize = 65_535;

/// Field lines in a head. Also the hard maximum, because it sizes [`FieldSlots`]. Beyond: 431 and close.
///
/// [`FieldSlots`]: crate::http::head::FieldSlots
pub const FIELD_COUNT: usize = 100;

/// Bytes of the fields that a program puts together for one answer, each counted with four more, because their
/// positions are 16-bit offsets. A further field is refused, which is the program's error: 500.
pub const FIELD_LIST_SIZE: usize = 65_535;

/// Bytes of one field line without its line end. Beyond: 431 and close.
pub const FIELD_SIZE: usize = 8 * 1024;

/// Bytes of one field name. Beyond: 431 and close.
pub const FIELD_NAME_SIZE: usize = 256;

/// Fields of one line of an access log. More are refused when the configuration is read.
pub const LOG_FIELDS_MAX: usize = 64;

/// Proxies that one request may have passed, as its fields tell. Beyond: the fields count as malformed.
pub const FORWARDERS_MAX: usize = 32;

/// Bytes of the request target, the part that can make a request line long. Beyond: 414 and close.
pub const REQUEST_LINE_SIZE: usize = 8 * 1024;

/// Bytes of a method. Beyond: 501 and close, because no known method is that long.
pub const METHOD_SIZE: usize = 32;

/// Empty lines ignored before a request line (RFC 9112, 2.2: some clients send one after a body).
/// Beyond: 400 and close.
pub const LEADING_EMPTY_LINES: usize = 2;

/// Digits of a port in an authority. Beyond: 400 and close.
pub const PORT_DIGITS: usize = 5;

/// The largest Content-Length that is a number here: 2^63. Beyond: 400 and close.
pub const CONTENT_LENGTH_MAX: u64 = 1 << 63;

/// Digits of a Content-Length, leading zeros included. Beyond: 400 and close.
pub const CONTENT_LENGTH_DIGITS: usize = 19;

/// Bytes of a request body unless configured (1 MiB). Beyond: 413 and close.
pub const BODY_SIZE: u64 = 1024 * 1024;

/// Hexadecimal digits of a chunk size: 64 bits. Beyond: 400 and close.
pub const CHUNK_SIZE_DIGITS: u8 = 16;

/// Bytes of all chunk extensions of one body together. Beyond: 400 and close.
pub const CHUNK_EXTENSION_SIZE: u32 = 4 * 1024;

/// Bytes of the whole trailer section of a body, over HTTP/2 with 32 for each field. Beyond: 431 and close; over HTTP/2
/// the stream is reset.
pub const TRAILER_SIZE: u32 = 8 * 1024;

/// Bytes of the head of one part of a form with files, its empty line included. Beyond: 400, and the rest is not read.
pub const PART_HEAD_SIZE: usize = 8 * 1024;

/// Bytes of a part's name, of its file name and of its media type. Beyond: 400, and the rest is not read.
pub const PART_NAME_SIZE: usize = 1024;

/// Parts of one form with files. Beyond: 400, and the rest is not read.
pub const PARTS_MAX: usize = 1000;

/// Maximum bytes of chunk extensions, and of a trailer section, whatever the configuration
/// says, because a decoder counts them in 16 bits. A larger configured limit counts as this one. Beyond: as
/// for [`CHUNK_EXTENSION_SIZE`] and [`TRAILER_SIZE`].
pub const CHUNK_OVERHEAD_SIZE_MAX: u16 = u16::MAX;

// ---- Responses, as a client reads them. Beyond each of them: a `ResponseError`, and the connection is closed ----

/// Bytes of the head of a response, for each interim one separately: 64 KiB less one, because they are counted in 16
/// bits. Also the most that a reader asks its caller to keep. Beyond: [`Reason::HeadTooLarge`], so that an endless head
/// ends.
///
/// [`Reason::HeadTooLarge`]: crate::http::refusal::Reason::HeadTooLarge
pub const RESPONSE_HEAD_SIZE: u16 = u16::MAX;

/// Field lines in the head of a response. Beyond: [`Reason::TooManyFields`].
///
/// [`Reason::TooManyFields`]: crate::http::refusal::Reason::TooManyFields
pub const RESPONSE_FIELD_COUNT: u8 = 100;

/// Interim responses (1xx) before a final one. Beyond: [`ResponseProblem::TooManyInterim`], so that a server cannot
/// send them forever.
///
/// [`ResponseProblem::TooManyInterim`]: crate::http::received::ResponseProblem::TooManyInterim
pub const RESPONSE_INTERIM_COUNT: u8 = 32;

/// Bytes of all chunk extensions of a response together. Beyond: [`Reason::ChunkExtensionsTooLarge`].
///
/// [`Reason::ChunkExtensionsTooLarge`]: crate::http::refusal::Reason::ChunkExtensionsTooLarge
pub const RESPONSE_CHUNK_EXTENSION_SIZE: u32 = 16 * 1024;

/// Bytes of the trailer section of a response. Beyond: [`Reason::TrailersTooLarge`].
///
/// [`Reason::TrailersTooLarge`]: crate::http::refusal::Reason::TrailersTooLarge
pub const RESPONSE_TRAILER_SIZE: u32 = 16 * 1024;

// ---- Semantics of a request (target, range, conditional, encoding) and the PROXY protocol ----

/// Pairs of a query that are passed to a page or handler. Further pairs are left out; the reader can
/// ask whether there were any.
pub const QUERY_PAIRS_MAXIMUM: usize = 100;

/// Range specifiers in one `Range` field. Beyond: the field is ignored, and the answer is the
/// whole.
pub const RANGES_MAXIMUM: usize = 16;

/// Lines of `If-Match`, and of `If-None-Match`. Beyond: the field is evaluated on the safe side:
/// the precondition fails where a change could be lost, and has no effect where only a transfer
/// could be saved.
pub const TAG_LINES_MAXIMUM: usize = 4;

/// Seconds after which a modification time counts as strong in `If-Range` (RFC 9110 section
/// 8.8.2.2). A younger file may have changed again within the same second, so the range is
/// ignored and the whole is sent.
pub const LAST_MODIFIED_STRONG_AFTER_S: u64 = 60;

/// 12 bytes of a digest are in an entity tag: with a million versions of a file, two have the same tag once in 10^17
/// times.
pub const ETAG_DIGEST_BYTES: usize = 12;

/// 32 members of `Accept` are read; more are ignored.
pub const ACCEPT_MEMBERS_MAXIMUM: usize = 32;

/// Members of `Accept-Encoding` that are read, over all its lines. Beyond: further members are
/// ignored.
pub const ACCEPT_ENCODING_MEMBERS_MAXIMUM: usize = 16;

/// Bytes of a PROXY protocol header of version 1, with its line end (section 2.1 of the
/// specification). Beyond: refused, and the connection closes.
pub const PROXY_V1_BYTES_MAXIMUM: usize = 107;

/// Bytes of the payload of a PROXY protocol header of version 2: addresses and extensions after
/// the 16 bytes of the fixed part. Beyond: refused, and the connection closes, so that it never has
/// to keep more than this before its first request.
pub const PROXY_V2_PAYLOAD_BYTES_MAXIMUM: usize = 2048;

// ---- WebSocket ----

/// Bytes of the payload of one WebSocket frame (64 KiB). Beyond: close code 1009.
pub const WEBSOCKET_FRAME_SIZE: usize = 64 * 1024;

/// Bytes of a WebSocket message, including all its fragments (1 MiB). Beyond: close code 1009.
pub const WEBSOCKET_MESSAGE_SIZE: usize = 1024 * 1024;

/// Fragments of one WebSocket message, because tiny ones cost more than their content. Beyond: close code 1009.
pub const WEBSOCKET_FRAGMENTS: u16 = 1024;

/// 128 bytes of a message from which on it is compressed if the client accepts that: shorter ones hardly shrink.
pub const WEBSOCKET_DEFLATE_FROM: usize = 128;

/// 1 KiB by which the memory for a compressed message grows at least; beyond that it doubles.
pub const WEBSOCKET_DEFLATE_PIECE: usize = 1024;

// ---- RESP ----

/// Arguments of a RESP command, including its name (16,384: a lookup of so many keys takes a few milliseconds). Beyond:
/// an error that names the bound, and the connection ends.
pub const RESP_ARGUMENTS: usize = 16 * 1024;

/// Bytes of a whole RESP command as sent (16.5 MiB: the largest value of the store and a little more). A command must
/// be complete before it runs. Beyond: an error, and the connection ends.
pub const RESP_COMMAND_SIZE: usize = 16 * 1024 * 1024 + 512 * 1024;

/// Arguments of a RESP command from a client that has not yet authenticated. Beyond: as above.
pub const RESP_ARGUMENTS_OF_STRANGERS: usize = 10;

/// Bytes of such a command (16 KiB). Beyond: as above.
pub const RESP_COMMAND_SIZE_OF_STRANGERS: usize = 16 * 1024;

/// Bytes of an inline RESP command, and of a line with a length (64 KiB, as in Redis). Beyond: an error, and the
/// connection ends.
pub const RESP_LINE_SIZE: usize = 64 * 1024;

/// Nested arrays and objects of a JSON text that comes in (100). Beyond: it is refused.
pub const JSON_DEPTH: usize = 100;

/// Nested arrays and objects of a JSON text that a page writes or reads (124): more than what comes in, so that it can
/// pass on whatever it got within tables of its own. Beyond: an error in the page.
pub const JSON_DEPTH_OF_PAGES: usize = 124;

/// Bytes of a number in a JSON text (1,000, a hundred times what a program needs). Beyond: it is refused where it comes
/// in.
pub const JSON_NUMBER_SIZE: usize = 1_000;

// ---- NATS. Beyond each of them: a `NatsProblem`, and the connection is closed ----

/// 64 KiB of a control line. `INFO` lists every server of a cluster, so it may be longer than the 4 KiB that servers
/// take from clients.
pub const NATS_LINE_SIZE: usize = 64 * 1024;

/// 10 digits of the size of a message.
pub const NATS_SIZE_DIGITS: usize = 10;

// ---- HPACK ----

/// 4,096 bytes of the table that a peer may fill, and of that which we fill at a peer: the size without any setting
/// (RFC 9113, 6.5.2). A peer that makes it larger than was agreed: COMPRESSION_ERROR, and the connection ends.
pub const HPACK_TABLE_BYTES: usize = 4_096;

/// Maximum bytes of a table that can be agreed to (64 KiB less one), because its places are 16-bit numbers. A larger
/// one counts as this.
pub const HPACK_TABLE_BYTES_MAX: usize = 65_535;

/// 32 fields that an encoder tells its peer to keep. Beyond: the oldest one is not used any more.
pub const HPACK_KEPT_FIELDS: usize = 32;

/// 2 KiB of these fields, each with 32 bytes more. Beyond: the oldest ones are not used any more.
pub const HPACK_KEPT_BYTES: usize = 2_048;

/// Bytes of a head (512) that is written again at once if the next one is the same. A longer one is written field by
/// field.
pub const HPACK_REPEATED_BYTES: usize = 512;

/// Bytes of a field that is worth being kept, with 32 bytes more (512). A longer one is written each time, because it
/// would drive out a dozen others.
pub const HPACK_KEPT_FIELD_BYTES: usize = 512;

// ---- HTTP/2 ----

/// Frames of a peer that do nothing for a request (SETTINGS, PING, PRIORITY, WINDOW_UPDATE, empty DATA). Beyond: the
/// connection ends with ENHANCE_YOUR_CALM.
pub const H2_CONTROL_FRAMES: u32 = 1_000;

/// Such frames that are allowed again in each second. Beyond: see [`H2_CONTROL_FRAMES`].
pub const H2_CONTROL_FRAMES_PER_SECOND: u32 = 200;

/// Bytes of bodies, sent or received, that allow one such frame, because windows have to be opened. For fewer: none is
/// allowed.
pub const H2_CALM_BYTES: usize = 512;

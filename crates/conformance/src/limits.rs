//! Owns every limit of the crate: number, unit and consequence. Contains no requirement of a case.

/// Bytes of one response head, interim or final; a longer one fails the case.
pub const RESPONSE_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Field lines of one response head or trailer section; one more fails the case.
pub const RESPONSE_FIELDS_MAX: usize = 200;
/// Bytes of one response body after decoding; a longer one fails the case.
pub const RESPONSE_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of one chunk-size line of a response, extensions included; a longer one fails the case.
pub const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;
/// Hexadecimal digits of a chunk size of a response; more fail the case.
pub const CHUNK_DIGITS_MAX: usize = 16;
/// Interim responses taken before one final response; one more fails the case.
pub const INTERIM_RESPONSES_MAX: usize = 8;
/// Bytes a server may send in one case; the case fails when it sends more.
pub const RECEIVED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes taken from the socket in one read; affects only the speed.
pub const READ_BYTES: usize = 16 * 1024;
/// Bytes a template may grow to; a longer one is an error in the data.
pub const TEMPLATE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a conversation that a failure quotes; longer ones are shortened, with their length.
pub const QUOTE_BYTES_MAX: usize = 700;
/// Threads that play cases concurrently; a larger number is reduced to this.
pub const THREADS_MAX: usize = 64;
/// Milliseconds between two bytes of a slow attack; the attack lasts as long as the deadline given.
pub const DRIP_INTERVAL_MS: u64 = 200;
/// Parts of one multipart response; one more fails the case.
pub const MULTIPART_PARTS_MAX: usize = 64;

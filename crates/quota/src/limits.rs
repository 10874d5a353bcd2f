//! The bounds of limits: number, unit, consequence.

/// Bytes of one key in a table.
pub const KEY_BYTES: usize = 16;
/// Keys that share one cache line. Beyond: the one among them is replaced that was not refused and has used least.
pub const KEYS_IN_LINE: usize = 4;
/// 1,048,576 keys of a table, which are 16 MiB; a larger size counts as this one.
pub const KEYS_MAX: usize = 1 << 20;
/// 65,536 entries of one rate that wait to be told to another scheduler; further ones are not told, so a key may use as
/// much more there. Each opening and each closing of a request is told: there are no more of them than requests.
pub const NEWS_MAX: usize = 1 << 16;

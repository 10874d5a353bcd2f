//! Every limit of a migration: name, number and consequence.

/// 4 MiB of one file; a longer one is refused.
pub const TEXT_SIZE_MAX: usize = 4 * 1024 * 1024;
/// 32 blocks within each other; a deeper text is refused.
pub const DEPTH_MAX: usize = 32;
/// 256 files or snippets are included; further ones become a comment.
pub const INCLUDES_MAX: usize = 256;
/// 100,000 words of all included files; beyond them nothing more is included.
pub const WORDS_MAX: usize = 100_000;
/// 24 routes for the alternatives of one regular expression; with more it becomes a comment.
pub const ALTERNATIVES_MAX: usize = 24;
/// 200 rounds of commenting out what `config` refuses; then everything that is left is commented out.
pub const ROUNDS_MAX: usize = 200;

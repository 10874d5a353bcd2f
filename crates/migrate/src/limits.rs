//! Every limit of a migration: name, number and consequence.

/// 1 MiB of one file; a longer one is refused, or is not included.
pub const TEXT_SIZE_MAX: usize = 1024 * 1024;
/// 32 blocks, files or groups of an expression within each other. A deeper text is refused, a deeper file is not
/// included, a deeper expression has no counterpart.
pub const DEPTH_MAX: usize = 32;
/// 256 files or snippets are included; what would include more closes its place.
pub const INCLUDES_MAX: usize = 256;
/// 2 MiB of all files and snippets together; what would include more closes its place.
pub const INCLUDED_SIZE_MAX: usize = 2 * 1024 * 1024;
/// 256 routes for the alternatives of one expression; with more it has no counterpart.
pub const ALTERNATIVES_MAX: usize = 256;
/// 4,096 routes of a configuration; with more nothing is taken over.
pub const ROUTES_MAX: usize = 4096;
/// 200 rounds of changing what `config` refuses; then every request is answered 501.
pub const ROUNDS_MAX: usize = 200;
/// 3 directives of a block of Caddy that are for a part of its requests; with more it is closed.
pub const PARTS_MAX: usize = 3;

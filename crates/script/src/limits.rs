//! The bounds of pages: a name, a number with its unit, and what happens beyond it.

// ---- Templates. Beyond each of the first three: a `TemplateError`, and the page is not loaded ----

/// Bytes of the source of one page (4 MiB). Beyond: the page is refused, so that offsets, lines and the
/// Lua text made from it (at most four times as long) stay small numbers.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Tags in one page. Beyond: the page is refused; a Lua function has room for 65,536 constants, and a
/// page is one function.
pub const TAGS_MAX: usize = 16_384;

/// Blocks and brackets open at one place of a page's code. Beyond: the page is refused, as LuaJIT would
/// do (`LJ_MAX_XLEVEL`).
pub const NESTING_MAX: usize = 200;

/// Arguments of one call that prints. Beyond: the rest goes into the next call. Arguments take registers,
/// of which a function has 250, and a page may use 194 of them for local variables.
pub const PUT_ARGUMENTS_MAX: usize = 32;

/// Bytes of page text in one Lua string (32 KiB). Beyond: the rest becomes the next argument, so that no
/// constant of a page is larger than what a buffer takes in one step.
pub const LITERAL_BYTES_MAX: usize = 32 * 1024;

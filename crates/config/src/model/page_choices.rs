//! The choices of `[pages]`.
//!
//! Owns their names in the configuration.

/// How the code of pages runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCode {
    /// Hot code is compiled to native code.
    Native,
    /// All code is interpreted.
    Bytecode,
}

/// Where sessions of pages are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSessions {
    /// In a signed cookie.
    Cookies,
    /// In the store.
    Store,
}

/// The content that a client sees when a page fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageErrors {
    /// Only the status.
    #[default]
    Hidden,
    /// The fault and its place, with lines of the source: for developing the page.
    Shown,
}

pub(crate) const SESSIONS: [(&str, PageSessions); 2] =
    [("cookie", PageSessions::Cookies), ("store", PageSessions::Store)];

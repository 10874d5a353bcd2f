//! The choices of `[pages]`.
//!
//! Owns their names in the configuration.

/// How the code of pages is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCode {
    /// Hot code is compiled to native code.
    Native,
    /// All of it is interpreted.
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

/// What a client sees of a page that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageErrors {
    /// The status alone.
    #[default]
    Hidden,
    /// What happened and where, with lines of the source: for who develops the page.
    Shown,
}

pub(super) const SESSIONS: [(&str, PageSessions); 2] =
    [("cookie", PageSessions::Cookies), ("store", PageSessions::Store)];

//! The settings of a [`State`](crate::engine::State).

use std::time::Duration;

use crate::limits;

/// How Lua code is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Hot code, the library's included, is compiled to native code.
    Native,
    /// All code is interpreted.
    Bytecode,
}

/// What an engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Pages and modules that answer requests.
    Requests,
    /// What they spawned.
    Processes,
}

/// Where sessions are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    /// In a signed cookie.
    #[default]
    Cookies,
    /// In the store, by a random name in the cookie.
    Stored,
}

/// The settings of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What the engine runs.
    pub role: Role,
    /// How long a page may run before others get their turn.
    pub slice: Duration,
    /// How long a page may run without a place where it can be interrupted. Beyond: it is ended as soon as it comes to one.
    pub uninterrupted: Duration,
    /// CPU time that one run may use in all.
    pub cpu_budget: Duration,
    /// Memory for all pages of this engine together, with their code.
    pub memory_bytes: usize,
    /// Memory that one run may hold of it. In an engine for processes those of one account share all of it.
    pub run_memory_bytes: usize,
    /// The largest block that one table may take.
    pub table_bytes: usize,
    /// How Lua code is run.
    pub code: Code,
    /// Where sessions are kept.
    pub sessions: Sessions,
    /// How long sessions are good, and signed cookies for which a page says nothing.
    pub session_age: Duration,
    /// Whether browsers are to send cookies over TLS only, where a page says nothing.
    pub secure_cookies: bool,
    /// What `math.random` starts from.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            role: Role::Requests,
            slice: limits::SLICE,
            uninterrupted: limits::UNINTERRUPTED,
            cpu_budget: limits::CPU_BUDGET,
            memory_bytes: limits::MEMORY_SIZE,
            run_memory_bytes: limits::RUN_MEMORY_SIZE,
            table_bytes: limits::TABLE_SIZE,
            code: Code::Native,
            sessions: Sessions::Cookies,
            session_age: limits::SESSION_AGE,
            secure_cookies: false,
            seed: 0,
        }
    }
}

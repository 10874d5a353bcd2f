//! The settings of a [`EngineState`](crate::engine::EngineState).

use std::time::Duration;

use crate::engine::call::HostCall;
use crate::limits;

/// How Lua code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Hot code, including the library's, is compiled to native code.
    Native,
    /// All code is interpreted.
    Bytecode,
}

/// The code that an engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineRole {
    /// Pages and modules that answer requests.
    Requests,
    /// Spawned processes.
    Processes,
}

/// Where sessions are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    /// In a signed cookie.
    #[default]
    Cookies,
    /// In the store, under a random name in the cookie.
    Stored,
}

/// The settings of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineSettings {
    /// The code that the engine runs.
    pub role: EngineRole,
    /// How long a page may run before others run.
    pub slice: Duration,
    /// How long a page may run without a point where it can be interrupted. Beyond: it is ended at the next such point.
    pub uninterrupted: Duration,
    /// CPU time that one run may use in total.
    pub cpu_budget: Duration,
    /// Memory for all pages of this engine together, including their code.
    pub memory_bytes: usize,
    /// Memory that one run may hold. In an engine for processes, the runs of one account share all of it.
    pub run_memory_bytes: usize,
    /// The largest block for one table.
    pub table_bytes: usize,
    /// How Lua code runs.
    pub code: Code,
    /// Where sessions are kept.
    pub sessions: Sessions,
    /// How long sessions are valid, and signed cookies unless a page sets an age.
    pub session_age: Duration,
    /// Whether browsers should send cookies over TLS only, unless a page says otherwise.
    pub secure_cookies: bool,
    /// The seed of `math.random`.
    pub seed: u64,
    /// The calls that pages can wait for.
    pub calls: &'static [HostCall],
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            role: EngineRole::Requests,
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
            calls: &[],
        }
    }
}

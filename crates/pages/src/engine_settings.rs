//! From the configuration to the settings of an engine.
//!
//! Owns the translation. Defines no default: those are the configuration's, and equal the engine's
//! own.

use config::{PageCode, PageSessions, Pages};
use script::engine::{Code, EngineRole, EngineSettings, Sessions};

use config::limits;

const _: () = {
    assert!(limits::PAGE_SLICE.as_nanos() == script::limits::SLICE.as_nanos());
    assert!(limits::PAGE_CPU_BUDGET.as_nanos() == script::limits::CPU_BUDGET.as_nanos());
    assert!(limits::PAGE_SESSION_AGE.as_nanos() == script::limits::SESSION_AGE.as_nanos());
    assert!(limits::PAGE_MEMORY == script::limits::MEMORY_SIZE as u64);
    assert!(
        limits::PAGE_MEMORY / limits::PAGE_MEMORY_SHARE == script::limits::RUN_MEMORY_SIZE as u64
    );
    assert!(limits::PAGE_TABLE_SIZE == script::limits::TABLE_SIZE as u64);
};

/// The settings of an engine for requests.
pub fn engine_settings(pages: &Pages, seed: u64) -> EngineSettings {
    EngineSettings {
        role: EngineRole::Requests,
        slice: pages.slice,
        uninterrupted: script::limits::UNINTERRUPTED,
        cpu_budget: pages.cpu_budget,
        memory_bytes: usize::try_from(pages.memory).unwrap_or(usize::MAX),
        run_memory_bytes: usize::try_from(pages.memory_per_request).unwrap_or(usize::MAX),
        table_bytes: usize::try_from(pages.table_size).unwrap_or(usize::MAX),
        code: match pages.code {
            PageCode::Native => Code::Native,
            PageCode::Bytecode => Code::Bytecode,
        },
        sessions: match pages.sessions {
            PageSessions::Cookies => Sessions::Cookies,
            PageSessions::Store => Sessions::Stored,
        },
        session_age: pages.session_age,
        secure_cookies: pages.secure_cookies,
        seed,
        // The runner says what they can wait for.
        calls: &[],
    }
}

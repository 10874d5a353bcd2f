//! `[pages]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `pages` does.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits;
use crate::model::fetch::FetchRules;
use crate::model::page_choices::{PageCode, PageErrors, PageSessions};

/// `[pages]`. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// Whether there are pages. Their sources are hidden in any case.
    pub enabled: bool,
    /// How their code runs.
    pub code: PageCode,
    /// How long a page may run before others run.
    pub slice: Duration,
    /// CPU time of one run; beyond this 503.
    pub cpu_budget: Duration,
    /// From a page's start to its end, including waits; beyond this 503.
    pub deadline: Duration,
    /// Memory for all pages of one scheduler, including their code; a page that needs more is answered with 503.
    pub memory: u64,
    /// How much of it one run may hold; beyond this 503.
    pub memory_per_request: u64,
    /// Memory for all processes of a scheduler that pages spawned.
    pub process_memory: u64,
    /// The largest block of one table.
    pub table_size: u64,
    /// Which targets pages may fetch from.
    pub fetch: FetchRules,
    /// The file with the authorities that `fetch` trusts; `None`: those of the system.
    pub fetch_ca: Option<PathBuf>,
    /// The file with the certificate that `fetch` shows to servers that ask for one.
    pub fetch_certificate: Option<PathBuf>,
    /// The file with its key. There are both or none.
    pub fetch_key: Option<PathBuf>,
    /// The file with the secrets that sign cookies; `None` for one that is lost when the server ends.
    pub secret_file: Option<PathBuf>,
    /// Where sessions are kept.
    pub sessions: PageSessions,
    /// How long sessions are valid.
    pub session_age: Duration,
    /// Whether browsers should send the cookies of pages over TLS only, unless a page says otherwise.
    pub secure_cookies: bool,
    /// Whether the output of pages is compressed.
    pub compress: bool,
    /// Where uploaded files are kept; `None`: forms with files are refused.
    pub uploads: Option<PathBuf>,
    /// Bytes of a form with files; beyond this 413.
    pub upload_size: u64,
    /// Bytes of all files that no page has saved; a form that exceeds it is answered with 503.
    pub uploads_size: u64,
    /// The details that a client sees when a page fails. There is no key for it; the command line sets it.
    pub errors: PageErrors,
}

impl Default for Pages {
    fn default() -> Self {
        Self {
            enabled: true,
            code: PageCode::Native,
            slice: limits::PAGE_SLICE,
            cpu_budget: limits::PAGE_CPU_BUDGET,
            deadline: limits::PAGE_DEADLINE,
            memory: limits::PAGE_MEMORY,
            memory_per_request: limits::PAGE_MEMORY / limits::PAGE_MEMORY_SHARE,
            process_memory: limits::PAGE_PROCESS_MEMORY,
            table_size: limits::PAGE_TABLE_SIZE,
            fetch: FetchRules::All,
            fetch_ca: None,
            fetch_certificate: None,
            fetch_key: None,
            secret_file: None,
            sessions: PageSessions::Cookies,
            session_age: limits::PAGE_SESSION_AGE,
            secure_cookies: false,
            compress: false,
            uploads: None,
            upload_size: limits::UPLOAD_SIZE,
            uploads_size: limits::UPLOADS_SIZE,
            errors: PageErrors::Hidden,
        }
    }
}

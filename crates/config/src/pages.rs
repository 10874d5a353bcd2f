//! `[pages]`: whether pages are run, how, and what one may use.
//!
//! Owns the keys of that section. The defaults and the bounds of the bounds are in [`crate::limits`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::fetch::{self, FetchRules};
use super::quantity::{spoken_duration, spoken_size};
use super::section::Section;
use super::value::{boolean, deadline, duration_within, path, size_within};
use super::{AppDirectory, AppPresence, Overrides, Problems, Route, RouteAction};
use crate::limits;

/// `[pages]`. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// Whether there are pages at all; their sources are hidden in any case.
    pub enabled: bool,
    /// How their code is run.
    pub code: PageCode,
    /// How long a page may run before others get their turn.
    pub slice: Duration,
    /// CPU time of one run; more is 503.
    pub cpu_budget: Duration,
    /// From a page's start to its end, waits included; more is 503.
    pub deadline: Duration,
    /// Memory for all pages of one scheduler, with their code; who asks for more gets 503.
    pub memory: u64,
    /// How much of it one run may hold; more is 503.
    pub memory_per_request: u64,
    /// Memory for all processes of a scheduler that pages spawned.
    pub process_memory: u64,
    /// The largest block of one table.
    pub table_size: u64,
    /// Which targets pages may fetch from.
    pub fetch: FetchRules,
    /// The file with the secrets that cookies are signed with; `None` for one that ends with the server.
    pub secret_file: Option<PathBuf>,
    /// How long sessions are good.
    pub session_age: Duration,
    /// Whether browsers are to send the cookies of pages over TLS only, where a page says nothing.
    pub secure_cookies: bool,
    /// Whether what pages make is compressed.
    pub compress: bool,
    /// Where the files of forms are kept; none: such forms are refused.
    pub uploads: Option<PathBuf>,
    /// Bytes of a form with files; more is 413.
    pub upload_size: u64,
    /// Bytes of all files that no page has saved; the form that brings more is 503.
    pub uploads_size: u64,
    /// What a client sees of a page that failed. No key: the command line says it.
    pub errors: PageErrors,
}

/// How the code of pages is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCode {
    /// What runs often is compiled.
    Native,
    /// All of it is interpreted.
    Bytecode,
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
            secret_file: None,
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

/// Reads the section over the defaults.
pub(super) fn read(
    section: Option<Section<'_>>,
    base: &Path,
    overrides: &Overrides,
    problems: &mut Problems,
) -> Pages {
    let mut pages = Pages { errors: overrides.page_errors, ..Pages::default() };
    let Some(section) = section else { return pages };
    section.read_into("enabled", &mut pages.enabled, problems, boolean);
    section.read_into("native", &mut pages.code, problems, |item| {
        boolean(item).map(|native| if native { PageCode::Native } else { PageCode::Bytecode })
    });
    section.read_into("slice", &mut pages.slice, problems, |item| {
        duration_within(item, limits::PAGE_SLICE_MIN..=limits::PAGE_SLICE_MAX)
    });
    section.read_into("cpu_budget", &mut pages.cpu_budget, problems, |item| {
        duration_within(item, limits::PAGE_CPU_BUDGET_MIN..=limits::PAGE_CPU_BUDGET_MAX)
    });
    section.read_into("deadline", &mut pages.deadline, problems, deadline);
    section.read_into("memory", &mut pages.memory, problems, |item| {
        size_within(item, limits::PAGE_MEMORY_MIN..=limits::PAGE_MEMORY_MAX)
    });
    pages.memory_per_request = pages.memory / limits::PAGE_MEMORY_SHARE;
    let memory = pages.memory;
    section.read_into("memory_per_request", &mut pages.memory_per_request, problems, |item| {
        size_within(item, limits::PAGE_RUN_MEMORY_MIN..=memory)
    });
    section.read_into("process_memory", &mut pages.process_memory, problems, |item| {
        size_within(item, limits::PAGE_MEMORY_MIN..=limits::PAGE_MEMORY_MAX)
    });
    section.read_into("table_size", &mut pages.table_size, problems, |item| {
        size_within(item, limits::PAGE_TABLE_SIZE_MIN..=memory)
    });
    fetch::read_into(&mut pages.fetch, &section, problems);
    pages.secret_file = section.read("secret_file", problems, |item| path(item, base));
    section.read_into("session_age", &mut pages.session_age, problems, |item| {
        duration_within(item, limits::PAGE_SESSION_AGE_MIN..=limits::DEADLINE_MAX)
    });
    section.read_into("secure_cookies", &mut pages.secure_cookies, problems, boolean);
    section.read_into("compress", &mut pages.compress, problems, boolean);
    section.read_into("uploads", &mut pages.uploads, problems, |item| path(item, base).map(Some));
    section.read_into("upload_size", &mut pages.upload_size, problems, |item| {
        size_within(item, limits::UPLOAD_SIZE_MIN..=limits::UPLOAD_SIZE_MAX)
    });
    section.read_into("uploads_size", &mut pages.uploads_size, problems, |item| {
        size_within(item, limits::UPLOAD_SIZE_MIN..=limits::UPLOAD_SIZE_MAX)
    });
    let item = section.item("uploads_size").or_else(|| section.item("upload_size"));
    if let Some(item) = item.filter(|_| pages.uploads_size < pages.upload_size) {
        let (all, one) = (spoken_size(pages.uploads_size), spoken_size(pages.upload_size));
        let told = format!(
            "`uploads_size` ({all}) is less than `upload_size` ({one}): no such form would fit"
        );
        problems.at(item.offset, told);
    }
    // The default budget is more than any slice: only one that is written can be too short to be noticed.
    if let Some(item) = section.item("cpu_budget").filter(|_| pages.cpu_budget < pages.slice) {
        let (budget, slice) = (spoken_duration(pages.cpu_budget), spoken_duration(pages.slice));
        let told = format!("`cpu_budget` ({budget}) is less than `slice` ({slice})");
        problems.at(item.offset, told);
    }
    pages
}

/// `app`: the directory of app modules.
pub(super) fn read_app(
    section: &Section<'_>,
    base: &Path,
    problems: &mut Problems,
) -> Option<PathBuf> {
    section.read("app", problems, |item| path(item, base))
}

/// The directory of app modules: the one that is named, or `app` beside the file.
pub(super) fn app_directory<'a>(
    named: Option<PathBuf>,
    pages: &Pages,
    base: &Path,
    routes: impl Iterator<Item = &'a Route>,
    problems: &mut Problems,
) -> AppDirectory {
    let mut presence = if named.is_some() { AppPresence::Required } else { AppPresence::WithMain };
    for route in routes {
        let RouteAction::Module(name) = &route.action else { continue };
        presence = AppPresence::Required;
        if !pages.enabled {
            let told = format!("the module `{name}` cannot run: `enabled` of [pages] is false");
            problems.add(Some(route.place), told);
        }
    }
    AppDirectory { path: named.unwrap_or_else(|| base.join(limits::APP_DIRECTORY)), presence }
}

const _: () = assert!(limits::PAGE_CPU_BUDGET.as_nanos() >= limits::PAGE_SLICE_MAX.as_nanos());
const _: () =
    assert!(limits::PAGE_MEMORY_MIN / limits::PAGE_MEMORY_SHARE >= limits::PAGE_RUN_MEMORY_MIN);

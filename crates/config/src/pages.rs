//! `[pages]`: whether pages run, how, and what each may use.
//!
//! Owns the keys of that section. Defaults and allowed ranges are in [`crate::limits`].

use std::path::PathBuf;
use std::time::Duration;

use super::choice::choice;
use super::fetch::{self, FetchRules};
use super::key::{Absent, ChangeEffect, ConfigKey, SectionKeys, Value, show_choice, show_text};
use super::page_choices::{PageCode, PageErrors, PageSessions, SESSIONS};
use super::quantity::{spoken_duration, spoken_size};
use super::section::Section;
use super::value::{boolean, path};
use super::{AppPresence, Problems};
use crate::limits;

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
    /// What a client sees when a page fails. There is no key for it; the command line sets it.
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

pub(super) static PAGES: SectionKeys = SectionKeys {
    name: "[pages]",
    own: &[
        ConfigKey {
            name: "enabled",
            value: Value::Boolean(|config| &mut config.pages.enabled),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Whether pages and modules run. With `false` there are none; `*.page.*` remain hidden.",
        },
        ConfigKey {
            name: "app",
            value: Value::Own {
                takes: "path of a directory",
                read: |config, item, reading| {
                    config.app.path = path(item, reading.base)?;
                    config.app.presence = AppPresence::Required;
                    Ok(())
                },
                show: |config| Some(show_text(config.app.path.display())),
            },
            absent: Absent::Words("`app` beside the file"),
            change: ChangeEffect::Reload,
            text: "The directory of [app modules](modules.md). Files in it are not served. A directory named here must exist, and so must the default one if a route has a `module`. Otherwise the default directory is used for modules if it contains a `main.lua`, and is an ordinary directory if not.",
        },
        ConfigKey {
            name: "native",
            value: Value::Own {
                takes: "true or false",
                read: |config, item, _| {
                    config.pages.code =
                        if boolean(item)? { PageCode::Native } else { PageCode::Bytecode };
                    Ok(())
                },
                show: |config| Some((config.pages.code == PageCode::Native).to_string()),
            },
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Compiles hot code of pages to native code. With `false` all code is interpreted, which is several times slower.",
        },
        ConfigKey {
            name: "slice",
            value: Value::Duration(
                |config| &mut config.pages.slice,
                limits::PAGE_SLICE_MIN..=limits::PAGE_SLICE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "How long a page may run before other requests of its scheduler get their turn; it continues after them.",
        },
        ConfigKey {
            name: "cpu_budget",
            value: Value::Duration(
                |config| &mut config.pages.cpu_budget,
                limits::PAGE_CPU_BUDGET_MIN..=limits::PAGE_CPU_BUDGET_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "CPU time of one run of a page; above, it is ended with 503. A page that [streams](pages.md#streams) gets it once per `deadline`. The processes that it [spawned](pages.md#processes-and-messages) share the same amount again, refilled over ten times that time. Not less than `slice`.",
        },
        ConfigKey {
            name: "deadline",
            value: Value::Deadline(|config| &mut config.pages.deadline),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Duration of a page, waits included; above, it is ended with 503. For a page that [streams](pages.md#streams), it counts from the last part that its client has read.",
        },
        ConfigKey {
            name: "memory",
            value: Value::Size(
                |config| &mut config.pages.memory,
                limits::PAGE_MEMORY_MIN..=limits::PAGE_MEMORY_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Memory of all requests of one scheduler, including page code. When it is short, the request that holds most is ended with 503; the others continue. [How that works](pages.md#memory). Another size that is set in a running server leaves `memory_per_request` as it is.",
        },
        ConfigKey {
            name: "memory_per_request",
            value: Value::Size(
                |config| &mut config.pages.memory_per_request,
                limits::PAGE_RUN_MEMORY_MIN..=limits::PAGE_MEMORY_MAX,
            ),
            absent: Absent::Words("half of `memory`"),
            change: ChangeEffect::Live,
            text: "Memory of one request. A request that holds more is ended with 503; the others continue.",
        },
        ConfigKey {
            name: "process_memory",
            value: Value::Size(
                |config| &mut config.pages.process_memory,
                limits::PAGE_MEMORY_MIN..=limits::PAGE_MEMORY_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Memory of all spawned [processes](pages.md#processes-and-messages) of one scheduler; a waiting process takes about 2.5 KB. Above five eighths of it `spawn` returns `nil, \"full\"`. If existing processes need more than there is, those of the request that holds most are ended. The garbage collector stops a scheduler for about a microsecond per process, once per cycle: ten times the memory means pauses of up to 100 ms.",
        },
        ConfigKey {
            name: "table_size",
            value: Value::Size(
                |config| &mut config.pages.table_size,
                limits::PAGE_TABLE_SIZE_MIN..=limits::PAGE_MEMORY_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "The largest memory block of one Lua table: 3 MiB are 131,072 named fields or 262,145 elements. A page whose table grows further fails with 500. A table that grows is copied as a whole, and nothing can interrupt that: it takes about 5 ms at the default size.",
        },
        ConfigKey {
            name: "fetch",
            value: Value::Own {
                takes: "`\"all\"`, `\"none\"`, or a list of names and networks",
                read: |config, item, reading| {
                    config.pages.fetch = fetch::read(item, reading.problems)?;
                    Ok(())
                },
                show: |config| Some(fetch::show(&config.pages.fetch)),
            },
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "The targets that pages may `fetch` from. `\"api.example.org\"` and `\"*.example.org\"` allow URLs with such a host; `\"10.0.0.0/8\"` and `\"::1\"` allow every host at such an address, whatever its name. Before either, `https://` allows it over TLS only, as in `\"https://api.example.org\"`. Link-local addresses (169.254.0.0/16 and fe80::/10, also embedded in an IPv6 address) are allowed only if a listed network contains them, because cloud providers serve machine credentials there. The address is checked after the name is resolved. A page that fetches URLs from its users can reach everything else that this host can reach: list the names that it needs.",
        },
        ConfigKey {
            name: "fetch_ca",
            value: Value::Own {
                takes: "path",
                read: |config, item, reading| {
                    config.pages.fetch_ca = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| config.pages.fetch_ca.as_ref().map(|path| show_text(path.display())),
            },
            absent: Absent::Words("the authorities of the system"),
            change: ChangeEffect::Reload,
            text: "A PEM file with the certificates of the authorities that `fetch` trusts for `https:`, in place of those of the system (`/etc/ssl/certs`, or what the environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name), which are read once, at the start.",
        },
        ConfigKey {
            name: "fetch_certificate",
            value: Value::Own {
                takes: "path",
                read: |config, item, reading| {
                    config.pages.fetch_certificate = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| {
                    config.pages.fetch_certificate.as_ref().map(|path| show_text(path.display()))
                },
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "A PEM file with the certificate that `fetch` shows to servers that ask for one, followed by the certificates of its issuers. It needs `fetch_key`. Every server that pages can `fetch` from may ask for it.",
        },
        ConfigKey {
            name: "fetch_key",
            value: Value::Own {
                takes: "path",
                read: |config, item, reading| {
                    config.pages.fetch_key = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| {
                    config.pages.fetch_key.as_ref().map(|path| show_text(path.display()))
                },
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "A PEM file with the private key of `fetch_certificate`, outside the served directories. It may be the same file.",
        },
        ConfigKey {
            name: "secret_file",
            value: Value::Own {
                takes: "path",
                read: |config, item, reading| {
                    config.pages.secret_file = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| {
                    config.pages.secret_file.as_ref().map(|path| show_text(path.display()))
                },
            },
            absent: Absent::Words("a secret drawn at the start"),
            change: ChangeEffect::Restart,
            text: "The secrets that [sign cookies of pages](pages.md#signed-cookies): a text file outside the served directories, each line a secret of at least 32 bytes. The first one signs, all of them verify. A reload reads it again. If it is invalid, the start or the reload is refused. Without it, a restart invalidates signed cookies.",
        },
        ConfigKey {
            name: "sessions",
            value: Value::Own {
                takes: "`\"cookie\"` or `\"store\"`",
                read: |config, item, _| {
                    config.pages.sessions = choice(item, &SESSIONS)?;
                    Ok(())
                },
                show: |config| show_choice(&SESSIONS, &config.pages.sessions),
            },
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Where [sessions](pages.md#sessions) are kept: in a signed cookie, which the client can read, or in the [store](store.md), where the server can revoke them.",
        },
        ConfigKey {
            name: "session_age",
            value: Value::Duration(
                |config| &mut config.pages.session_age,
                limits::PAGE_SESSION_AGE_MIN..=limits::DEADLINE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "How long a session is valid after it was last sent, and a signed cookie without a `max_age`.",
        },
        ConfigKey {
            name: "secure_cookies",
            value: Value::Boolean(|config| &mut config.pages.secure_cookies),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Adds `Secure` to the cookies of pages, including sessions, unless a page says otherwise, so that browsers send them only over TLS. For servers behind a TLS proxy.",
        },
        ConfigKey {
            name: "compress",
            value: Value::Boolean(|config| &mut config.pages.compress),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Compresses [the output of pages and modules](pages.md#compressed-answers) for clients that accept it. With compression, the length of a page that contains a secret and input from a client can reveal the secret (the BREACH attack). Such a page must set `Cache-Control: no-transform`.",
        },
        ConfigKey {
            name: "uploads",
            value: Value::Own {
                takes: "path of a directory",
                read: |config, item, reading| {
                    config.pages.uploads = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| config.pages.uploads.as_ref().map(|path| show_text(path.display())),
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Restart,
            text: "The directory for files of forms, which pages can [save](pages.md#uploads). Only the server's user needs to be able to write there. `{uid}` in its name is replaced as in [`path`](#store) of the store, and such a directory is created if missing. Saved files must not replace anything that the server uses: a directory is refused if it is served as a whole, contains (at any depth) pages, the app modules, the store or a file that the configuration names (this file, secrets and keys, the access log, sockets) or the default control socket, or is in `app` or the store. A subdirectory of a served one without pages is allowed; everybody can request what is saved there. Under systemd with `ProtectSystem=strict` use a `StateDirectory=`. Without an upload directory a form with a file is answered 415. Files left over by a server that was killed are removed at the next start. If the directory is deleted and created again, the new one is used; with Landlock (see `ctl status`) that needs a restart.",
        },
        ConfigKey {
            name: "upload_size",
            value: Value::Size(
                |config| &mut config.pages.upload_size,
                limits::UPLOAD_SIZE_MIN..=limits::UPLOAD_SIZE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "The size of a form with files, unless its route has a smaller `body_size`; above: 413. Its fields and names are kept in memory, up to `body_size`.",
        },
        ConfigKey {
            name: "uploads_size",
            value: Value::Size(
                |config| &mut config.pages.uploads_size,
                limits::UPLOAD_SIZE_MIN..=limits::UPLOAD_SIZE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "The size of all uploaded files that no page has saved yet. A form that exceeds it is answered 503 with `Retry-After`, and the log says so. Not less than `upload_size`. Saved files do not count: limiting them is up to you.",
        },
    ],
    shared: &[],
    shared_in: "",
};

/// Checks keys against each other, and derives values that are not written.
pub(super) fn check(section: &Section<'_>, pages: &mut Pages, problems: &mut Problems) {
    for (key, size) in [
        ("memory_per_request", &mut pages.memory_per_request),
        ("table_size", &mut pages.table_size),
    ] {
        if *size > pages.memory
            && let Some(item) = section.item(key)
        {
            let (part, all) = (spoken_size(*size), spoken_size(pages.memory));
            problems.at(item.offset, format!("`{key}` ({part}) is more than `memory` ({all})"));
        }
    }
    if section.item("memory_per_request").is_none() {
        pages.memory_per_request = pages.memory / limits::PAGE_MEMORY_SHARE;
    }
    for (key, other) in [("fetch_certificate", "fetch_key"), ("fetch_key", "fetch_certificate")] {
        if let (Some(item), None) = (section.item(key), section.item(other)) {
            problems.at(item.offset, format!("`{key}` needs `{other}`"));
        }
    }
    let item = section.item("uploads_size").or_else(|| section.item("upload_size"));
    if let Some(item) = item.filter(|_| pages.uploads_size < pages.upload_size) {
        let (all, one) = (spoken_size(pages.uploads_size), spoken_size(pages.upload_size));
        let told = format!(
            "`uploads_size` ({all}) is less than `upload_size` ({one}): no such form would fit"
        );
        problems.at(item.offset, told);
    }
    // The default budget is larger than any slice: only a written one can be too short to take effect.
    if let Some(item) = section.item("cpu_budget").filter(|_| pages.cpu_budget < pages.slice) {
        let (budget, slice) = (spoken_duration(pages.cpu_budget), spoken_duration(pages.slice));
        let told = format!("`cpu_budget` ({budget}) is less than `slice` ({slice})");
        problems.at(item.offset, told);
    }
}

const _: () = assert!(limits::PAGE_CPU_BUDGET.as_nanos() >= limits::PAGE_SLICE_MAX.as_nanos());
const _: () =
    assert!(limits::PAGE_MEMORY_MIN / limits::PAGE_MEMORY_SHARE >= limits::PAGE_RUN_MEMORY_MIN);

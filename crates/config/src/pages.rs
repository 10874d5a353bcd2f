//! `[pages]`: whether pages run, how, and what each may use.
//!
//! Owns the keys of that section. Defaults and allowed ranges are in [`crate::limits`].

use crate::key::{SectionKeys, section, show_text};
use crate::model::config::AppPresence;
use crate::model::page_choices::{PageCode, SESSIONS};
use crate::model::pages::Pages;
use crate::problem::Problems;
use crate::quantity::{spoken_duration, spoken_size};
use crate::section::Section;
use crate::value::{boolean, path};
use crate::{fetch, limits};

pub(super) static PAGES: SectionKeys = section! {
    "[pages]";
    "enabled": boolean(pages.enabled), default, Restart,
        "Whether pages and modules run. With `false` there are none; `*.page.*` remain hidden.";
    "app": own(
        "path of a directory",
        |config, item, reading| {
            config.app.path = path(item, reading.base)?;
            config.app.presence = AppPresence::Required;
            Ok(())
        },
        |config| Some(show_text(config.app.path.display())),
    ), "`app` beside the file", Reload,
        "The directory of [app modules](modules.md). Files in it are not served. A directory named here must exist, and so must the default one if a route has a `module`. Otherwise the default directory is used for modules if it contains a `main.lua`, and is an ordinary directory if not.";
    "native": set(
        pages.code, "true or false",
        |item, _| if boolean(item)? { PageCode::Native } else { PageCode::Bytecode },
        |value| Some((*value == PageCode::Native).to_string()),
    ), default, Restart,
        "Compiles hot code of pages to native code. With `false` all code is interpreted, which is several times slower.";
    "slice": duration(pages.slice, limits::PAGE_SLICE_MIN..=limits::PAGE_SLICE_MAX), default, Restart,
        "How long a page may run before other requests of its scheduler get their turn; it continues after them.";
    "cpu_budget": duration(pages.cpu_budget, limits::PAGE_CPU_BUDGET_MIN..=limits::PAGE_CPU_BUDGET_MAX),
        default, Live,
        "CPU time of one run of a page; above, it is ended with 503. A page that [streams](pages.md#streams) gets it once per `deadline`. The processes that it [spawned](pages.md#processes-and-messages) share the same amount again, refilled over ten times that time. Not less than `slice`.";
    "deadline": deadline(pages.deadline), default, Live,
        "Duration of a page, waits included; above, it is ended with 503. For a page that [streams](pages.md#streams), it counts from the last part that its client has read.";
    "memory": size(pages.memory, limits::PAGE_MEMORY_MIN..=limits::PAGE_MEMORY_MAX), default, Restart,
        "Memory of all requests of one scheduler, including page code. When it is short, the request that holds most is ended with 503; the others continue. [How that works](pages.md#memory).";
    "memory_per_request": size(pages.memory_per_request, limits::PAGE_RUN_MEMORY_MIN..=limits::PAGE_MEMORY_MAX),
        "half of `memory`", Live,
        "Memory of one request. A request that holds more is ended with 503; the others continue.";
    "process_memory": size(pages.process_memory, limits::PAGE_MEMORY_MIN..=limits::PAGE_MEMORY_MAX), default, Restart,
        "Memory of all spawned [processes](pages.md#processes-and-messages) of one scheduler; a waiting process takes about 2.5 KB. Above five eighths of it `spawn` returns `nil, \"full\"`. If existing processes need more than there is, those of the request that holds most are ended. The garbage collector stops a scheduler for about a microsecond per process, once per cycle: ten times the memory means pauses of up to 100 ms.";
    "table_size": size(pages.table_size, limits::PAGE_TABLE_SIZE_MIN..=limits::PAGE_MEMORY_MAX), default, Restart,
        "The largest memory block of one Lua table: 3 MiB are 131,072 named fields or 262,145 elements. A page whose table grows further fails with 500. A table that grows is copied as a whole, and nothing can interrupt that: it takes about 5 ms at the default size.";
    "fetch": set(
        pages.fetch, "`\"all\"`, `\"none\"`, or a list of names and networks",
        |item, reading| fetch::read(item, reading.problems)?,
        |value| Some(fetch::show(value)),
    ), default, Restart,
        "The targets that pages may `fetch` from. `\"api.example.org\"` and `\"*.example.org\"` allow URLs with such a host; `\"10.0.0.0/8\"` and `\"::1\"` allow every host at such an address, whatever its name. Before either, `https://` allows it over TLS only, as in `\"https://api.example.org\"`. Link-local addresses (169.254.0.0/16 and fe80::/10, also embedded in an IPv6 address) are allowed only if a listed network contains them, because cloud providers serve machine credentials there. The address is checked after the name is resolved. A page that fetches URLs from its users can reach everything else that this host can reach: list the names that it needs.";
    "fetch_ca": path(pages.fetch_ca, "path"), "the authorities of the system", Reload,
        "A PEM file with the certificates of the authorities that `fetch` trusts for `https:`, in place of those of the system (`/etc/ssl/certs`, or what the environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name), which are read once, at the start.";
    "fetch_certificate": path(pages.fetch_certificate, "path"), "none", Reload,
        "A PEM file with the certificate that `fetch` shows to servers that ask for one, followed by the certificates of its issuers. It needs `fetch_key`. Every server that pages can `fetch` from may ask for it.";
    "fetch_key": path(pages.fetch_key, "path"), "none", Reload,
        "A PEM file with the private key of `fetch_certificate`, outside the served directories. It may be the same file.";
    "secret_file": path(pages.secret_file, "path"), "a secret drawn at the start", Restart,
        "The secrets that [sign cookies of pages](pages.md#signed-cookies): a text file outside the served directories, each line a secret of at least 32 bytes. The first one signs, all of them verify. A reload reads it again. If it is invalid, the start or the reload is refused. Without it, a restart invalidates signed cookies.";
    "sessions": choice(pages.sessions, SESSIONS, "`\"cookie\"` or `\"store\"`"), default, Restart,
        "Where [sessions](pages.md#sessions) are kept: in a signed cookie, which the client can read, or in the [store](store.md), where the server can revoke them.";
    "session_age": duration(pages.session_age, limits::PAGE_SESSION_AGE_MIN..=limits::DEADLINE_MAX), default, Restart,
        "How long a session is valid after it was last sent, and a signed cookie without a `max_age`.";
    "secure_cookies": boolean(pages.secure_cookies), default, Restart,
        "Adds `Secure` to the cookies of pages, including sessions, unless a page says otherwise, so that browsers send them only over TLS. For servers behind a TLS proxy.";
    "compress": boolean(pages.compress), default, Live,
        "Compresses [the output of pages and modules](pages.md#compressed-answers) for clients that accept it. With compression, the length of a page that contains a secret and input from a client can reveal the secret (the BREACH attack). Such a page must set `Cache-Control: no-transform`.";
    "uploads": path(pages.uploads, "path of a directory"), "none", Restart,
        "The directory for files of forms, which pages can [save](pages.md#uploads). Only the server's user needs to be able to write there. `{uid}` in its name is replaced as in [`path`](#store) of the store, and such a directory is created if missing. Saved files must not replace anything that the server uses: a directory is refused if it is served as a whole, contains (at any depth) pages, the app modules, the store or a file that the configuration names (this file, secrets and keys, the access log, sockets) or the default control socket, or is in `app` or the store. A subdirectory of a served one without pages is allowed; everybody can request what is saved there. Under systemd with `ProtectSystem=strict` use a `StateDirectory=`. Without an upload directory a form with a file is answered 415. Files left over by a server that was killed are removed at the next start. If the directory is deleted and created again, the new one is used; with Landlock (see `ctl status`) that needs a restart.";
    "upload_size": size(pages.upload_size, limits::UPLOAD_SIZE_MIN..=limits::UPLOAD_SIZE_MAX), default, Restart,
        "The size of a form with files, unless its route has a smaller `body_size`; above: 413. Its fields and names are kept in memory, up to `body_size`.";
    "uploads_size": size(pages.uploads_size, limits::UPLOAD_SIZE_MIN..=limits::UPLOAD_SIZE_MAX), default, Restart,
        "The size of all uploaded files that no page has saved yet. A form that exceeds it is answered 503 with `Retry-After`, and the log says so. Not less than `upload_size`. Saved files do not count: limiting them is up to you.";
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

//! `INFO` and `CONFIG GET`, which clients and exporters read from Redis servers.
//!
//! Owns the list of fields: each is true here, or says that the feature does not exist.

use std::fmt::{Display, Write};

use channels::{Matcher, check_pattern};
use runtime::service::Context;
use store::{Outcome, Query};
use sys::accounting::{process_usage, resident_bytes};
use wire::resp::{Command, write_array, write_bulk, write_map};

use super::{After, Database, Session, say, say_error, write_failure};
use crate::limits::RESP_CONFIG_PATTERNS;
use crate::message::Message;
use crate::site::{Need, Site};

/// `INFO [section …]`.
pub(super) fn info(
    session: &mut Session,
    command: &Command<'_>,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if !session.keys.has_answered() {
        // The client counts on its earlier writes.
        return After::Wait;
    }
    let wanted: Vec<Vec<u8>> = command.arguments_from(1).map(<[u8]>::to_ascii_lowercase).collect();
    let has = |name: &str| {
        let is_all = |wanted: &[u8]| matches!(wanted, b"all" | b"everything" | b"default");
        wanted.is_empty()
            || wanted.iter().any(|wanted| is_all(wanted) || *wanted == name.as_bytes())
    };
    let told = Told { site, now_ns: context.now.monotonic_ns };
    let mut text = String::new();
    for (name, write) in SECTIONS {
        if has(name) {
            write(&told, &mut text);
        }
    }
    if has("keyspace") {
        match keyspace(session, site, context.now.unix_ms()) {
            Ok(lines) => text.push_str(&lines),
            Err(failure) => return say(session, context, |out| write_failure(out, &failure)),
        }
    }
    say(session, context, |out| write_bulk(out, text.as_bytes()))
}

/// The data that sections are made from.
struct Told<'t> {
    site: &'t Site,
    now_ns: u64,
}

/// A section: its name in lower case, and the function that writes it.
type Section = (&'static str, fn(&Told<'_>, &mut String));

/// The name of a field, and its value.
type Field<'f> = (&'static str, &'f dyn Display);

/// All sections except the keyspace, which reads the store.
const SECTIONS: [Section; 7] = [
    ("server", server),
    ("clients", clients),
    ("memory", memory),
    ("persistence", persistence),
    ("stats", stats),
    ("replication", replication),
    ("cpu", cpu),
];

fn server(told: &Told<'_>, text: &mut String) {
    let uptime_s = told.site.resp.uptime_s(told.now_ns);
    // Clients derive the supported features from this version.
    write_section(
        text,
        "Server",
        &[
            ("redis_version", &"7.0.0"),
            ("velodrome_version", &env!("CARGO_PKG_VERSION")),
            ("redis_mode", &"standalone"),
            ("os", &"Linux"),
            ("arch_bits", &usize::BITS),
            ("process_id", &std::process::id()),
            ("uptime_in_seconds", &uptime_s),
            ("uptime_in_days", &(uptime_s / 86_400)),
        ],
    );
}

fn clients(told: &Told<'_>, text: &mut String) {
    let clients = told.site.resp.sum().clients;
    write_section(text, "Clients", &[("connected_clients", &clients), ("blocked_clients", &0)]);
}

/// Memory of the whole process, including pages and HTTP. The kernel counts the part of the store's map that is in RAM as well.
fn memory(_: &Told<'_>, text: &mut String) {
    let limits: [Field<'_>; 2] = [("maxmemory", &0), ("maxmemory_policy", &"noeviction")];
    // Reading /proc takes a descriptor, and there may be none left.
    let Ok(resident) = resident_bytes() else { return write_section(text, "Memory", &limits) };
    // The kernel updates the maximum with a delay.
    let peak = process_usage().peak_bytes.max(resident);
    let used: [Field<'_>; 3] =
        [("used_memory", &resident), ("used_memory_rss", &resident), ("used_memory_peak", &peak)];
    write_section(text, "Memory", &[&used[..], &limits].concat());
}

fn persistence(told: &Told<'_>, text: &mut String) {
    let store = told.site.store.as_ref();
    let usage = store.map(|store| store.store().usage()).unwrap_or_default();
    write_section(
        text,
        "Persistence",
        &[
            ("loading", &0),
            ("rdb_bgsave_in_progress", &0),
            ("aof_rewrite_in_progress", &0),
            ("store_file_bytes", &usage.file_bytes),
            ("store_size_bytes", &usage.size),
            ("store_commits", &usage.commit),
        ],
    );
}

fn stats(told: &Told<'_>, text: &mut String) {
    let counted = told.site.resp.sum();
    write_section(
        text,
        "Stats",
        &[
            ("total_connections_received", &counted.connections),
            ("total_commands_processed", &counted.commands),
            ("evicted_keys", &0),
            ("keyspace_hits", &counted.hits),
            ("keyspace_misses", &counted.misses),
        ],
    );
}

fn replication(_: &Told<'_>, text: &mut String) {
    write_section(text, "Replication", &[("role", &"master"), ("connected_slaves", &0)]);
}

fn cpu(_: &Told<'_>, text: &mut String) {
    let used = process_usage();
    write_section(
        text,
        "CPU",
        &[
            ("used_cpu_sys", &format_args!("{:.6}", used.system.as_secs_f64())),
            ("used_cpu_user", &format_args!("{:.6}", used.user.as_secs_f64())),
        ],
    );
}

fn write_section(text: &mut String, title: &str, fields: &[Field<'_>]) {
    let _endless = write!(text, "# {title}\r\n");
    for (name, value) in fields {
        let _endless = write!(text, "{name}:{value}\r\n");
    }
    text.push_str("\r\n");
}

/// The databases that the client may read.
fn keyspace(session: &Session, site: &Site, now_ms: u64) -> Result<String, store::Failure> {
    let mut text = "# Keyspace\r\n".to_owned();
    let Some(store) = &site.store else { return Ok(text) };
    for (number, name) in store.store().databases().iter().enumerate() {
        let database = Database(number as u8);
        if site.check_access(Need::Read, database, session.lease.rights()).is_err() {
            continue;
        }
        let snapshot = store.snapshot()?;
        let count = |query: &Query| match snapshot.answer(database, query, now_ms)? {
            Outcome::Number(count) => Ok::<i64, store::Failure>(count),
            _ => Ok(0),
        };
        let (keys, ending) = (count(&Query::Count)?, count(&Query::Ending)?);
        if keys > 0 {
            let _endless = write!(text, "db{name}:keys={keys},expires={ending},avg_ttl=0\r\n");
        }
    }
    Ok(text)
}

/// The parameters that clients ask for.
const KNOWN: [(&str, &str); 5] = [
    ("appendonly", "yes"),
    ("databases", "16"),
    ("maxmemory", "0"),
    ("maxmemory-policy", "noeviction"),
    ("save", ""),
];

/// `CONFIG GET pattern …`.
pub(super) fn config(
    session: &mut Session,
    command: &Command<'_>,
    context: &mut Context<'_, Message>,
) -> After {
    if !command.argument(1).eq_ignore_ascii_case(b"get") || command.len() < 3 {
        let text = "ERR CONFIG has GET alone here; the server is configured by velodrome.toml";
        return say_error(session, context, text);
    }
    if command.len() - 2 > RESP_CONFIG_PATTERNS {
        let text = format!("ERR CONFIG GET takes at most {RESP_CONFIG_PATTERNS} patterns");
        return say_error(session, context, &text);
    }
    let mut patterns = Vec::new();
    for pattern in command.arguments_from(2) {
        match check_pattern(pattern) {
            Ok(pattern) => patterns.push(Matcher::new(&pattern.to_ascii_lowercase())),
            Err(problem) => return say_error(session, context, &format!("ERR {problem}")),
        }
    }
    let fits = |name: &str| patterns.iter().any(|one| one.accepts(name.as_bytes(), &mut 0));
    let found: Vec<_> = KNOWN.iter().filter(|(name, _)| fits(name)).collect();
    let version = session.version;
    say(session, context, |out| {
        if found.is_empty() {
            return write_array(out, 0);
        }
        write_map(out, found.len(), version);
        for (name, value) in found {
            write_bulk(out, name.as_bytes());
            write_bulk(out, value.as_bytes());
        }
    })
}

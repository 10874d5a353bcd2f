//! `INFO` and `CONFIG GET`, which clients and exporters read from Redis servers.
//!
//! Owns the list of fields: each is true here, or says that the feature does not exist.

use std::fmt::{Display, Write};

use channels::{Matcher, check_pattern};
use local::Need;
use store::{Database, Failure, Outcome, Query};
use sys::accounting::{process_usage, resident_bytes};
use wire::resp::{write_array, write_bulk, write_error, write_map};

use super::reply::write_failure;
use super::{After, Call, Environment, Session};
use crate::limits::CONFIG_PATTERNS;

/// `INFO [section …]`.
pub(super) fn info(call: &mut Call<'_, '_>) -> After {
    let wanted: Vec<Vec<u8>> =
        call.command.arguments_from(1).map(<[u8]>::to_ascii_lowercase).collect();
    let has = |name: &str| {
        let is_all = |wanted: &[u8]| matches!(wanted, b"all" | b"everything" | b"default");
        wanted.is_empty()
            || wanted.iter().any(|wanted| is_all(wanted) || *wanted == name.as_bytes())
    };
    let told = Told { env: call.env, now_ns: call.now.monotonic_ns };
    let mut text = String::new();
    for (name, write) in SECTIONS {
        if has(name) {
            write(&told, &mut text);
        }
    }
    if has("keyspace") {
        match keyspace(call.session, call.env, call.now.unix_ms()) {
            Ok(lines) => text.push_str(&lines),
            Err(failure) => {
                write_failure(call.out(), &failure);
                return After::More;
            }
        }
    }
    write_bulk(call.out(), text.as_bytes());
    After::More
}

/// The data that sections are made from.
struct Told<'t, 'e> {
    env: &'t Environment<'e>,
    now_ns: u64,
}

/// A section: its name in lower case, and the function that writes it.
type Section = (&'static str, fn(&Told<'_, '_>, &mut String));

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

fn server(told: &Told<'_, '_>, text: &mut String) {
    let uptime_s = told.env.clients.counts.uptime_s(told.now_ns);
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

fn clients(told: &Told<'_, '_>, text: &mut String) {
    let clients = told.env.clients.counts.sum().clients;
    write_section(text, "Clients", &[("connected_clients", &clients), ("blocked_clients", &0)]);
}

/// Memory of the whole process, including pages and HTTP. The kernel counts the part of the store's map that is in RAM as well.
fn memory(_: &Told<'_, '_>, text: &mut String) {
    let limits: [Field<'_>; 2] = [("maxmemory", &0), ("maxmemory_policy", &"noeviction")];
    // Reading /proc takes a descriptor, and there may be none left.
    let Ok(resident) = resident_bytes() else { return write_section(text, "Memory", &limits) };
    // The kernel updates the maximum with a delay.
    let peak = process_usage().peak_bytes.max(resident);
    let used: [Field<'_>; 3] =
        [("used_memory", &resident), ("used_memory_rss", &resident), ("used_memory_peak", &peak)];
    write_section(text, "Memory", &[&used[..], &limits].concat());
}

fn persistence(told: &Told<'_, '_>, text: &mut String) {
    let store = told.env.store.as_ref();
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

fn stats(told: &Told<'_, '_>, text: &mut String) {
    let counted = told.env.clients.counts.sum();
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

fn replication(_: &Told<'_, '_>, text: &mut String) {
    write_section(text, "Replication", &[("role", &"master"), ("connected_slaves", &0)]);
}

fn cpu(_: &Told<'_, '_>, text: &mut String) {
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
fn keyspace(session: &Session, env: &Environment<'_>, now_ms: u64) -> Result<String, Failure> {
    let mut text = "# Keyspace\r\n".to_owned();
    let Some(store) = &env.store else { return Ok(text) };
    for (number, name) in store.store().databases().iter().enumerate() {
        let database = Database(number as u8);
        if store.check_access(Need::Read, database, &session.rights).is_err() {
            continue;
        }
        let snapshot = store.snapshot()?;
        let count = |query: &Query| match snapshot.answer(database, query, now_ms)? {
            Outcome::Number(count) => Ok::<i64, Failure>(count),
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
pub(super) fn config(call: &mut Call<'_, '_>) -> After {
    match known_parameters(call) {
        Err(text) => write_error(call.out(), &text),
        Ok(found) if found.is_empty() => write_array(call.out(), 0),
        Ok(found) => {
            write_map(call.output.buffer(), found.len(), call.session.version);
            for (name, value) in found {
                write_bulk(call.out(), name.as_bytes());
                write_bulk(call.out(), value.as_bytes());
            }
        }
    }
    After::More
}

fn known_parameters(call: &Call<'_, '_>) -> Result<Vec<(&'static str, &'static str)>, String> {
    if !call.word(1).eq_ignore_ascii_case(b"get") || call.command.len() < 3 {
        let text = "ERR CONFIG has GET alone here; the server is configured by velodrome.toml";
        return Err(text.to_owned());
    }
    if call.command.len() - 2 > CONFIG_PATTERNS {
        return Err(format!("ERR CONFIG GET takes at most {CONFIG_PATTERNS} patterns"));
    }
    let mut patterns = Vec::new();
    for pattern in call.command.arguments_from(2) {
        let pattern = check_pattern(pattern).map_err(|problem| format!("ERR {problem}"))?;
        patterns.push(Matcher::new(&pattern.to_ascii_lowercase()));
    }
    let fits = |name: &str| patterns.iter().any(|one| one.accepts(name.as_bytes(), &mut 0));
    Ok(KNOWN.into_iter().filter(|(name, _)| fits(name)).collect())
}

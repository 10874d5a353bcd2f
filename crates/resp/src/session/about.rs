//! `INFO` and `CONFIG GET`, which clients and exporters read from Redis servers.
//!
//! Owns the list of fields: each is true here, or says that the feature does not exist.

use std::fmt::Write;
use std::time::Duration;

use channels::{ChannelMatcher, check_pattern};
use local::AccessNeed;
use store::{Database, Query, StepOutcome, StoreFailure};
use sys::accounting::{process_usage, resident_bytes};
use wire::resp::{write_array, write_bulk, write_error, write_map};

use super::reply::write_failure;
use super::{After, Call, Environment, Session};
use crate::limits::CONFIG_PATTERNS;

/// The sections of `INFO` before that of the keys.
const SECTIONS: [&str; 7] =
    ["Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "CPU"];

/// `INFO [section …]`.
pub(super) fn info(call: &mut Call<'_, '_>) -> After {
    let has = |name: &str| {
        let is = |wanted: &[u8], name: &str| wanted.eq_ignore_ascii_case(name.as_bytes());
        let is_wanted = |wanted: &[u8]| {
            [name, "all", "everything", "default"].iter().any(|name| is(wanted, name))
        };
        call.command.len() == 1 || call.command.arguments_from(1).any(is_wanted)
    };
    let mut text = String::new();
    for title in SECTIONS.into_iter().filter(|title| has(title)) {
        let _endless = write!(text, "# {title}\r\n");
        for (name, value) in fields(title, call.env, call.now.monotonic_ns) {
            let _endless = write!(text, "{name}:{value}\r\n");
        }
        text.push_str("\r\n");
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

/// The fields of a section, each with its value.
fn fields(section: &str, env: &Environment<'_>, now_ns: u64) -> Vec<(&'static str, String)> {
    let counts = &env.clients.counts;
    let number = |value: u64| value.to_string();
    let text = str::to_owned;
    match section {
        "Server" => vec![
            // Clients derive the supported features from this version.
            ("redis_version", text("7.0.0")),
            ("velodrome_version", text(env!("CARGO_PKG_VERSION"))),
            ("redis_mode", text("standalone")),
            ("os", text("Linux")),
            ("arch_bits", usize::BITS.to_string()),
            ("process_id", std::process::id().to_string()),
            ("uptime_in_seconds", number(counts.uptime_s(now_ns))),
            ("uptime_in_days", number(counts.uptime_s(now_ns) / 86_400)),
        ],
        "Clients" => {
            vec![
                ("connected_clients", number(counts.sum().clients)),
                ("blocked_clients", text("0")),
            ]
        }
        "Memory" => memory(),
        "Persistence" => {
            let store = env.store.as_ref();
            let usage = store.map(|store| store.store().usage()).unwrap_or_default();
            vec![
                ("loading", text("0")),
                ("rdb_bgsave_in_progress", text("0")),
                ("aof_rewrite_in_progress", text("0")),
                ("store_file_bytes", usage.file_bytes.to_string()),
                ("store_size_bytes", usage.size.to_string()),
                ("store_commits", usage.commit.to_string()),
            ]
        }
        "Stats" => {
            let counted = counts.sum();
            vec![
                ("total_connections_received", number(counted.connections)),
                ("total_commands_processed", number(counted.commands)),
                ("evicted_keys", text("0")),
                ("keyspace_hits", number(counted.hits)),
                ("keyspace_misses", number(counted.misses)),
            ]
        }
        "Replication" => vec![("role", text("master")), ("connected_slaves", text("0"))],
        _ => {
            let used = process_usage();
            let seconds = |time: Duration| format!("{:.6}", time.as_secs_f64());
            vec![("used_cpu_sys", seconds(used.system)), ("used_cpu_user", seconds(used.user))]
        }
    }
}

/// Memory of the whole process, including pages and HTTP. The kernel counts the part of the store's map that is in RAM
/// as well.
fn memory() -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    // Reading /proc takes a descriptor, and there may be none left.
    if let Ok(resident) = resident_bytes() {
        // The kernel updates the maximum with a delay.
        let peak = process_usage().peak_bytes.max(resident);
        for (name, bytes) in
            [("used_memory", resident), ("used_memory_rss", resident), ("used_memory_peak", peak)]
        {
            fields.push((name, bytes.to_string()));
        }
    }
    fields.push(("maxmemory", "0".to_owned()));
    fields.push(("maxmemory_policy", "noeviction".to_owned()));
    fields
}

/// The databases that the client may read.
fn keyspace(session: &Session, env: &Environment<'_>, now_ms: u64) -> Result<String, StoreFailure> {
    let mut text = "# Keyspace\r\n".to_owned();
    let Some(store) = &env.store else { return Ok(text) };
    for (number, name) in store.store().databases().iter().enumerate() {
        let database = Database(number as u8);
        if store.check_access(AccessNeed::Read, database, &session.rights).is_err() {
            continue;
        }
        let snapshot = store.snapshot()?;
        let count = |query: &Query| match snapshot.answer(database, query, now_ms)? {
            StepOutcome::Number(count) => Ok::<i64, StoreFailure>(count),
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
        patterns.push(ChannelMatcher::new(&pattern.to_ascii_lowercase()));
    }
    let fits = |name: &str| patterns.iter().any(|one| one.accepts(name.as_bytes(), &mut 0));
    Ok(KNOWN.into_iter().filter(|(name, _)| fits(name)).collect())
}

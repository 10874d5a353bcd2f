//! `INFO` and `CONFIG GET`, which clients and exporters read from Redis servers.
//!
//! Owns the list of fields, and that each is true or says that it does not apply.

use std::fmt::Write;

use runtime::service::Context;
use store::{Outcome, Query};
use wire::resp::{Command, write_array, write_bulk, write_map};

use super::{After, Database, Session, say, say_error, write_failure};
use crate::message::Message;
use crate::site::Site;

/// `INFO [section …]`.
pub(super) fn info(
    session: &mut Session,
    command: &Command<'_>,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    let wanted: Vec<Vec<u8>> = command.arguments_from(1).map(<[u8]>::to_ascii_lowercase).collect();
    let has = |name: &str| {
        let is_all = |wanted: &[u8]| matches!(wanted, b"all" | b"everything" | b"default");
        wanted.is_empty()
            || wanted.iter().any(|wanted| is_all(wanted) || *wanted == name.as_bytes())
    };
    let mut text = String::new();
    if has("server") {
        // Clients conclude from this version what a server can do.
        let _endless = write!(
            text,
            "# Server\r\nredis_version:7.0.0\r\nvelodrome_version:{}\r\nredis_mode:standalone\r\nos:Linux\r\nprocess_id:{}\r\n\r\n",
            env!("CARGO_PKG_VERSION"),
            std::process::id(),
        );
    }
    if has("persistence") || has("memory") {
        let usage = site.store.as_ref().map(|store| store.store().usage()).unwrap_or_default();
        let _endless = write!(
            text,
            "# Persistence\r\nloading:0\r\nstore_file_bytes:{}\r\nstore_size_bytes:{}\r\nstore_commits:{}\r\n\r\n",
            usage.file_bytes, usage.size, usage.commit,
        );
    }
    if has("replication") {
        text.push_str("# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n");
    }
    if has("keyspace") {
        match keyspace(site, context.now.unix_ms()) {
            Ok(lines) => text.push_str(&lines),
            Err(failure) => return say(session, context, |out| write_failure(out, &failure)),
        }
    }
    say(session, context, |out| write_bulk(out, text.as_bytes()))
}

fn keyspace(site: &mut Site, now_ms: u64) -> Result<String, store::Failure> {
    let mut text = "# Keyspace\r\n".to_owned();
    let Some(store) = &mut site.store else { return Ok(text) };
    let names = store.store().databases().to_vec();
    for (number, name) in names.iter().enumerate() {
        let database = Database(number as u8);
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

/// What `CONFIG GET` knows: what client programs ask for.
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
    let fits = |name: &str| {
        command
            .arguments_from(2)
            .any(|pattern| channels::fits_glob(&pattern.to_ascii_lowercase(), name.as_bytes()))
    };
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

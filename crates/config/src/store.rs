//! `[store]` and `[[database]]`: the key/value store, and the access of clients to its databases.
//!
//! Owns the keys of these sections. Never opens a file of the store.

use std::path::Path;

use crate::choice::choice;
use crate::item::Item;
use crate::key::{SectionKeys, section, show_choice, show_text, show_texts};
use crate::limits;
use crate::model::channel_settings::ChannelKeyFiles;
use crate::model::config::Config;
use crate::model::store::{DatabaseAccess, DatabaseRules, StoreDuty, StoreSettings, StoreSync};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be, word};

const SYNC: [(&str, StoreSync); 4] = [
    ("commit", StoreSync::Commit),
    ("log", StoreSync::Log),
    ("interval", StoreSync::Interval),
    ("none", StoreSync::None),
];

const DUTIES: [(&str, StoreDuty); 2] =
    [("leader", StoreDuty::Leader), ("replica", StoreDuty::Replica)];

const ACCESSES: [(&str, DatabaseAccess); 4] = [
    ("open", DatabaseAccess::Open),
    ("token", DatabaseAccess::Token),
    ("key", DatabaseAccess::Key),
    ("none", DatabaseAccess::None),
];

/// Refuses a role that the other settings of the store do not allow.
pub(super) fn check_role(config: &Config, problems: &mut Problems) {
    let store = &config.store;
    let is_late = matches!(store.sync, StoreSync::Interval | StoreSync::None);
    let why = match store.role {
        Some(_) if store.path.is_none() => "`role` in [store] needs a store: add `path`",
        Some(_) if is_late => {
            "`role` in [store] needs `sync = \"commit\"` or `\"log\"`: other servers must not have what a \
             power failure takes from this one"
        }
        Some(_) if !config.cluster.is_configured() => {
            "`role` in [store] needs a [cluster], which carries the records: add it with the `servers` of NATS"
        }
        _ => return,
    };
    problems.add(None, why.to_owned());
}

/// Reads all `[[database]]`, in their order.
pub(super) fn read_databases(
    top: &Section<'_>,
    store: &StoreSettings,
    keys: &ChannelKeyFiles,
    base: &Path,
    problems: &mut Problems,
) -> Vec<DatabaseRules> {
    let known = store.all_databases();
    let mut all: Vec<DatabaseRules> = Vec::new();
    for section in &top.sections("database", &DATABASE, problems) {
        let Some(item) = section.item("name") else {
            problems.at(section.offset(), "[[database]] has no `name`; write \"cards\"");
            continue;
        };
        let before = problems.len();
        let mut config = Config::defaults("", base);
        section.apply(&mut config, base, problems);
        let Some(read) = config.databases.pop() else { continue };
        if problems.len() != before {
            continue;
        }
        if !known.contains(&read.name) {
            let why =
                format!("there is no database \"{}\"; add it to `databases` in [store]", read.name);
            problems.at(item.offset, why);
        } else if all.iter().any(|other| other.name == read.name) {
            problems
                .at(item.offset, format!("the database \"{}\" has a section already", read.name));
        }
        for (key, access) in [("read", read.read), ("write", read.write)] {
            let missing = match access {
                DatabaseAccess::Key if keys.api_keys.is_none() => "api_keys",
                DatabaseAccess::Token if keys.token_keys.is_none() => "token_keys",
                _ => continue,
            };
            let offset = section.item(key).map_or(section.offset(), |item| item.offset);
            let why = format!("`{key}` needs keys; add `{missing} = \"FILE\"` to [channels]");
            problems.at(offset, why);
        }
        all.push(read);
    }
    all
}

/// The name of a database, which is used in paths and commands.
fn database_name(item: &Item<'_>) -> Result<String, String> {
    let name = borrowed_text(item, "text")?;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > limits::STORE_NAME_SIZE || !name.bytes().all(is_part) {
        return Err(cannot_be(item, name, "a name has letters, digits, `-`, `_` and `.`"));
    }
    if name.starts_with('.') {
        return Err(cannot_be(item, name, "names that begin with a dot are the server's own"));
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(cannot_be(item, name, "numbers are names already, from 0 to 15"));
    }
    Ok(name.to_owned())
}

pub(super) static STORE: SectionKeys = section! {
    "[store]";
    "path": path(store.path, "path of a directory"), "there is no store", Restart,
        "The directory of the [store](store.md), outside the served directories. It is created if missing, readable only by the server's user. `{uid}` in its name stands for the number of that user: `/var/tmp/shop-{uid}` is another directory for everybody who tries an application; it is refused if other users can write to it.";
    "databases": own(
        "list of names",
        |config, item, reading| {
            let names = item.list(reading.problems, database_name)?;
            if names.len() > limits::STORE_DATABASES {
                let why =
                    format!("at most {} databases have a name", limits::STORE_DATABASES);
                return Err(why);
            }
            config.store.databases = names;
            Ok(())
        },
        |config| Some(show_texts(&config.store.databases)),
    ), default, Restart,
        "Names of databases, such as `[\"cards\"]`. Databases `0` to `15` always exist.";
    "size": size(store.size, limits::STORE_SIZE_MIN..=limits::STORE_SIZE_MAX), default, Restart,
        "The maximum size of the store's file. This reserves address space but no disk space. A write that does not fit returns an error; reading and deleting continue.";
    "sync": choice(store.sync, SYNC, "`\"commit\"`, `\"log\"`, `\"interval\"` or `\"none\"`"), default, Restart,
        "When a write is on disk: before it is answered (in the file, or in a log), within `sync_interval`, or whenever the kernel writes it. No setting loses anything when the server ends, not even with `kill -9`. [What a power failure loses](store.md#durability).";
    "sync_interval": deadline(store.sync_interval), default, Restart,
        "The time between two checkpoints with `sync = \"log\"` or `\"interval\"`.";
    "role": set(
        store.role, "`\"leader\"` or `\"replica\"`",
        |item, _| Some(choice(item, &DUTIES)?),
        |value| value.and_then(|duty| show_choice(&DUTIES, &duty)),
    ), "the store is alone", Restart,
        "The role of a new store among [the stores of several servers](store.md#replicas): the leader's records are sent to the replicas. Later the store itself knows its role, which `velodrome store promote` changes. Needs [`[cluster]`](#cluster), and `sync = \"commit\"` or `\"log\"`.";
};

pub(super) static DATABASE: SectionKeys = section! {
    "[[database]]";
    "name": set(
        first(databases).name, "text",
        |item, _| word(item)?,
        |value| Some(show_text(value)),
    ), "must be given", Reload,
        "The database of this section: one of `databases` in `[store]`, or `\"0\"` to `\"15\"`. Every RESP client may read and write a database without a section.";
    "read": choice(first(databases).read, ACCESSES, "`\"open\"`, `\"token\"`, `\"key\"` or `\"none\"`"), default, Reload,
        "Which clients may read: all, those with a [token](store.md#access-control) that names the database, those with one of `api_keys` in `[channels]`, or none.";
    "write": choice(first(databases).write, ACCESSES, "`\"open\"`, `\"token\"`, `\"key\"` or `\"none\"`"),
        default, Reload,
        "Which clients may write: all, those with a token that names the database, those with one of `api_keys` in `[channels]`, or none.";
    "http": boolean(first(databases).http), default, Reload,
        "Whether HTTP clients [can access it](store.md#http) at `/store/NAME`, as `read` and `write` allow.";
};

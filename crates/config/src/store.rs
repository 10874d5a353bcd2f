//! `[store]` and `[[database]]`: the key/value store, and the access of clients to its databases.
//!
//! Owns the keys of these sections. Never opens a file of the store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::choice::choice;
use super::item::Item;
use super::key::{
    Absent, ChangeEffect, ConfigKey, SectionKeys, Value, show_choice, show_text, show_texts,
};
use super::section::Section;
use super::value::{borrowed_text, cannot_be, path, word};
use super::{ChannelKeyFiles, Config, Problems};
use crate::limits;

/// `[store]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// Its directory; `None`: there is no store.
    pub path: Option<PathBuf>,
    /// The names of databases, beside the numbers 0 to 15.
    pub databases: Vec<String>,
    /// Maximum size of its file in bytes.
    pub size: u64,
    /// When a write is on the disk.
    pub sync: StoreSync,
    /// The time between two writes to the disk, if writes do not wait for it.
    pub sync_interval: Duration,
    /// Whether it leads other stores or follows one; `None`: it is alone.
    pub role: Option<StoreDuty>,
}

/// What a store is to stores of other servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreDuty {
    /// They follow it.
    Leader,
    /// It follows one of them.
    Replica,
}

/// When a write is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreSync {
    /// Before the write is answered.
    Commit,
    /// Before the write is answered, in a log.
    Log,
    /// Within an interval.
    Interval,
    /// When the kernel decides.
    None,
}

/// One `[[database]]`: the access of clients to a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseRules {
    /// Its name or number.
    pub name: String,
    /// The clients that may read.
    pub read: DatabaseAccess,
    /// The clients that may write.
    pub write: DatabaseAccess,
    /// Whether HTTP clients can reach it.
    pub http: bool,
}

/// The access of clients to a database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DatabaseAccess {
    /// Every client.
    #[default]
    Open,
    /// Clients with a token that names the database.
    Token,
    /// Clients that show a key of the server.
    Key,
    /// No client.
    None,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            path: None,
            databases: Vec::new(),
            size: limits::STORE_SIZE,
            sync: StoreSync::Commit,
            sync_interval: limits::STORE_SYNC_INTERVAL,
            role: None,
        }
    }
}

impl StoreSettings {
    /// The names of all databases in the order of their numbers: 0 to 15 first.
    #[must_use]
    pub fn all_databases(&self) -> Vec<String> {
        let numbers = (0..limits::STORE_NUMBERED).map(|number| number.to_string());
        numbers.chain(self.databases.iter().cloned()).collect()
    }

    /// Refuses a role that the other settings do not allow.
    pub(super) fn check_role(&self, problems: &mut Problems) {
        let is_late = matches!(self.sync, StoreSync::Interval | StoreSync::None);
        let why = match self.role {
            Some(_) if self.path.is_none() => "`role` in [store] needs a store: add `path`",
            Some(_) if is_late => {
                "`role` in [store] needs `sync = \"commit\"` or `\"log\"`: other servers must not have what a \
                 power failure takes from this one"
            }
            _ => return,
        };
        problems.add(None, why.to_owned());
    }
}

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

/// The rules being read or shown: the rows refer to a configuration, of which only these are used.
fn rules(config: &mut Config) -> &mut DatabaseRules {
    if config.databases.is_empty() {
        config.databases.push(DatabaseRules::default());
    }
    &mut config.databases[0]
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
            problems.at(section.offset, "[[database]] has no `name`; write \"cards\"");
            continue;
        };
        let before = problems.len();
        let mut config = Config::defaults("", base);
        section.apply(&mut config, base, problems);
        let read = rules(&mut config).clone();
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
            let offset = section.item(key).map_or(section.offset, |item| item.offset);
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

pub(super) static STORE: SectionKeys = SectionKeys {
    name: "[store]",
    own: &[
        ConfigKey {
            name: "path",
            value: Value::Own {
                takes: "path of a directory",
                read: |config, item, reading| {
                    config.store.path = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| config.store.path.as_ref().map(|path| show_text(path.display())),
            },
            absent: Absent::Words("there is no store"),
            change: ChangeEffect::Restart,
            text: "The directory of the [store](store.md), outside the served directories. It is created if missing, readable only by the server's user. `{uid}` in its name stands for the number of that user: `/var/tmp/shop-{uid}` is another directory for everybody who tries an application; it is refused if other users can write to it.",
        },
        ConfigKey {
            name: "databases",
            value: Value::Own {
                takes: "list of names",
                read: |config, item, reading| {
                    let names = item.list(reading.problems, database_name)?;
                    if names.len() > limits::STORE_DATABASES {
                        let why =
                            format!("at most {} databases have a name", limits::STORE_DATABASES);
                        return Err(why);
                    }
                    config.store.databases = names;
                    Ok(())
                },
                show: |config| Some(show_texts(&config.store.databases)),
            },
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Names of databases, such as `[\"cards\"]`. Databases `0` to `15` always exist.",
        },
        ConfigKey {
            name: "size",
            value: Value::Size(
                |config| &mut config.store.size,
                limits::STORE_SIZE_MIN..=limits::STORE_SIZE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "The maximum size of the store's file. This reserves address space but no disk space. A write that does not fit returns an error; reading and deleting continue.",
        },
        ConfigKey {
            name: "sync",
            value: Value::Own {
                takes: "`\"commit\"`, `\"log\"`, `\"interval\"` or `\"none\"`",
                read: |config, item, _| {
                    config.store.sync = choice(item, &SYNC)?;
                    Ok(())
                },
                show: |config| show_choice(&SYNC, &config.store.sync),
            },
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "When a write is on disk: before it is answered (in the file, or in a log), within `sync_interval`, or whenever the kernel writes it. No setting loses anything when the server ends, not even with `kill -9`. [What a power failure loses](store.md#durability).",
        },
        ConfigKey {
            name: "sync_interval",
            value: Value::Deadline(|config| &mut config.store.sync_interval),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "The time between two checkpoints with `sync = \"log\"` or `\"interval\"`.",
        },
        ConfigKey {
            name: "role",
            value: Value::Own {
                takes: "`\"leader\"` or `\"replica\"`",
                read: |config, item, _| {
                    config.store.role = Some(choice(item, &DUTIES)?);
                    Ok(())
                },
                show: |config| config.store.role.and_then(|duty| show_choice(&DUTIES, &duty)),
            },
            absent: Absent::Words("the store is alone"),
            change: ChangeEffect::Restart,
            text: "The role of a new store among [the stores of several servers](store.md#replicas): the leader's records are sent to the replicas. Later the store itself knows its role, which `velodrome store promote` changes. Needs `sync = \"commit\"` or `\"log\"`.",
        },
    ],
    shared: &[],
    shared_in: "",
};

pub(super) static DATABASE: SectionKeys = SectionKeys {
    name: "[[database]]",
    own: &[
        ConfigKey {
            name: "name",
            value: Value::Own {
                takes: "text",
                read: |config, item, _| {
                    rules(config).name = word(item)?;
                    Ok(())
                },
                show: |config| config.databases.first().map(|rules| show_text(&rules.name)),
            },
            absent: Absent::Words("must be given"),
            change: ChangeEffect::Reload,
            text: "The database of this section: one of `databases` in `[store]`, or `\"0\"` to `\"15\"`. Every RESP client may read and write a database without a section.",
        },
        ConfigKey {
            name: "read",
            value: Value::Own {
                takes: "`\"open\"`, `\"token\"`, `\"key\"` or `\"none\"`",
                read: |config, item, _| {
                    rules(config).read = choice(item, &ACCESSES)?;
                    Ok(())
                },
                show: |config| show_choice(&ACCESSES, &shown(config).read),
            },
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "Which clients may read: all, those with a [token](store.md#access-control) that names the database, those with one of `api_keys` in `[channels]`, or none.",
        },
        ConfigKey {
            name: "write",
            value: Value::Own {
                takes: "`\"open\"`, `\"token\"`, `\"key\"` or `\"none\"`",
                read: |config, item, _| {
                    rules(config).write = choice(item, &ACCESSES)?;
                    Ok(())
                },
                show: |config| show_choice(&ACCESSES, &shown(config).write),
            },
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "Which clients may write: all, those with a token that names the database, those with one of `api_keys` in `[channels]`, or none.",
        },
        ConfigKey {
            name: "http",
            value: Value::Boolean(|config| &mut rules(config).http),
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "Whether HTTP clients [can access it](store.md#http) at `/store/NAME`, as `read` and `write` allow.",
        },
    ],
    shared: &[],
    shared_in: "",
};

/// The rules, for being shown.
fn shown(config: &Config) -> DatabaseRules {
    config.databases.first().cloned().unwrap_or_default()
}

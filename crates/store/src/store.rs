//! The store of a process: opened once, shared by its threads.
//!
//! Owns the settings, the names of databases and the map.

use std::fmt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heed::types::{Bytes, DecodeIgnore};
use heed::{CommitOrAbort, Env, EnvFlags, WithoutTls};

use crate::checkpoint::{Checkpoints, Role, recover};
use crate::copies::copy;
use crate::failure::Failure;
use crate::ffi::{MapOptions, open};
use crate::limits::{
    CHECKPOINTS, DATABASE_NAME_SIZE, DATABASES, LENT_SNAPSHOTS, MARGIN, OTHER_READERS, SIZE,
};
use crate::log::LogFiles;
use crate::readers::{LockFile, Reader};
use crate::room::file_size;
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::versions::Versions;
use crate::writer::Writer;

/// When a commit is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Before it is answered: neither the end of the program nor a power failure loses what was answered.
    #[default]
    Commit,
    /// When [`Writer::sync`] is called: the end of the program loses nothing. A power failure loses what came since, and nothing else. Until the next call the
    /// file grows by what is written. Where another program of the same store has asked for this already, it is as [`Sync::Commit`], and its commits go with
    /// those of the other one.
    Interval,
    /// Before it is answered, in a log: as [`Sync::Commit`], with less to be written, because the tree follows with the next [`Writer::sync`]. Until then the file
    /// grows by what is written. Where another program of the same store makes the checkpoints, it is as [`Sync::Commit`].
    Log,
    /// When the kernel likes, or [`Writer::sync`] is called: the end of the program loses nothing. A power failure may leave a file that is damaged, because the
    /// kernel writes pages in any order.
    Never,
}

/// How a store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its directory; made where it is not there.
    pub directory: PathBuf,
    /// The names of its databases. One that is new is made.
    pub databases: Vec<String>,
    /// Bytes that the file may have; a little more while it is full.
    pub size: u64,
    /// Threads of this program that read, each with a [`TurnStore`](crate::TurnStore).
    pub readers: usize,
    /// When a commit is on the disk.
    pub sync: Sync,
}

impl Settings {
    /// A store without databases in that directory.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            databases: Vec::new(),
            size: SIZE,
            readers: 1,
            sync: Sync::Commit,
        }
    }
}

/// How large a store is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of the file that are in use or can be used again.
    pub file_bytes: u64,
    /// Bytes it may have.
    pub size: u64,
    /// The number of the last commit.
    pub commit: u64,
}

/// An open store. Copies are of the same one.
#[derive(Clone)]
pub struct Store {
    map: Env<WithoutTls>,
    pub(crate) checkpoints: Arc<Checkpoints>,
    tables: Arc<[Table]>,
    databases: Arc<[String]>,
    size: u64,
    /// How often it had no room for a change.
    times_full: Arc<AtomicU64>,
    lock: Arc<LockFile>,
    versions: Versions,
    /// Where changes are written before the tree has them.
    log: Option<Arc<LogFiles>>,
}

impl Store {
    /// Opens a store, and makes what of it is not there.
    ///
    /// The thread that calls it has to live as long as the store, in a descriptor table that keeps the file: LMDB knows by a lock of
    /// that file that this program lives.
    ///
    /// # Errors
    /// When the directory or the map cannot be made, or a name is none.
    pub fn open(settings: &Settings) -> Result<Self, Failure> {
        if let Some(name) = settings.databases.iter().find(|name| !is_name(name)) {
            let text = format!(
                "`{name}` is not a database name: 1 to {DATABASE_NAME_SIZE} letters, digits, `-`, `_` and `.`"
            );
            return Err(Failure::Storage(text));
        }
        if settings.databases.len() > DATABASES {
            return Err(Failure::Storage(format!("more than {DATABASES} databases")));
        }
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&settings.directory)?;
        let role = match settings.sync {
            Sync::Interval | Sync::Log => Role::Keeper,
            Sync::Commit | Sync::Never => Role::Other,
        };
        let checkpoints = Checkpoints::open(&settings.directory, role)?;
        if checkpoints.role() == Role::Keeper {
            // Nothing is written without a wait for the disk before there is a checkpoint.
            let map = open(&settings.directory, &map_options(settings, EnvFlags::empty()))?;
            tables(&map, &checkpoints, &settings.databases)?;
            map.prepare_for_closing().wait();
        }
        let flags = match (settings.sync, checkpoints.role()) {
            (Sync::Never, _) | (_, Role::Keeper) => EnvFlags::NO_SYNC,
            (Sync::Commit | Sync::Interval | Sync::Log, Role::Other) => EnvFlags::empty(),
        };
        let map = open(&settings.directory, &map_options(settings, flags))?;
        let lock = Arc::new(LockFile::open(&settings.directory)?);
        let checkpoints = checkpoints.follow(&settings.directory, &lock)?;
        let tables = tables(&map, &checkpoints, &settings.databases)?;
        let versions = Versions::of(&map)?;
        let log = match (settings.sync, checkpoints.role()) {
            (Sync::Log, Role::Keeper) => Some(Arc::new(LogFiles::open(&settings.directory)?)),
            _ => None,
        };
        // The first reader of a program locks a byte of the lock file, in the descriptor table of its thread: this one, not a scheduler's.
        drop(map.read_txn()?);
        Ok(Self {
            map,
            checkpoints: Arc::new(checkpoints),
            tables: tables.into(),
            databases: settings.databases.clone().into(),
            size: settings.size,
            times_full: Arc::default(),
            lock,
            versions,
            log,
        })
    }

    /// Whether this program makes the checkpoints: with [`Sync::Interval`] and [`Sync::Log`], if no other one did when it opened the store.
    #[must_use]
    pub fn makes_checkpoints(&self) -> bool {
        self.checkpoints.role() == Role::Keeper
    }

    /// Whether its writer waits now because another program writes.
    #[must_use]
    pub fn waits_for_another_program(&self) -> bool {
        self.checkpoints.waits_for_another_program()
    }

    /// How often it had no room for a change.
    pub(crate) fn times_full(&self) -> u64 {
        self.times_full.load(Ordering::Relaxed)
    }

    /// The names of its databases, in the order of their numbers.
    #[must_use]
    pub fn databases(&self) -> &[String] {
        &self.databases
    }

    /// The store as it is now.
    ///
    /// # Errors
    /// When all places for readers are taken.
    pub fn snapshot(&self) -> Result<Snapshot, Failure> {
        let transaction = self.map.clone().static_read_txn()?;
        Ok(Snapshot::new(transaction, Arc::clone(&self.tables)))
    }

    /// The writer. Only one transaction writes at a time, of all programs that have opened the file: others wait.
    ///
    /// # Panics
    /// With [`Sync::Log`], when there is another writer of this store: there may be one at a time.
    #[must_use]
    pub fn writer(&self) -> Writer {
        let times_full = Arc::clone(&self.times_full);
        let tables = Arc::clone(&self.tables);
        Writer::new(
            (self.map.clone(), Arc::clone(&self.checkpoints), self.log.clone()),
            (tables, Arc::clone(&self.databases), self.versions),
            (self.size, times_full),
        )
    }

    /// The names of the databases of a store that is there.
    ///
    /// # Errors
    /// When there is no store in that directory, or it cannot be read.
    pub fn databases_in(directory: &Path) -> Result<Vec<String>, Failure> {
        if !directory.join("data.mdb").is_file() {
            let text = format!("there is no store in `{}`", directory.display());
            return Err(Failure::Storage(text));
        }
        recover(directory)?;
        let options = map_options(&Settings::new(directory), EnvFlags::empty());
        let map = open(directory, &options)?;
        let names = map.open_databases_and_commit(map.read_txn()?, |opener, transaction| {
            let mut names = Vec::new();
            if let Some(top) = opener.open_database::<Bytes, DecodeIgnore>(transaction, None)? {
                for entry in top.iter(transaction)? {
                    let name =
                        str::from_utf8(entry?.0).ok().and_then(|name| name.strip_prefix("keys:"));
                    names.extend(name.map(str::to_owned));
                }
            }
            Ok::<_, heed::Error>(CommitOrAbort::<(), _>::Abort(names))
        })?;
        Ok(names.abort().unwrap_or_default())
    }

    /// Copies the store as it is now into another directory, without the room that is free. Writers go on.
    ///
    /// # Errors
    /// When the directory has a store already, or cannot be written.
    pub fn copy_to(&self, directory: &Path) -> Result<u64, Failure> {
        copy(&self.map, self.versions, directory)
    }

    /// The snapshots that all programs have; those of programs that were killed, too, until [`Writer::free_dead_readers`].
    ///
    /// # Errors
    /// When the lock file cannot be read.
    pub fn readers(&self) -> Result<Vec<Reader>, Failure> {
        Ok(self.lock.readers()?)
    }

    /// How large it is. Asks no descriptor, so schedulers can call it.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage {
            file_bytes: file_size(&self.map),
            size: self.size,
            commit: self.map.info().last_txn_id as u64,
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Store").field("directory", &self.map.path()).finish_non_exhaustive()
    }
}

fn map_options(settings: &Settings, flags: EnvFlags) -> MapOptions {
    // Of whole pages: no machine has larger ones.
    let size = settings.size.saturating_add(MARGIN).next_multiple_of(64 * 1024);
    MapOptions {
        size: usize::try_from(size).unwrap_or(usize::MAX),
        readers: u32::try_from(
            settings.readers * (1 + LENT_SNAPSHOTS) + OTHER_READERS + CHECKPOINTS,
        )
        .unwrap_or(u32::MAX),
        flags,
        ..MapOptions::default()
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=DATABASE_NAME_SIZE).contains(&name.len()) && name.bytes().all(is_part)
}

fn tables(
    map: &Env<WithoutTls>,
    checkpoints: &Checkpoints,
    names: &[String],
) -> Result<Vec<Table>, Failure> {
    // All in one transaction: each commit waits for the disk.
    let (_lock, transaction) = checkpoints.begin(map)?;
    map.create_databases_and_commit(transaction, |opener, transaction| {
        for tree in names.iter().flat_map(|name| Table::trees(name)) {
            opener.create_database::<Bytes, Bytes>(transaction, Some(&tree))?;
        }
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    })?;
    let mut tables = Vec::with_capacity(names.len());
    for name in names {
        tables.push(Table::open(map, name)?);
    }
    Ok(tables)
}

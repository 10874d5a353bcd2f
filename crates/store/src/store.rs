//! The store of a process: opened once, shared by all threads.
//!
//! Owns the settings, the names of databases and the map.

use std::fmt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heed::CommitOrAbort;
use heed::types::{Bytes, DecodeIgnore};

use crate::checkpoint::{Checkpoints, Role, recover};
use crate::copies::copy;
use crate::facts::Fact;
use crate::failure::StoreFailure;
use crate::ffi::{Commits, Env, MapOptions, open};
use crate::file::DATA_FILE;
use crate::limits::{
    CHECKPOINTS, DATABASE_NAME_SIZE, DATABASES, HELD_SNAPSHOTS, LENT_SNAPSHOTS, MARGIN,
    OTHER_READERS, SIZE,
};
use crate::log::LogFiles;
use crate::options::{Membership, StoreOptions, Sync};
use crate::order::Database;
use crate::readers::{LockFile, SnapshotReader};
use crate::replication::{LeaderClock, Ledger};
use crate::reserve::{Reserve, ReserveFile};
use crate::room::file_size;
use crate::snapshot::{Snapshot, last_commit};
use crate::table::Table;
use crate::versions::Versions;
use crate::writer::Writer;

/// The size of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// Bytes of the file, including free space.
    pub file_bytes: u64,
    /// Maximum bytes of the file.
    pub size: u64,
    /// The number of the last commit.
    pub commit: u64,
}

/// An open store. Clones share it.
#[derive(Clone)]
pub struct Store {
    map: Env,
    pub(crate) checkpoints: Arc<Checkpoints>,
    tables: Arc<[Table]>,
    /// The names of all databases, those for clients first.
    names: Arc<[String]>,
    /// How many of them are for clients.
    for_clients: usize,
    size: u64,
    /// How many changes failed because the store was full.
    times_full: Arc<AtomicU64>,
    lock: Arc<LockFile>,
    versions: Versions,
    /// The log, with [`Sync::Log`].
    log: Option<Arc<LogFiles>>,
    reserve: ReserveFile,
    /// The place of the store in its history, if it has one.
    ledger: Option<Ledger>,
    /// That of the leader, if this store is a replica.
    clock: LeaderClock,
    /// The inode of the file.
    seed: u64,
}

impl Store {
    /// Opens a store; creates what is missing.
    ///
    /// The calling thread must live as long as the store and keep the file in its descriptor table: LMDB detects live
    /// programs by a lock on that file.
    ///
    /// # Errors
    /// If the directory or the map cannot be created, or a database name is invalid.
    pub fn open(settings: &StoreOptions) -> Result<Self, StoreFailure> {
        if let Some((name, _)) = settings.all_databases().find(|(name, _)| !is_name(name)) {
            let text = format!(
                "`{name}` is not a database name: 1 to {DATABASE_NAME_SIZE} letters, digits, `-`, `_` and `.`"
            );
            return Err(StoreFailure::Storage(text));
        }
        if settings.all_databases().count() > DATABASES {
            return Err(StoreFailure::Storage(format!("more than {DATABASES} databases")));
        }
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&settings.directory)?;
        let role = match settings.sync {
            Sync::Interval | Sync::Log => Role::Keeper,
            Sync::Commit | Sync::Never => Role::Other,
        };
        let checkpoints = Checkpoints::open(&settings.directory, role)?;
        if checkpoints.role() == Role::Keeper {
            // Before the first checkpoint, every write waits for the disk.
            let map = open(&settings.directory, &map_options(settings, Commits::Wait))?;
            tables(&map, &checkpoints, settings)?;
            map.prepare_for_closing().wait();
        }
        let commits = match (settings.sync, checkpoints.role()) {
            (Sync::Never, _) | (_, Role::Keeper) => Commits::GoOn,
            (Sync::Commit | Sync::Interval | Sync::Log, Role::Other) => Commits::Wait,
        };
        let map = open(&settings.directory, &map_options(settings, commits))?;
        let lock = Arc::new(LockFile::open(&settings.directory)?);
        let checkpoints = checkpoints.follow(&settings.directory, &lock)?;
        let tables = tables(&map, &checkpoints, settings)?;
        let ledger = ledger(&map, settings.membership)?;
        let size = settings.size.or(Fact::Size.of(&map)?).unwrap_or(SIZE);
        let versions = Versions::of(&map)?;
        let log = match (settings.sync, checkpoints.role()) {
            (Sync::Log, Role::Keeper) => Some(Arc::new(LogFiles::open(&settings.directory)?)),
            _ => None,
        };
        // The first reader of a program locks a byte of the lock file in the descriptor table of its thread. It must be
        // this thread, not a scheduler.
        drop(map.read_txn()?);
        Ok(Self {
            map,
            checkpoints: Arc::new(checkpoints),
            tables: tables.into(),
            names: settings.all_databases().map(|(name, _)| name.clone()).collect(),
            for_clients: settings.databases.len(),
            size,
            times_full: Arc::default(),
            lock,
            versions,
            log,
            reserve: ReserveFile::open(&settings.directory),
            ledger,
            clock: LeaderClock::default(),
            seed: std::fs::metadata(settings.directory.join(DATA_FILE))?.ino(),
        })
    }

    /// Whether this program makes the checkpoints: with [`Sync::Interval`] and [`Sync::Log`], unless another program
    /// already did when the store was opened.
    pub fn makes_checkpoints(&self) -> bool {
        self.checkpoints.role() == Role::Keeper
    }

    /// Whether the writer of this program is waiting for another program that writes.
    pub fn waits_for_another_program(&self) -> bool {
        self.checkpoints.waits_for_another_program()
    }

    /// How many changes failed because the store was full.
    pub(crate) fn times_full(&self) -> u64 {
        self.times_full.load(Ordering::Relaxed)
    }

    /// The names of the databases for clients, in the order of their numbers.
    pub fn databases(&self) -> &[String] {
        &self.names[..self.for_clients]
    }

    /// A database for the program alone.
    pub fn own_database(&self, name: &str) -> Option<Database> {
        let own = self.names.iter().skip(self.for_clients).position(|own| own == name)?;
        u8::try_from(self.for_clients + own).ok().map(Database)
    }

    /// Takes a snapshot of the last commit.
    ///
    /// # Errors
    /// If the table of readers is full.
    pub fn snapshot(&self) -> Result<Snapshot, StoreFailure> {
        let transaction = self.map.clone().static_read_txn()?;
        Ok(Snapshot::new(transaction, Arc::clone(&self.tables), self.clock.ahead()))
    }

    /// The seed of this store's [`ScanNumber`](crate::ScanNumber)s. It is the number of its file, so that a client that
    /// chooses the keys of a server cannot choose two with the same number.
    pub fn scan_seed(&self) -> u64 {
        self.seed
    }

    /// Returns the writer. Only one transaction of all programs writes at a time; others wait.
    ///
    /// # Panics
    /// With [`Sync::Log`], if this store already has a writer.
    pub fn writer(&self) -> Writer {
        let times_full = Arc::clone(&self.times_full);
        let tables = Arc::clone(&self.tables);
        Writer::new(
            (self.map.clone(), Arc::clone(&self.checkpoints), self.log.clone()),
            (tables, Arc::clone(&self.names), self.versions),
            (self.size, times_full, Reserve::new(self.reserve.clone())),
            (self.ledger, self.clock.clone()),
        )
    }

    /// The names of the databases of an existing store.
    ///
    /// # Errors
    /// If there is no store in that directory, or it cannot be read.
    pub fn databases_in(directory: &Path) -> Result<Vec<String>, StoreFailure> {
        if !directory.join(DATA_FILE).is_file() {
            let text = format!("there is no store in `{}`", directory.display());
            return Err(StoreFailure::Storage(text));
        }
        recover(directory)?;
        let options = map_options(&StoreOptions::new(directory), Commits::Wait);
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

    /// Copies the current state to another directory, without free space. Writers continue meanwhile.
    ///
    /// # Errors
    /// If the directory already contains a store, or cannot be written.
    pub fn copy_to(&self, directory: &Path) -> Result<u64, StoreFailure> {
        // A leader may have left out versions since the store was opened.
        copy(&self.map, Versions::of(&self.map)?, directory)
    }

    /// The snapshots of all programs, including killed ones until [`Writer::free_dead_readers`].
    ///
    /// # Errors
    /// If the lock file cannot be read.
    pub fn readers(&self) -> Result<Vec<SnapshotReader>, StoreFailure> {
        Ok(self.lock.readers()?)
    }

    /// The number of the last commit. Makes no system call.
    pub(crate) fn newest_commit(&self) -> u64 {
        self.map.info().last_txn_id as u64
    }

    /// The size of the store. Makes no system call, so schedulers can call it.
    pub fn usage(&self) -> StoreUsage {
        StoreUsage {
            file_bytes: file_size(&self.map),
            size: self.size,
            commit: last_commit(&self.map),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Store").field("directory", &self.map.path()).finish_non_exhaustive()
    }
}

fn map_options(settings: &StoreOptions, commits: Commits) -> MapOptions {
    // A multiple of the largest page size of any machine.
    let size = settings.size.unwrap_or(SIZE).saturating_add(MARGIN).next_multiple_of(64 * 1024);
    MapOptions {
        size: usize::try_from(size).unwrap_or(usize::MAX),
        readers: u32::try_from(
            settings.readers * (1 + LENT_SNAPSHOTS + HELD_SNAPSHOTS) + OTHER_READERS + CHECKPOINTS,
        )
        .unwrap_or(u32::MAX),
        commits,
        ..MapOptions::default()
    }
}

/// Where the place of the store in its history is kept, if it is kept.
fn ledger(map: &Env, membership: Membership) -> Result<Option<Ledger>, StoreFailure> {
    let Some(ledger) = Ledger::open(map)? else { return Ok(None) };
    let snapshot = map.read_txn()?;
    let has_history = ledger.place(&snapshot)?.is_some();
    Ok((has_history || membership == Membership::Member).then_some(ledger))
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=DATABASE_NAME_SIZE).contains(&name.len()) && name.bytes().all(is_part)
}

fn tables(
    map: &Env,
    checkpoints: &Checkpoints,
    settings: &StoreOptions,
) -> Result<Vec<Table>, StoreFailure> {
    let known = Fact::Size.of(map)?;
    let size = settings.size.filter(|size| known != Some(*size));
    let created = create(map, checkpoints, settings, size);
    // A full disk does not prevent a start with another size.
    created.or_else(|failure| {
        size.map_or(Err(failure), |_| create(map, checkpoints, settings, None))
    })?;
    settings.all_databases().map(|(name, whose)| Table::open(map, name, whose)).collect()
}

/// Creates missing trees, and writes the size.
fn create(
    map: &Env,
    checkpoints: &Checkpoints,
    settings: &StoreOptions,
    size: Option<u64>,
) -> Result<(), StoreFailure> {
    // One transaction for all databases, because every commit waits for the disk.
    let (_lock, transaction) = checkpoints.begin(map)?;
    map.create_databases_and_commit(transaction, |opener, transaction| {
        for tree in settings.all_databases().flat_map(|(name, _)| Table::trees(name)) {
            opener.create_database::<Bytes, Bytes>(transaction, Some(&tree))?;
        }
        if settings.membership == Membership::Member {
            Fact::create(opener, transaction)?;
        }
        if let Some(size) = size {
            Fact::Size.write(size, opener, transaction)?;
        }
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    })?;
    Ok(())
}

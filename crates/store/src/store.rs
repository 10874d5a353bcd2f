//! The store of a process: opened once, shared by all threads.
//!
//! Owns the settings, the names of databases and the map.

use std::fmt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heed::types::{Bytes, DecodeIgnore};
use heed::{CommitOrAbort, Env, WithoutTls};

use crate::checkpoint::{Checkpoints, Role, recover};
use crate::copies::copy;
use crate::facts::Fact;
use crate::failure::StoreFailure;
use crate::ffi::{Commits, MapOptions, open};
use crate::file::DATA_FILE;
use crate::limits::{
    CHECKPOINTS, DATABASE_NAME_SIZE, DATABASES, HELD_SNAPSHOTS, LENT_SNAPSHOTS, MARGIN,
    OTHER_READERS, SIZE,
};
use crate::log::LogFiles;
use crate::order::Database;
use crate::readers::{LockFile, SnapshotReader};
use crate::reserve::{Reserve, ReserveFile};
use crate::room::file_size;
use crate::snapshot::{Snapshot, last_commit};
use crate::table::{Table, Whose};
use crate::versions::Versions;
use crate::writer::Writer;

/// When commits reach the disk, and what is lost if the program ends or the power fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Before the commit is answered: nothing that was answered is lost.
    #[default]
    Commit,
    /// When [`Writer::sync`] is called. A killed program loses nothing. A power failure loses the commits since the
    /// last call, never a part of one. Between calls the file grows by everything that is written. If another program
    /// already keeps the checkpoints of this store, this mode works as [`Sync::Commit`], and a power failure may also
    /// lose its commits until that program's next checkpoint.
    Interval,
    /// In a log, before the commit is answered: nothing that was answered is lost. Less is written than with
    /// [`Sync::Commit`]; [`Writer::sync`] writes the tree later. Between calls the file grows by everything that is
    /// written. If another program keeps the checkpoints of this store, this mode works as [`Sync::Commit`].
    Log,
    /// When the kernel decides, or [`Writer::sync`] is called. A killed program loses nothing. A power failure may
    /// damage the file, because the kernel writes pages in any order.
    Never,
}

/// How to open a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// The directory; created if it is missing.
    pub directory: PathBuf,
    /// The names of the databases; missing ones are created.
    pub databases: Vec<String>,
    /// The names of databases for the program alone, found with [`Store::own_database`]: a client that is given
    /// [`Store::databases`] cannot name them, and [`DatabaseChange::ClearAll`](crate::DatabaseChange::ClearAll) leaves
    /// them alone.
    pub own_databases: Vec<String>,
    /// Maximum bytes of the file; kept in it, so `None` is what another program gave, or else [`SIZE`]. A full store
    /// may grow slightly beyond, to delete.
    pub size: Option<u64>,
    /// The number of threads of this program that read, each with a [`TurnStore`](crate::TurnStore).
    pub readers: usize,
    /// When commits reach the disk.
    pub sync: Sync,
}

impl StoreOptions {
    /// Settings for a store in that directory, without databases.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            databases: Vec::new(),
            own_databases: Vec::new(),
            size: None,
            readers: 1,
            sync: Sync::Commit,
        }
    }

    /// The names of all databases in the order of their numbers, with those for whom they are.
    fn all_databases(&self) -> impl Iterator<Item = (&String, Whose)> {
        let of = |whose| move |name| (name, whose);
        let own = self.own_databases.iter().map(of(Whose::Program));
        self.databases.iter().map(of(Whose::Clients)).chain(own)
    }
}

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
    map: Env<WithoutTls>,
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
        Ok(Snapshot::new(transaction, Arc::clone(&self.tables)))
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
        copy(&self.map, self.versions, directory)
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

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=DATABASE_NAME_SIZE).contains(&name.len()) && name.bytes().all(is_part)
}

fn tables(
    map: &Env<WithoutTls>,
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
    map: &Env<WithoutTls>,
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
        if let Some(size) = size {
            Fact::Size.write(size, opener, transaction)?;
        }
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    })?;
    Ok(())
}

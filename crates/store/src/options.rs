//! How a store is opened.
//!
//! Owns what each choice promises. Never opens a file.

use std::path::{Path, PathBuf};

use crate::table::Whose;

/// When commits reach the disk, and what is lost if the program ends or the power fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Before the commit is answered: nothing that was answered is lost.
    #[default]
    Commit,
    /// When [`Writer::sync`](crate::Writer::sync) is called. A killed program loses nothing. A power failure loses the
    /// commits since the last call, never a part of one. Between calls the file grows by everything that is written. If
    /// another program already keeps the checkpoints of this store, this mode works as [`Sync::Commit`], and a power
    /// failure may also lose its commits until that program's next checkpoint.
    Interval,
    /// In a log, before the commit is answered: nothing that was answered is lost. Less is written than with
    /// [`Sync::Commit`]; [`Writer::sync`](crate::Writer::sync) writes the tree later. Between calls the file grows by
    /// everything that is written. If another program keeps the checkpoints of this store, this mode works as
    /// [`Sync::Commit`].
    Log,
    /// When the kernel decides, or [`Writer::sync`](crate::Writer::sync) is called. A killed program loses nothing. A
    /// power failure may damage the file, because the kernel writes pages in any order.
    Never,
}

/// How to open a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// The directory; created if it is missing.
    pub directory: PathBuf,
    /// The names of the databases; missing ones are created.
    pub databases: Vec<String>,
    /// The names of databases for the program alone, found with [`Store::own_database`](crate::Store::own_database): a
    /// client that is given [`Store::databases`](crate::Store::databases) cannot name them, and
    /// [`DatabaseChange::ClearAll`](crate::DatabaseChange::ClearAll) leaves them alone.
    pub own_databases: Vec<String>,
    /// Maximum bytes of the file; kept in it, so `None` is what another program gave, or else
    /// [`SIZE`](crate::limits::SIZE). A full store may grow slightly beyond, to delete.
    pub size: Option<u64>,
    /// The number of threads of this program that read, each with a [`TurnStore`](crate::TurnStore).
    pub readers: usize,
    /// When commits reach the disk.
    pub sync: Sync,
    /// Whether the store has replicas or is one.
    pub membership: Membership,
}

/// Whether the commits of a store have records, for stores of other programs that follow it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// This program makes none. If the store has a history, a commit of this program is one that replicas can get only
    /// as a snapshot.
    #[default]
    Alone,
    /// It makes or applies records, once [`Writer::join`](crate::Writer::join) is called.
    Member,
}

impl StoreOptions {
    /// Settings for a store in that directory, without databases.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            databases: Vec::new(),
            own_databases: Vec::new(),
            size: None,
            readers: 1,
            sync: Sync::Commit,
            membership: Membership::Alone,
        }
    }

    /// The names of all databases in the order of their numbers, with those for whom they are.
    pub(crate) fn all_databases(&self) -> impl Iterator<Item = (&String, Whose)> {
        let of = |whose| move |name| (name, whose);
        let own = self.own_databases.iter().map(of(Whose::Program));
        self.databases.iter().map(of(Whose::Clients)).chain(own)
    }
}

//! The threads of a server, and the mailbox of each.
//!
//! Owns the order of the endpoints. Starts the helpers; schedulers are launched elsewhere.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::NameHelper;
use pages::uploads::{UploadRoom, UploadWriter};
use runtime::helper::{self, HelperThread};
use runtime::mailbox::{Endpoint, EndpointRole, MailboxSeat, Waking, mesh};
use store::Store;
use sys::log_file::LogFile;

use super::continuous_profile;
use super::error::ServeError;
use super::openings::WrittenStore;
use super::signals;
use super::stored_state::{DATABASE, StoredState};
use crate::admin::ControlPeers;
use crate::cache_disk::CacheDisk;
use crate::file_helper::FileHelper;
use crate::limits;
use crate::log_writer::{LogTarget, LogWriter};
use crate::message::Message;
use crate::password_helper::PasswordHelper;
use crate::profile_helper::ProfileHelper;
use crate::site::Helpers;
use crate::store_node::StoreNode;
use crate::store_writer::StoreWriter;

/// The endpoints and their seats: schedulers first, then control, file, password, name and upload helpers, the
/// profiler, log writer, store writer, disks of caches, the state of orders, main.
pub(super) struct Threads {
    schedulers: usize,
    log: Option<Endpoint>,
    store: Option<Endpoint>,
    cache_disk: Option<Endpoint>,
    state: Option<Endpoint>,
    files: Vec<Endpoint>,
    passwords: Endpoint,
    names: Vec<Endpoint>,
    uploads: Vec<Endpoint>,
    profiler: Endpoint,
    /// Whether there is a continuous profile.
    keeps_profile: bool,
    seats: Vec<Option<MailboxSeat<Message>>>,
}

impl Threads {
    /// Threads for these schedulers, and for what they need helpers for.
    pub(super) fn plan(
        schedulers: usize,
        log: Option<&LogTarget>,
        upload_helpers: usize,
        store: Option<&Store>,
        caches: &[PathBuf],
        profile: Option<&continuous_profile::Wanted>,
    ) -> Result<Self, ServeError> {
        let mut roles = vec![EndpointRole::Scheduler; schedulers + 1];
        let mut helper = || {
            roles.push(EndpointRole::Helper);
            Endpoint(u16::try_from(roles.len() - 1).unwrap_or(u16::MAX))
        };
        let files = (0..limits::FILE_HELPERS).map(|_| helper()).collect();
        let passwords = helper();
        let names = (0..limits::NAME_HELPERS).map(|_| helper()).collect();
        let uploads = (0..upload_helpers).map(|_| helper()).collect();
        let profiler = helper();
        let log = log.map(|_| helper());
        let keeps_state = store.is_some_and(|store| store.own_database(DATABASE).is_some());
        let store = store.map(|_| helper());
        let cache_disk = caches.first().map(|_| helper());
        // The control thread of certificates has to reach the store writer, and the main thread the log writer. These
        // are helpers, and helpers do not reach each other.
        let state = keeps_state.then(|| Endpoint(u16::try_from(roles.len()).unwrap_or(u16::MAX)));
        roles.extend(state.map(|_| EndpointRole::Scheduler));
        roles.push(EndpointRole::Scheduler);
        let seats = mesh(&roles, Waking::Descriptors).map_err(ServeError::Mailboxes)?;
        let seats = seats.into_iter().map(Some).collect();
        Ok(Self {
            schedulers,
            log,
            store,
            cache_disk,
            state,
            files,
            passwords,
            names,
            uploads,
            profiler,
            keeps_profile: profile.is_some(),
            seats,
        })
    }

    /// Starts the profiler, when all other threads run.
    pub(super) fn start_profiler(
        &mut self,
        wanted: Option<continuous_profile::Wanted>,
    ) -> Result<(), ServeError> {
        let continuous = wanted.and_then(continuous_profile::begin);
        let seat = self.take(usize::from(self.profiler.0))?;
        // It holds nothing that must be finished.
        let spawned = helper::spawn("profiler", seat, move || ProfileHelper::new(continuous));
        spawned.map(drop).map_err(ServeError::Thread)
    }

    fn take(&mut self, endpoint: usize) -> Result<MailboxSeat<Message>, ServeError> {
        let seat = self.seats.get_mut(endpoint).and_then(Option::take);
        seat.ok_or_else(|| ServeError::Mailboxes(io::Error::other("a seat was taken twice")))
    }

    pub(super) fn of_schedulers(&mut self) -> Result<Vec<MailboxSeat<Message>>, ServeError> {
        (0..self.schedulers).map(|number| self.take(number)).collect()
    }

    pub(super) fn control(&mut self) -> Result<MailboxSeat<Message>, ServeError> {
        self.take(self.schedulers)
    }

    pub(super) fn main(&mut self) -> Result<MailboxSeat<Message>, ServeError> {
        self.take(self.seats.len() - 1)
    }

    /// The state of orders, if this store was opened for it.
    pub(super) fn state(&mut self, store: &Store) -> Result<Option<StoredState>, ServeError> {
        let Some((state, writer)) = self.state.zip(self.store) else { return Ok(None) };
        Ok(StoredState::of(store, writer, self.take(usize::from(state.0))?))
    }

    pub(super) fn schedulers(&self) -> usize {
        self.schedulers
    }

    /// The threads that the control scheduler reaches.
    pub(super) fn peers_of_control(&self) -> ControlPeers {
        ControlPeers {
            schedulers: self.schedulers,
            log: self.log,
            cache_disk: self.cache_disk,
            store: self.store,
            profiler: self.profiler,
            keeps_profile: self.keeps_profile,
        }
    }

    pub(super) fn helpers(&self) -> Helpers {
        Helpers {
            schedulers: u16::try_from(self.schedulers).unwrap_or(u16::MAX),
            files: self.files.clone(),
            passwords: Some(self.passwords),
            names: self.names.clone(),
            uploads: self.uploads.clone(),
            log: self.log,
            store: self.store,
            cache_disk: self.cache_disk,
        }
    }

    pub(super) fn start_helpers(
        &mut self,
        log: Option<(LogTarget, LogFile)>,
        store: Option<WrittenStore>,
        uploads: Option<(&Path, Arc<UploadRoom>)>,
        caches: &[PathBuf],
    ) -> Result<signals::Helpers, ServeError> {
        for (number, endpoint) in self.uploads.clone().into_iter().enumerate() {
            let Some((directory, room)) = uploads.clone() else { break };
            let seat = self.take(usize::from(endpoint.0))?;
            let directory = directory.to_path_buf();
            let unique = RandomState::new().hash_one(number);
            // A form that is incomplete when the process ends is removed at the next start.
            let _detached = helper::spawn(&format!("uploads-{number}"), seat, move || {
                UploadWriter::new(directory, unique, room)
            })
            .map_err(ServeError::Thread)?;
        }
        for (number, endpoint) in self.files.clone().into_iter().enumerate() {
            let seat = self.take(usize::from(endpoint.0))?;
            // A file helper holds nothing that must be finished, so it ends with the process.
            let _detached = helper::spawn(&format!("files-{number}"), seat, FileHelper::new)
                .map_err(ServeError::Thread)?;
        }
        let seat = self.take(usize::from(self.passwords.0))?;
        let _detached =
            helper::spawn("passwords", seat, || PasswordHelper).map_err(ServeError::Thread)?;
        for (number, endpoint) in self.names.clone().into_iter().enumerate() {
            let seat = self.take(usize::from(endpoint.0))?;
            let _detached = helper::spawn(&format!("names-{number}"), seat, || NameHelper)
                .map_err(ServeError::Thread)?;
        }
        let mut writer: Option<HelperThread> = None;
        if let (Some(endpoint), Some((target, log))) = (self.log, log) {
            let seat = self.take(usize::from(endpoint.0))?;
            let spawned = helper::spawn("log", seat, move || LogWriter::new(target, log));
            writer = Some(spawned.map_err(ServeError::Thread)?);
        }
        let mut stores = None;
        if let (Some(endpoint), Some(written)) = (self.store, store) {
            let seat = self.take(usize::from(endpoint.0))?;
            let WrittenStore { store, writer, node, settings } = written;
            let of_writer = store.clone();
            let control = super::post::endpoint(self.schedulers);
            let make = move || {
                let node = node.map(StoreNode::new);
                StoreWriter::new((&of_writer, writer, node), &settings, control)
            };
            let writer = helper::spawn("store", seat, make).map_err(ServeError::Thread)?;
            stores = Some(signals::StoreHelper { endpoint, writer, store });
        }
        let mut cache_disk = None;
        if let Some(endpoint) = self.cache_disk {
            let seat = self.take(usize::from(endpoint.0))?;
            let directories: Vec<Arc<Path>> =
                caches.iter().map(|path| Arc::from(&**path)).collect();
            let spawned = helper::spawn("cache", seat, move || CacheDisk::new(&directories));
            cache_disk = Some((endpoint, spawned.map_err(ServeError::Thread)?));
        }
        let log = self.log.zip(writer);
        Ok(signals::Helpers { log, store: stores, cache_disk })
    }
}

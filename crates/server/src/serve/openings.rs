//! The things that a server opens before it becomes its user: the log, the store and the upload directory; and the
//! exceptions from the sandbox.
//!
//! Owns the rule that files made here belong to that user.

use std::convert::Infallible;
use std::fs::Permissions;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use acme::StartError;
use config::{AcmeState, Config, FetchRules, ListenerAddress, StoreDuty, StoreSettings, StoreSync};
use pages::uploads;
use runtime::diagnostic::{self, Level};
use store::Store;
use sys::credentials::User;
use sys::log_file::LogFile;

use super::error::ServeError;
use super::requirements::{as_user, log_target};
use super::stored_state;
use crate::access::paths_of;
use crate::cache_disk;
use crate::certificate_files::files_of;
use crate::control_path::control_directory;
use crate::dump;
use crate::limits::{STORE_LEADER_WAIT_MS, STORE_OPEN_PATIENCE};
use crate::load::ConfigSource;
use crate::log_writer::LogTarget;
use crate::sandbox::{self, Openings};
use crate::site_data::SiteData;

/// Locks the directories of uploads and of caches.
pub(super) fn hold(
    data: &SiteData,
    uploads: Option<&Path>,
) -> Result<Vec<sys::spool::Spool>, ServeError> {
    let mut held = hold_caches(data)?;
    held.extend(uploads.map(hold_uploads).transpose()?);
    Ok(held)
}

/// Takes the lock on the upload directory, and removes leftovers from it.
fn hold_uploads(directory: &Path) -> Result<sys::spool::Spool, ServeError> {
    uploads::hold(directory)
        .map_err(|error| ServeError::Uploads { path: directory.to_path_buf(), error })
}

/// Opens the access log, if one is configured and not open yet.
pub(super) fn open_log(
    config: &Config,
    open: Option<LogFile>,
    user: Option<&User>,
) -> Result<Option<(LogTarget, LogFile)>, ServeError> {
    let Some(target) = log_target(config) else { return Ok(None) };
    if let Some(log) = open {
        return Ok(Some((target, log)));
    }
    if let (LogTarget::File(path), Some(user)) = (&target, others(user)) {
        LogFile::create_for(user, path).map_err(ServeError::Log)?;
    }
    let log = as_user(user, || target.open().map_err(ServeError::Log))?;
    Ok(Some((target, log)))
}

/// The user that this process has still to become.
fn others(user: Option<&User>) -> Option<&User> {
    user.filter(|user| user.user_id() != sys::credentials::own_user_id())
}

/// Gives the files of sockets to the user of the server, so that it can remove them when it ends.
pub(super) fn give_sockets(config: &Config, control: Option<&Path>, user: &User) {
    let Some(user) = others(Some(user)) else { return };
    let listeners = config.listeners.iter().filter_map(|listener| match &listener.address {
        ListenerAddress::Unix(path) => Some(path.as_path()),
        ListenerAddress::Tcp(_) | ListenerAddress::Systemd(_) => None,
    });
    for path in listeners.chain(control) {
        if let Err(error) = user.own_directory_or_socket(path) {
            let line = format_args!(
                "`{}` still belongs to the user who started the server: {error}",
                path.display()
            );
            diagnostic::write(Level::Warn, line);
        }
    }
}

/// Makes a directory for the dumps of a server that becomes another user, which may not make files next to the socket
/// of root, and lets it through to both.
pub(super) fn make_for_dumps(control: &Path, user: Option<&User>) {
    let Some(user) = others(user) else { return };
    let directory = dump::directory_of(control);
    let own = control_directory();
    let opened = match control.parent() == Some(own.as_path()) {
        // Its sockets are for their owners alone.
        true => std::fs::set_permissions(&own, Permissions::from_mode(0o711)),
        false => Ok(()),
    };
    if let Err(error) = opened.and_then(|()| make_for(user, &directory)) {
        diagnostic::write(
            Level::Warn,
            format_args!("no dumps: `{}` cannot be made: {error}", directory.display()),
        );
    }
}

/// Makes a missing directory for the user of the server.
fn make_for(user: &User, directory: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(directory).is_ok() {
        return Ok(());
    }
    if let Some(above) = directory.parent() {
        std::fs::create_dir_all(above)?;
    }
    std::fs::DirBuilder::new().mode(0o700).create(directory)?;
    user.own_directory_or_socket(directory)
}

/// Opens the store, and says so if that takes long.
fn told_when_late<T>(directory: &Path, open: impl FnOnce() -> T) -> T {
    let (done, opened) = channel::<Infallible>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if opened.recv_timeout(STORE_OPEN_PATIENCE) == Err(RecvTimeoutError::Timeout) {
                diagnostic::write(
                    Level::Warn,
                    format_args!(
                        "the store in `{}` is not open yet: another program that opens it, writes into it \
                         or compacts it has to end first",
                        directory.display()
                    ),
                );
            }
        });
        let store = open();
        drop(done);
        store
    })
}

/// Opens the store, if one is configured, for this many schedulers.
pub(super) fn open_store(
    config: &Config,
    schedulers: usize,
    user: Option<&User>,
) -> Result<Option<Store>, ServeError> {
    let Some(directory) = &config.store.path else { return Ok(None) };
    let is_of_state = config.acme.state == AcmeState::Store;
    let role = config.store.role;
    let settings = store::StoreOptions {
        databases: config.store.all_databases(),
        size: Some(config.store.size),
        // A store with a role has what its leader has, whether this server uses it or not.
        own_databases: (is_of_state || role.is_some())
            .then(|| stored_state::DATABASE.to_owned())
            .into_iter()
            .collect(),
        membership: role.map_or(store::Membership::Alone, |_| store::Membership::Member),
        // The writer reads too: it searches for expired keys. So does the control thread of certificates.
        readers: schedulers + 1 + usize::from(is_of_state),
        sync: match config.store.sync {
            StoreSync::Commit => store::Sync::Commit,
            StoreSync::Log => store::Sync::Log,
            StoreSync::Interval => store::Sync::Interval,
            StoreSync::None => store::Sync::Never,
        },
        ..store::StoreOptions::new(directory)
    };
    let failed = |failure| ServeError::Store { path: directory.clone(), failure };
    if let Some(user) = others(user) {
        make_for(user, directory).map_err(|error| failed(error.into()))?;
    }
    let store =
        told_when_late(directory, || as_user(user, || Store::open(&settings).map_err(failed)))?;
    let wants_to = matches!(settings.sync, store::Sync::Log | store::Sync::Interval);
    if wants_to && !store.makes_checkpoints() {
        diagnostic::write(
            Level::Warn,
            format_args!(
                "another server makes the checkpoints of the store in `{}`: writes wait for the disk as \
                 with `sync = \"commit\"`, and a power failure may lose those since its last checkpoint; \
                 restart this server when the other one has ended",
                directory.display()
            ),
        );
    }
    Ok(Some(store))
}

/// A store, with what its writer's thread begins with. Plain data.
pub(crate) struct WrittenStore {
    pub(crate) store: Store,
    pub(crate) writer: store::Writer,
    pub(crate) node: Option<store::Replicator>,
    pub(crate) settings: StoreSettings,
}

/// The writer of a store, and its node if the store has a role. It waits for other programs that write.
pub(super) fn open_writer(
    data: &SiteData,
    store: Option<Store>,
    user: Option<&User>,
) -> Result<Option<WrittenStore>, ServeError> {
    let Some(store) = store else { return Ok(None) };
    let config = &data.config;
    let mut writer = store.writer();
    let settings = config.store.clone();
    let failed = |failure| {
        let path = config.store.path.clone().unwrap_or_default();
        ServeError::Store { path, failure }
    };
    // A role needs a cluster.
    let Some((duty, cluster)) = settings.role.zip(data.cluster.as_deref()) else {
        tell_of_left_history(&writer).map_err(failed)?;
        return Ok(Some(WrittenStore { store, writer, node: None, settings }));
    };
    let options = store::ReplicatorOptions {
        role: match duty {
            StoreDuty::Leader => store::StoreRole::Leader,
            StoreDuty::Replica => store::StoreRole::Replica,
        },
        me: store::ReplicationPeer(cluster.plan().node.0),
        origin: RandomState::new().hash_one("history"),
        wait_ms: STORE_LEADER_WAIT_MS,
    };
    let node = as_user(user, || store::Replicator::new(&mut writer, options).map_err(failed))?;
    if node.role() != options.role {
        let is = match node.role() {
            store::StoreRole::Leader => "the leader",
            store::StoreRole::Replica => "a replica",
        };
        diagnostic::write(
            Level::Warn,
            format_args!(
                "the store is {is}, whatever `role` says: it keeps its role; `velodrome store promote` makes another \
                 one the leader"
            ),
        );
    }
    Ok(Some(WrittenStore { store, writer, node: Some(node), settings }))
}

/// Says of a store that has a role what becomes of it without one.
fn tell_of_left_history(writer: &store::Writer) -> Result<(), store::StoreFailure> {
    let Some(standing) = writer.written_standing()? else { return Ok(()) };
    let what = if standing.leads {
        "leads others: they do not hear of what is written now, and take a snapshot"
    } else {
        "is a replica: it hears nothing of its leader, and cannot be written"
    };
    diagnostic::write(
        Level::Warn,
        format_args!(
            "the store {what}, until [store] has a `role` again, and a [cluster] is there"
        ),
    );
    Ok(())
}

/// Makes the directories of orders and of caches, before the sandbox closes what is above them.
pub(super) fn make_directories(data: &SiteData, user: Option<&User>) -> Result<(), ServeError> {
    make_state(data, user)?;
    make_caches(data, user)
}

fn make_state(data: &SiteData, user: Option<&User>) -> Result<(), ServeError> {
    let Some(settings) = &data.orders else { return Ok(()) };
    let Some(state) = settings.state.directory() else { return Ok(()) };
    let refused =
        |error| ServeError::Orders { state: state.to_owned(), error: StartError::State(error) };
    if let Some(user) = others(user) {
        make_for(user, state).map_err(refused)?;
    }
    as_user(user, || settings.state.make().map_err(refused))
}

/// Makes the directories of caches that are missing, for the user.
fn make_caches(data: &SiteData, user: Option<&User>) -> Result<(), ServeError> {
    for directory in &data.cache_directories {
        let refused = |error| ServeError::Cache { path: directory.clone(), error };
        if let Some(user) = others(user) {
            make_for(user, directory).map_err(refused)?;
        }
        as_user(user, || cache_disk::make(directory).map_err(refused))?;
    }
    Ok(())
}

/// Locks the directories of caches.
fn hold_caches(data: &SiteData) -> Result<Vec<sys::spool::Spool>, ServeError> {
    let hold = |directory: &PathBuf| {
        let refused = |error| ServeError::Cache { path: directory.clone(), error };
        cache_disk::hold(directory).map_err(refused)
    };
    data.cache_directories.iter().map(hold).collect()
}

/// The exceptions from the sandbox.
pub(super) fn of(
    source: &ConfigSource,
    data: &SiteData,
    log: Option<&LogTarget>,
    control: Option<&Path>,
) -> Openings {
    let mut openings = Openings::default();
    for directory in data.directories().chain([source.directory.as_path()]) {
        openings.read.push(directory.to_path_buf());
        // A root that is a link may lead to another release tomorrow, next to today's.
        if directory.is_symlink() {
            openings.read.extend(directories_of(directory));
        }
    }
    if let Some(path) = source.config_path() {
        openings.read.extend(directories_of(&path));
    }
    // A reload reads them again, and a replaced key file is a new file with the same name.
    let (pages, channel_keys) = (&data.config.pages, &data.config.channel_settings.keys);
    let files = [
        &pages.secret_file,
        &pages.fetch_ca,
        &pages.fetch_certificate,
        &pages.fetch_key,
        &channel_keys.token_keys,
        &channel_keys.api_keys,
        &data.config.admin.keys,
    ];
    for path in files.into_iter().flatten() {
        openings.read.extend(directories_of(path));
    }
    let of_upstreams = data.config.upstreams.iter().filter_map(|upstream| upstream.tls.as_ref());
    for file in of_upstreams.flat_map(|tls| tls.files()) {
        openings.read.extend(directories_of(file));
    }
    // The last records of a store with a role, snapshots of its leader, and what is set aside.
    if data.config.store.role.is_some() {
        openings.write.extend(data.config.store.path.clone());
    }
    for path in data.config.outside_files() {
        openings.read.extend(directories_of(path));
    }
    for file in files_of(&data.config).into_iter().chain(paths_of(&data.config)) {
        openings.read.extend(directories_of(file));
    }
    add_orders(data, &mut openings);
    let fetches = data.config.pages.enabled && data.config.pages.fetch != FetchRules::None;
    if fetches || data.orders.is_some() || !data.config.upstreams.is_empty() {
        openings.read.extend(sandbox::NAME_SERVICE.iter().map(PathBuf::from));
    }
    if data.config.pages.enabled {
        openings.read.extend(sandbox::TIME_ZONES.iter().map(PathBuf::from));
    }
    if let Some(LogTarget::File(path)) = log {
        openings.write.extend(directories_of(path));
    }
    openings.write.extend(data.config.pages.uploads.clone());
    openings.write.extend(data.cache_directories.iter().cloned());
    if let Some(path) = control {
        openings.write.extend(directories_of(path));
    }
    for listener in &data.config.listeners {
        if let ListenerAddress::Unix(path) = &listener.address {
            openings.write.extend(directories_of(path));
        }
    }
    openings
}

/// The paths that orders of certificates write and read.
fn add_orders(data: &SiteData, openings: &mut Openings) {
    let Some(settings) = &data.orders else { return };
    openings.write.extend(match settings.state.directory() {
        Some(directory) => vec![directory.to_path_buf()],
        None => directories_of(settings.state.path()).collect(),
    });
    let accounts = data.config.acme.issuers.iter().filter_map(|one| one.account.as_ref());
    let files = accounts.map(|account| &account.key_file).chain(&data.config.acme.ca);
    openings.read.extend(files.flat_map(|path| directories_of(path)));
}

/// The directory of a file; if it is a link, also the directory of its target.
fn directories_of(path: &Path) -> impl Iterator<Item = PathBuf> {
    let places = [Some(path.to_path_buf()), path.canonicalize().ok()];
    places.into_iter().flatten().map(|place| match place.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    })
}

//! The requirements that are met before a server starts: one list for `serve` and `check`.
//!
//! Owns the list, and that everything which is opened again after the start is tried with the rights of the configured
//! user. Creates nothing but the directories that are named after the user (`load::own`), and disturbs no server that
//! runs.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use acme::StartError;
use config::{AccessLogTarget, Config, ListenerAddress};
use pages::Before;
use runtime::launch::{self, LaunchError};
use sys::credentials::User;
use sys::file::{may_create_in, may_write};
use sys::log_file::LogFile;
use sys::pollset::epoll::Epoll;
use sys::socket::{ListenAddress, UnixAddress, may_listen};

use super::error::{ControlPlace, ServeError};
use super::settings::scheduler_settings;
use crate::cache_disk;
use crate::connection_share::ConnectionShare;
use crate::load::ConfigSource;
use crate::log_writer::LogTarget;
use crate::site_data::SiteData;

/// The things that a server starts with. Plain data.
pub(crate) struct Met {
    pub(crate) data: SiteData,
    /// The user that it becomes.
    pub(crate) user: Option<User>,
    pub(crate) schedulers: usize,
    /// Descriptors that each table may have.
    pub(crate) descriptors: u64,
    /// The access log, if it was there: the reader of a FIFO may end when it is closed.
    pub(crate) log: Option<LogFile>,
}

/// The site, if a server would start with it now. Sockets of a service manager are taken for granted, and so are
/// addresses on which a program listens: it may be the server that is checked for.
///
/// # Errors
/// The problems that would prevent the start.
pub fn check(source: &ConfigSource) -> Result<SiteData, ServeError> {
    meet(source).map(|met| met.data)
}

pub(super) fn meet(source: &ConfigSource) -> Result<Met, ServeError> {
    let name = source.user()?;
    let user = name.map(|name| User::look_up(&name)).transpose().map_err(ServeError::User)?;
    let data = as_user(user.as_ref(), || Ok(source.load(1, Before::default())?))?;
    let config = &data.config;
    let descriptors = sys::descriptor::raise_descriptor_limit();
    let schedulers = match config.schedulers.map(NonZeroUsize::get) {
        Some(count) => count,
        None => launch::schedulers_by_default().map_err(ServeError::Processors)?,
    };
    let share = ConnectionShare::new(config, schedulers, descriptors)
        .map_err(|share| ServeError::Descriptors { share })?;
    let settings = scheduler_settings(config, share);
    if settings.busy_poll_us > 0 {
        let polled = Epoll::new(None).and_then(|epoll| epoll.poll_devices(settings.busy_poll_us));
        polled.map_err(|error| ServeError::Launch(LaunchError::BusyPoll(error)))?;
    }
    look_at_addresses(config)?;
    let log = look_at_log(config, user.as_ref())?;
    look_at_store(config, user.as_ref())?;
    if let Some(directory) = data.orders.as_ref().and_then(|settings| settings.state.directory()) {
        look_at_state(directory, user.as_ref())?;
    }
    for directory in &data.cache_directories {
        look_at_cache(directory, user.as_ref())?;
    }
    if let Some(path) = config.pages.uploads.as_deref().filter(|_| config.pages.enabled) {
        let refused = |error| ServeError::Uploads { path: path.to_path_buf(), error };
        as_user(user.as_ref(), || may_create_in(path).map_err(refused))?;
    }
    Ok(Met { data, user, schedulers, descriptors, log })
}

/// Does something with the rights that the server has later.
pub(super) fn as_user<T: Send>(
    user: Option<&User>,
    work: impl FnOnce() -> Result<T, ServeError> + Send,
) -> Result<T, ServeError> {
    let Some(user) = user else { return work() };
    let named = |error| ServeError::AsUser { user: user.name().to_owned(), error: Box::new(error) };
    user.doing(work).map_err(ServeError::User)?.map_err(named)
}

fn look_at_addresses(config: &Config) -> Result<(), ServeError> {
    for listener in &config.listeners {
        let address = match &listener.address {
            ListenerAddress::Tcp(address) => ListenAddress::Tcp(*address),
            ListenerAddress::Unix(path) => {
                ListenAddress::Unix(UnixAddress { path: path.clone(), mode: listener.mode })
            }
            ListenerAddress::Systemd(_) => continue,
        };
        may_listen(&address)
            .map_err(|error| ServeError::Launch(LaunchError::Listen { address, error }))?;
    }
    if let Some(path) = &config.admin.socket {
        let address = ListenAddress::Unix(UnixAddress { path: path.clone(), mode: 0o600 });
        may_listen(&address)
            .map_err(|error| ServeError::Control(ControlPlace::Socket(path.clone()), error))?;
    }
    if let Some(address) = config.admin.listen {
        may_listen(&ListenAddress::Tcp(address))
            .map_err(|error| ServeError::Control(ControlPlace::Listen(address), error))?;
    }
    if let Some(address) = config.admin.metrics {
        may_listen(&ListenAddress::Tcp(address))
            .map_err(|error| ServeError::Control(ControlPlace::Metrics(address), error))?;
    }
    Ok(())
}

/// Opens the access log if it is there, which says what no permission tells: that no program reads a FIFO, for example.
fn look_at_log(config: &Config, user: Option<&User>) -> Result<Option<LogFile>, ServeError> {
    let AccessLogTarget::File(path) = &config.log.access else { return Ok(None) };
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let refused = |error| ServeError::Log(named(error));
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(refused(io::ErrorKind::IsADirectory.into())),
        Ok(_) => as_user(user, || LogFile::open(path).map(Some).map_err(refused)),
        // It is made before the server becomes the user.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            may_create_in(directory_of(path)).map(|()| None).map_err(refused)
        }
        Err(error) => Err(refused(error)),
    }
}

fn look_at_store(config: &Config, user: Option<&User>) -> Result<(), ServeError> {
    let Some(directory) = config.store.path.as_deref() else { return Ok(()) };
    let refused = |path: &Path, error: io::Error| {
        let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        ServeError::Store { path: directory.to_path_buf(), failure: error.into() }
    };
    if std::fs::symlink_metadata(directory).is_err() {
        let above = nearest_above(directory);
        return may_create_in(above).map_err(|error| refused(above, error));
    }
    as_user(user, || {
        may_create_in(directory).map_err(|error| refused(directory, error))?;
        let entries = std::fs::read_dir(directory).map_err(|error| refused(directory, error))?;
        let mut files = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
        files.try_for_each(|file| may_write(&file).map_err(|error| refused(&file, error)))
    })
}

/// The state of orders may be made, or can be written. Certificates on a disk that the kernel has made read-only are
/// used: the site outlives a restart on a bad day.
fn look_at_state(directory: &Path, user: Option<&User>) -> Result<(), ServeError> {
    let refused = |error| ServeError::Orders {
        state: directory.to_path_buf(),
        error: StartError::State(error),
    };
    if std::fs::symlink_metadata(directory).is_err() {
        return may_create_in(nearest_above(directory)).map_err(refused);
    }
    as_user(user, || match may_create_in(directory) {
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            let found = std::fs::read_dir(directory.join("certificates"));
            let is_used = found.is_ok_and(|mut files| files.next().is_some());
            if is_used { Ok(()) } else { Err(refused(error)) }
        }
        made => made.map_err(refused),
    })
}

/// The directory of a cache may be made, or can be used. Whether another server has it is not looked at.
fn look_at_cache(directory: &Path, user: Option<&User>) -> Result<(), ServeError> {
    let refused = |error| ServeError::Cache { path: directory.to_path_buf(), error };
    if std::fs::symlink_metadata(directory).is_err() {
        return may_create_in(nearest_above(directory)).map_err(refused);
    }
    as_user(user, || cache_disk::check(directory).map_err(refused))
}

/// The nearest directory above a missing one.
fn nearest_above(directory: &Path) -> &Path {
    let above = directory.ancestors().skip(1).find(|above| above.exists());
    above.unwrap_or(Path::new("."))
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Where the access log is written.
pub(super) fn log_target(config: &Config) -> Option<LogTarget> {
    match &config.log.access {
        AccessLogTarget::Off => None,
        AccessLogTarget::File(path) => Some(LogTarget::File(PathBuf::from(path))),
        AccessLogTarget::Stdout => Some(LogTarget::StandardOutput),
        AccessLogTarget::Stderr => Some(LogTarget::StandardError),
    }
}

//! Why a server does not start: each error names the cause and the fix.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use runtime::launch::LaunchError;
use sys::credentials::CredentialsError;
use sys::socket::ListenAddress;

use crate::load::LoadError;

/// Why the server did not start, or did not end properly.
#[derive(Debug)]
pub enum ServeError {
    /// Directory or configuration.
    Load(LoadError),
    /// The access log cannot be opened.
    Log(io::Error),
    /// The directory of a cache cannot be used.
    Cache {
        /// The directory.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The directory for uploads cannot be used.
    Uploads {
        /// Its path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The store cannot be opened.
    Store {
        /// Its directory.
        path: PathBuf,
        /// The error.
        failure: store::StoreFailure,
    },
    /// No certificates can be ordered.
    Orders {
        /// The directory of their state.
        state: PathBuf,
        /// The error.
        error: acme::StartError,
    },
    /// The configured user cannot be used.
    User(CredentialsError),
    /// The kernel does not report the number of processors.
    Processors(io::Error),
    /// Mailboxes could not be made.
    Mailboxes(io::Error),
    /// A helper thread could not be started.
    Thread(io::Error),
    /// A scheduler has too few descriptors.
    Descriptors {
        /// How many it would have.
        share: u64,
    },
    /// systemd did not pass this socket.
    NoInheritedSocket(String),
    /// Schedulers or listeners.
    Launch(LaunchError),
    /// The control socket, or the address of the metrics.
    Control(ControlPlace, io::Error),
    /// Something that the server opens again later failed with the rights of its user.
    AsUser {
        /// The user.
        user: String,
        /// What failed.
        error: Box<ServeError>,
    },
    /// A scheduler's pollset failed while it ran.
    Pollset(io::Error),
    /// The kernel did not deliver signals.
    Signals(io::Error),
    /// Schedulers did not finish their turn long after the end of the drain: which ones, and what they were running.
    Stuck(Vec<String>),
}

impl ServeError {
    /// The error of a control scheduler that was not launched.
    pub(super) fn of_control(admin: &config::AdminSettings, error: LaunchError) -> Self {
        let LaunchError::Listen { address, error } = error else { return Self::Launch(error) };
        match address {
            ListenAddress::Unix(socket) => Self::Control(ControlPlace::Socket(socket.path), error),
            ListenAddress::Tcp(address) | ListenAddress::TcpBeside(address) => {
                let is_listen = admin.listen == Some(address);
                let place = if is_listen { ControlPlace::Listen } else { ControlPlace::Metrics };
                Self::Control(place(address), error)
            }
            ListenAddress::Inherited(_) => Self::Launch(LaunchError::Listen { address, error }),
        }
    }
}

/// A listener of the control scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlPlace {
    /// The control socket.
    Socket(PathBuf),
    /// The address of the control over the network.
    Listen(SocketAddr),
    /// The address of the metrics.
    Metrics(SocketAddr),
}

impl fmt::Display for ServeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(formatter),
            Self::Log(error) => {
                write!(formatter, "the access log cannot be written: {error}")?;
                formatter.write_str(match error.kind() {
                    io::ErrorKind::NotFound => "; make its directory, or change `access` in [log]",
                    io::ErrorKind::PermissionDenied => "; allow the server's user to write it",
                    _ => "",
                })
            }
            Self::Store { path, failure } => {
                write!(formatter, "the store in `{}` cannot be opened: {failure}", path.display())
            }
            Self::Cache { path, error } => write!(
                formatter,
                "answers cannot be stored in `{}`: {error}; `directory` of `cache` names a directory for \
                 this cache alone: one that is missing or empty, and that the server's user may write to",
                path.display()
            ),
            Self::Uploads { path, error } => write!(
                formatter,
                "uploads cannot be kept in `{}`: {error}; make the directory, for the server's user to \
                 write to",
                path.display()
            ),
            Self::Orders { state, error } => write!(
                formatter,
                "certificates cannot be kept in `{}`: {error}; make the directory, for the server's user to \
                 write to, or name another one with `state` in [acme]",
                state.display()
            ),
            Self::User(error) => error.fmt(formatter),
            Self::Processors(error) => {
                write!(
                    formatter,
                    "the number of processors is not known: {error}; give --schedulers N"
                )
            }
            Self::Descriptors { share } => write!(
                formatter,
                "a scheduler has {share} descriptors, and needs {}: raise the limit (ulimit -n, \
                 LimitNOFILE=), or start fewer schedulers where they share a table",
                crate::limits::DESCRIPTORS_MIN
            ),
            Self::Mailboxes(error) => write!(formatter, "mailboxes cannot be made: {error}"),
            Self::Thread(error) => write!(formatter, "a helper thread cannot be started: {error}"),
            Self::NoInheritedSocket(name) => write!(
                formatter,
                "systemd passed no listening socket{name}: LISTEN_FDS is not set for this process; start it \
                 from its socket unit"
            ),
            Self::Launch(error) => launch(error, formatter),
            Self::Control(place, error) => control(place, error, formatter),
            Self::AsUser { user, error } => write!(
                formatter,
                "{error}\nthis was tried as the user `{user}`, because the server opens it again after it \
                 has become that user"
            ),
            Self::Pollset(error) => write!(formatter, "a scheduler failed: {error}"),
            Self::Stuck(schedulers) => write!(
                formatter,
                "ended in the middle of work, as a turn did not end: {}",
                schedulers.join("; ")
            ),
            Self::Signals(error) => write!(formatter, "signals cannot be waited for: {error}"),
        }
    }
}

fn launch(error: &LaunchError, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let LaunchError::Listen { address, error: cause } = error else {
        return write!(formatter, "{error}");
    };
    let mend = match cause.kind() {
        io::ErrorKind::AddrInUse => {
            "another process listens there: stop it, or choose another --listen"
        }
        io::ErrorKind::PermissionDenied if address.tcp().is_none() => {
            "allow the user who starts the server to write its directory, or choose another --listen"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need root or CAP_NET_BIND_SERVICE: choose another --listen, or start as root \
             with `user` set"
        }
        io::ErrorKind::AddrNotAvailable => "no interface has this address: choose another --listen",
        io::ErrorKind::NotFound => "make its directory, or choose another --listen",
        _ => "choose another --listen",
    };
    write!(formatter, "cannot listen on {address}: {cause}; {mend}")
}

fn control(
    place: &ControlPlace,
    error: &io::Error,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match place {
        ControlPlace::Socket(path) => {
            write!(formatter, "the admin socket `{}` cannot be made: {error}; ", path.display())?;
            formatter.write_str(match error.kind() {
                io::ErrorKind::NotFound => {
                    "make its directory, or name another socket with `socket` in [admin] or --admin-socket"
                }
                io::ErrorKind::PermissionDenied => {
                    "allow the server's user to write its directory, or name another socket with `socket` \
                     in [admin] or --admin-socket"
                }
                io::ErrorKind::AddrInUse => {
                    "another server has it: stop that one, or name another socket with `socket` in [admin] \
                     or --admin-socket"
                }
                _ => "name another socket with `socket` in [admin] or --admin-socket",
            })
        }
        ControlPlace::Listen(address) => write!(
            formatter,
            "the server cannot be controlled at {address}: {error}; choose another address for `listen` in \
             [admin]"
        ),
        ControlPlace::Metrics(address) => write!(
            formatter,
            "the metrics cannot be served at {address}: {error}; choose another address for `metrics` in \
             [admin]"
        ),
    }
}

impl std::error::Error for ServeError {}

impl From<LoadError> for ServeError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

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
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Directory or configuration.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// The access log cannot be opened.
    #[error(fmt = log)]
    Log(io::Error),
    /// The directory of a cache cannot be used.
    #[error(
        "answers cannot be stored in `{}`: {error}; `directory` of `cache` names a directory for \
         this cache alone: one that is missing or empty, and that the server's user may write to",
        .path.display()
    )]
    Cache {
        /// The directory.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The directory for uploads cannot be used.
    #[error(
        "uploads cannot be kept in `{}`: {error}; make the directory, for the server's user to \
         write to",
        .path.display()
    )]
    Uploads {
        /// Its path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The store cannot be opened.
    #[error("the store in `{}` cannot be opened: {failure}", .path.display())]
    Store {
        /// Its directory.
        path: PathBuf,
        /// The error.
        failure: store::StoreFailure,
    },
    /// No certificates can be ordered.
    #[error(
        "certificates cannot be kept in `{}`: {error}; make the directory, for the server's user to \
         write to, or name another one with `state` in [acme]",
        .state.display()
    )]
    Orders {
        /// The directory of their state.
        state: PathBuf,
        /// The error.
        error: acme::StartError,
    },
    /// The configured user cannot be used.
    #[error("{0}")]
    User(CredentialsError),
    /// The kernel does not report the number of processors.
    #[error("the number of processors is not known: {0}; give --schedulers N")]
    Processors(io::Error),
    /// Mailboxes could not be made.
    #[error("mailboxes cannot be made: {0}")]
    Mailboxes(io::Error),
    /// A helper thread could not be started.
    #[error("a helper thread cannot be started: {0}")]
    Thread(io::Error),
    /// A scheduler has too few descriptors.
    #[error(
        "a scheduler has {share} descriptors, and needs {}: raise the limit (ulimit -n, \
                 LimitNOFILE=), or start fewer schedulers where they share a table",
        crate::limits::DESCRIPTORS_MIN
    )]
    Descriptors {
        /// How many it would have.
        share: u64,
    },
    /// systemd did not pass this socket.
    #[error(
        "systemd passed no listening socket{0}: LISTEN_FDS is not set for this process; start it \
         from its socket unit"
    )]
    NoInheritedSocket(String),
    /// Schedulers or listeners.
    #[error(fmt = launch)]
    Launch(LaunchError),
    /// The control socket, or the address of the metrics.
    #[error(fmt = control)]
    Control(ControlPlace, io::Error),
    /// Something that the server opens again later failed with the rights of its user.
    #[error(
        "{error}\nthis was tried as the user `{user}`, because the server opens it again after it \
         has become that user"
    )]
    AsUser {
        /// The user.
        user: String,
        /// The failure.
        error: Box<ServeError>,
    },
    /// A scheduler's pollset failed while it ran.
    #[error("a scheduler failed: {0}")]
    Pollset(io::Error),
    /// The kernel did not deliver signals.
    #[error("signals cannot be waited for: {0}")]
    Signals(io::Error),
    /// Schedulers did not finish their turn long after the end of the drain: which ones, and what they were running.
    #[error("ended in the middle of work, as a turn did not end: {}", .0.join("; "))]
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

fn log(error: &io::Error, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(formatter, "the access log cannot be written: {error}")?;
    formatter.write_str(match error.kind() {
        io::ErrorKind::NotFound => "; make its directory, or change `access` in [log]",
        io::ErrorKind::PermissionDenied => "; allow the server's user to write it",
        _ => "",
    })
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

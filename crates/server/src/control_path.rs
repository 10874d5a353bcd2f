//! The path of the control socket: the configured one, or the default.
//!
//! Owns where control sockets of servers are found. Opens none.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use config::{Config, ListenerAddress};
use runtime::diagnostic::{self, Level};

/// The directory of this user's control sockets: `/run/velodrome` for root, otherwise below `XDG_RUNTIME_DIR`, or if
/// that is not set below the directory for temporary files.
pub fn control_directory() -> PathBuf {
    if sys::credentials::is_root() {
        return PathBuf::from("/run/velodrome");
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(directory) => PathBuf::from(directory).join("velodrome"),
        None => std::env::temp_dir().join(format!("velodrome-{}", sys::credentials::own_user_id())),
    }
}

/// The control sockets in a directory.
pub fn control_sockets(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sock");
    let mut sockets: Vec<_> = entries.map(|entry| entry.path()).filter(is_socket).collect();
    sockets.sort();
    sockets
}

/// The configured control socket, or one named after the first address.
pub(crate) fn control_path(config: &Config) -> PathBuf {
    if let Some(path) = &config.admin.socket {
        return path.clone();
    }
    let name = match config.listeners.first().map(|listener| &listener.address) {
        Some(ListenerAddress::Tcp(address)) if address.port() > 0 => address.port().to_string(),
        _ => format!("pid-{}", std::process::id()),
    };
    control_directory().join(format!("{name}.sock"))
}

/// The same, in a directory that exists. `None` if the directory of the default one cannot be created.
pub(crate) fn control_socket(config: &Config) -> Option<PathBuf> {
    let path = control_path(config);
    if config.admin.socket.is_some() {
        return Some(path);
    }
    let directory = control_directory();
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    match made {
        Ok(()) => Some(path),
        Err(error) => {
            diagnostic::write(
                Level::Warn,
                format_args!(
                    "no control socket: `{}` cannot be made: {error}; name one with [admin] socket",
                    directory.display()
                ),
            );
            None
        }
    }
}

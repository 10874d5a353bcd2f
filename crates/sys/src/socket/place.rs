//! Where a listener may be: the file of a Unix socket, and what can be told about an address beforehand.
//!
//! Owns that only sockets are replaced, and only our own file is removed. Never waits for a program that answers there.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::{ListenAddress, Listener};

/// The file of a Unix socket. Its name may belong to another one tomorrow.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Its file system and inode.
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf(), identity: Self::identity_of(path) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn identity_of(path: &Path) -> Option<(u64, u64)> {
        std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
    }

    /// Removes the file, if the name still belongs to it.
    pub(super) fn remove(&self) -> io::Result<()> {
        if Self::identity_of(&self.path) != self.identity {
            return Ok(());
        }
        std::fs::remove_file(&self.path)
    }
}

/// Whether the kernel has IPv6.
pub fn has_ipv6() -> bool {
    rustix::net::socket(AddressFamily::INET6, SocketType::STREAM, None).is_ok()
}

/// Whether this process may listen at an address, as far as can be told without disturbing a program that listens there
/// now.
///
/// # Errors
/// Why not: no permission, no interface with that address, no directory for the socket.
pub fn may_listen(address: &ListenAddress) -> io::Result<()> {
    match address {
        ListenAddress::Tcp(address) | ListenAddress::TcpBeside(address) => {
            let listener = Listener::tcp_socket(*address)?;
            match rustix::net::bind(&listener.descriptor, address) {
                Err(rustix::io::Errno::ADDRINUSE) => Ok(()),
                bound => Ok(bound?),
            }
        }
        ListenAddress::Unix(address) => {
            SocketAddrUnix::new(&address.path)?;
            is_socket(&address.path)?;
            let parent = address.path.parent().filter(|parent| !parent.as_os_str().is_empty());
            crate::file::may_create_in(parent.unwrap_or(Path::new(".")))
        }
        ListenAddress::Inherited(_) => Ok(()),
    }
}

/// Whether a socket has this path; any other file is an error.
fn is_socket(path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => Ok(true),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file is there that is not a socket; it is not replaced",
        )),
        // A fault of the path is found when the socket is bound.
        Err(_) => Ok(false),
    }
}

/// Removes the file of a socket on which no program listens; one on which a program answers is an error.
pub(super) fn remove_stale(path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    // The kernel refuses a connection to any other file in the same way as to a stale socket.
    if !is_socket(path)? {
        return Ok(());
    }
    // A program that is stopped has a full queue at some time: it is not waited for.
    let probe = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    match rustix::net::connect(&probe, address) {
        Ok(()) | Err(rustix::io::Errno::AGAIN) => {
            Err(io::Error::new(io::ErrorKind::AddrInUse, "another process answers there"))
        }
        Err(rustix::io::Errno::CONNREFUSED) => std::fs::remove_file(path),
        Err(error) => Err(error.into()),
    }
}

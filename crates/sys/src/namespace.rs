//! Network namespaces of other programs: entering one, its cookie, and the `/sys` that belongs to it.
//!
//! Owns the calls. The thread that has entered a namespace stays in it; nothing is mounted anywhere.

#![expect(clippy::disallowed_types, reason = "a command has one descriptor table")]

use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Moves the calling thread into the network namespace of a program.
///
/// # Errors
/// If there is no such program, or if it is not permitted (it takes `CAP_SYS_ADMIN`).
pub fn enter_network(program: u32) -> io::Result<()> {
    let namespace = File::open(format!("/proc/{program}/ns/net"))?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// A new `/sys` with the devices of the namespace of the calling thread. It is mounted nowhere: its files are found
/// below `/proc/self/fd/NUMBER`.
///
/// # Errors
/// If it is not permitted, or before Linux 5.2.
pub fn devices() -> io::Result<OwnedFd> {
    let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(context.as_fd())?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

/// The number of the network namespace of the calling thread, which no other namespace gets until the host reboots
/// (`SO_NETNS_COOKIE`, Linux 5.14).
///
/// # Errors
/// If the kernel does not know the option.
pub fn network_cookie() -> io::Result<u64> {
    const COOKIE: libc::c_int = 71;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    let (mut cookie, mut length) = (0_u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `length` bytes, which is the size of the number, into it.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if status == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_namespace_has_a_cookie_and_devices() {
        // A kernel before 5.14 has no cookie.
        if let Ok(cookie) = network_cookie() {
            assert_eq!(network_cookie().ok(), Some(cookie));
        }
        match devices() {
            Ok(devices) => {
                let path = format!("/proc/self/fd/{}/class/net/lo", devices.as_raw_fd());
                assert!(std::path::Path::new(&path).exists(), "{path}");
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
        assert!(enter_network(u32::MAX).is_err());
    }
}

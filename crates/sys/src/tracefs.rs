//! The kernel's list of tracepoints (tracefs), read where it is not mounted.
//!
//! Owns a mount that no path leads to, and that ends with its descriptor. Mounts nothing that others could see.
#![expect(
    clippy::disallowed_types,
    reason = "the descriptor lives within one call, and no table has it"
)]

use std::io::{self, Read as _};

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// The text of a file of tracefs, such as `events/raw_syscalls/sys_enter/id`.
///
/// # Errors
/// `PermissionDenied` without `CAP_SYS_ADMIN`, `NotFound` if there is no such file, others if the kernel has no
/// tracefs.
pub fn read(path: &str) -> io::Result<String> {
    let opened = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&opened)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
    let mounted = fsmount(&opened, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    let file = openat(&mounted, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    std::fs::File::from(file).read_to_string(&mut text)?;
    Ok(text)
}

// Miri has no such system calls.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_have_numbers_where_the_kernel_shows_them() {
        match read("events/raw_syscalls/sys_enter/id") {
            Ok(text) => {
                assert!(text.trim().parse::<u64>().is_ok_and(|number| number > 0), "{text}")
            }
            // Without root, in a container, or with a kernel that has none.
            Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
        }
        assert!(read("events/nothing/id").is_err());
    }
}

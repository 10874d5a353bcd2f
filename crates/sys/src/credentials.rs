//! Giving up root: looking up a user, trying something as that user, and becoming that user permanently.
//!
//! Owns the order of the steps and the check that they cannot be undone. Never changes capabilities: when a process
//! leaves user 0 the kernel drops them, unless it was started with other settings.

use std::ffi::{CString, c_char};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::path::Path;
use std::ptr;
use std::thread;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, getegid, geteuid, getgid, getuid};

use crate::limits::{USER_ENTRY_BYTES, USER_GROUPS_MAX};

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    name: CString,
    user_id: u32,
    group_id: u32,
}

impl User {
    /// Reads a user by name from the user database.
    ///
    /// # Errors
    /// [`CredentialsError::NoSuchUser`], or [`CredentialsError::UserDatabase`] when it could not be read.
    pub fn look_up(name: &str) -> Result<Self, CredentialsError> {
        let no_such_user = || CredentialsError::NoSuchUser { name: name.to_owned() };
        let name_with_end = CString::new(name).map_err(|_holds_nul| no_such_user())?;
        let mut buffer = vec![0_u8; 1024];
        loop {
            match read_entry(&name_with_end, &mut buffer) {
                Ok(Some((user_id, group_id))) => {
                    return Ok(Self { name: name_with_end, user_id, group_id });
                }
                Ok(None) => return Err(no_such_user()),
                Err(error)
                    if error.raw_os_error() == Some(libc::ERANGE)
                        && buffer.len() < USER_ENTRY_BYTES =>
                {
                    buffer.resize(buffer.len() * 2, 0);
                }
                Err(source) => {
                    return Err(CredentialsError::UserDatabase { name: name.to_owned(), source });
                }
            }
        }
    }

    /// The name by which it was looked up.
    pub fn name(&self) -> &str {
        self.name.to_str().expect("it was made from a str")
    }

    /// The user's number.
    pub fn user_id(&self) -> u32 {
        self.user_id
    }

    /// The number of the user's first group.
    pub fn group_id(&self) -> u32 {
        self.group_id
    }

    /// Makes this user the owner of an open file.
    ///
    /// # Errors
    /// The error of `fchown`.
    pub fn own(&self, file: impl AsFd) -> io::Result<()> {
        let (user, group) = (Uid::from_raw(self.user_id), Gid::from_raw(self.group_id));
        Ok(rustix::fs::fchown(file, Some(user), Some(group))?)
    }

    /// Makes this user the owner of a directory or a socket, given by its path. A link is not followed, and nothing
    /// else is changed: in a directory that others may write, the path may lead to any file.
    ///
    /// # Errors
    /// The error of the kernel, or one that says that it is neither.
    pub fn own_directory_or_socket(&self, path: &Path) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode);
        if !matches!(kind, FileType::Directory | FileType::Socket) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let (user, group) = (Uid::from_raw(self.user_id), Gid::from_raw(self.group_id));
        Ok(rustix::fs::chownat(found, "", Some(user), Some(group), AtFlags::EMPTY_PATH)?)
    }

    /// Does something with the rights of this user, on a thread of its own. The rest of the process keeps its rights,
    /// and what the thread opens belongs to the process.
    ///
    /// # Errors
    /// If this process may not become the user.
    pub fn doing<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, CredentialsError> {
        if self.user_id == 0 {
            return Err(CredentialsError::IsRoot { name: self.name().to_owned() });
        }
        if self.is_current() {
            return Ok(work());
        }
        let groups = groups_of(self)?;
        let become_user = move || {
            let (user, group) = (Uid::from_raw(self.user_id), Gid::from_raw(self.group_id));
            let refused = |step| move |error: Errno| refusal(self, step, error.into());
            rustix::thread::set_thread_groups(&groups).map_err(refused(PrivilegeStep::Groups))?;
            rustix::thread::set_thread_res_gid(group, group, group)
                .map_err(refused(PrivilegeStep::Group))?;
            rustix::thread::set_thread_res_uid(user, user, user)
                .map_err(refused(PrivilegeStep::User))
        };
        thread::scope(|scope| {
            let thread = scope.spawn(|| become_user().map(|()| work()));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Whether real and effective ids already belong to this user.
    fn is_current(&self) -> bool {
        let users = [getuid().as_raw(), geteuid().as_raw()];
        let groups = [getgid().as_raw(), getegid().as_raw()];
        users == [self.user_id; 2] && groups == [self.group_id; 2]
    }
}

/// The numbers of user and group; `None` if there is no such user.
fn read_entry(name: &CString, buffer: &mut [u8]) -> io::Result<Option<(u32, u32)>> {
    let mut entry = MaybeUninit::<libc::passwd>::zeroed();
    let mut found = ptr::null_mut();
    let room: *mut c_char = buffer.as_mut_ptr().cast();
    // SAFETY: the name ends with NUL; entry, buffer (with its length) and found are ours to write to.
    let error = unsafe {
        libc::getpwnam_r(name.as_ptr(), entry.as_mut_ptr(), room, buffer.len(), &raw mut found)
    };
    match error {
        0 if found.is_null() => Ok(None),
        0 => {
            // SAFETY: zeroed is a valid passwd (null pointers, zero numbers), and the call filled it.
            let entry = unsafe { entry.assume_init() };
            Ok(Some((entry.pw_uid, entry.pw_gid)))
        }
        // The errors that getpwnam(3) lists for "not found" besides zero.
        libc::ENOENT | libc::ESRCH => Ok(None),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Makes the whole process, with all its threads, run as `user`: sets its groups, its group and its user id, in this
/// order and real, effective and saved together; then tries to become root again and fails if that succeeds. A process
/// that already runs as this user keeps the groups it was started with.
///
/// # Errors
/// See [`CredentialsError`]. After an error the process may have some of the new ids, so it must end.
pub fn drop_to(user: &User) -> Result<(), CredentialsError> {
    if user.user_id == 0 {
        return Err(CredentialsError::IsRoot { name: user.name().to_owned() });
    }
    if user.is_current() {
        return prove_root_is_gone(user);
    }
    take_step(user, PrivilegeStep::Groups)?;
    take_step(user, PrivilegeStep::Group)?;
    take_step(user, PrivilegeStep::User)?;
    prove_root_is_gone(user)
}

fn take_step(user: &User, step: PrivilegeStep) -> Result<(), CredentialsError> {
    let (user_id, group_id) = (user.user_id, user.group_id);
    let status = match step {
        // SAFETY: the name ends with NUL and is only read.
        PrivilegeStep::Groups => unsafe { libc::initgroups(user.name.as_ptr(), group_id) },
        // SAFETY: three numbers; the C library applies them to all threads.
        PrivilegeStep::Group => unsafe { libc::setresgid(group_id, group_id, group_id) },
        // SAFETY: three numbers; the C library applies them to all threads.
        PrivilegeStep::User => unsafe { libc::setresuid(user_id, user_id, user_id) },
    };
    if status == 0 {
        return Ok(());
    }
    Err(refusal(user, step, io::Error::last_os_error()))
}

fn refusal(user: &User, step: PrivilegeStep, source: io::Error) -> CredentialsError {
    let name = user.name().to_owned();
    match source.raw_os_error() {
        Some(libc::EPERM) => CredentialsError::NotRoot { name, step },
        _ => CredentialsError::Refused { name, step, source },
    }
}

/// The groups of a user, as the group database lists them.
fn groups_of(user: &User) -> Result<Vec<Gid>, CredentialsError> {
    let mut groups = vec![0; 64];
    loop {
        let mut count = libc::c_int::try_from(groups.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the name ends with NUL; the list has room for `count` numbers; the call writes no more, and then how
        // many there are.
        let status = unsafe {
            libc::getgrouplist(
                user.name.as_ptr(),
                user.group_id,
                groups.as_mut_ptr(),
                &raw mut count,
            )
        };
        if status >= 0 {
            groups.truncate(usize::try_from(count).unwrap_or(0));
            return Ok(groups.into_iter().map(Gid::from_raw).collect());
        }
        if groups.len() >= USER_GROUPS_MAX {
            let source = io::Error::from_raw_os_error(libc::ERANGE);
            return Err(CredentialsError::UserDatabase { name: user.name().to_owned(), source });
        }
        groups.resize(groups.len() * 2, 0);
    }
}

/// Fails if the process is not completely this user, or if it can become user 0 or (for a user not in that group) group
/// 0 again.
fn prove_root_is_gone(user: &User) -> Result<(), CredentialsError> {
    // SAFETY: one number; it has to be refused.
    let user_regained = unsafe { libc::setuid(0) } == 0;
    // SAFETY: one number; it has to be refused, unless the user's own group is 0.
    let group_regained = user.group_id != 0 && unsafe { libc::setgid(0) } == 0;
    if user_regained || group_regained || !user.is_current() {
        return Err(CredentialsError::RootRegained { name: user.name().to_owned() });
    }
    Ok(())
}

/// The steps of [`drop_to`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivilegeStep {
    /// The supplementary groups.
    Groups,
    /// The group.
    Group,
    /// The user.
    User,
}

impl fmt::Display for PrivilegeStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Groups => "setting the supplementary groups (initgroups)",
            Self::Group => "setting the group (setresgid)",
            Self::User => "setting the user (setresuid)",
        })
    }
}

/// Why the process does not run as the wanted user. Each error says how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The configuration names a user that this machine does not have.
    #[error(
        "user {name:?} does not exist: create it (useradd --system {name:?}) or set another one"
    )]
    NoSuchUser {
        /// The name.
        name: String,
    },
    /// The machine's user database could not be read.
    #[error(
        "user {name:?} could not be looked up: {source}; check the user database (getent passwd \
         {name:?})"
    )]
    UserDatabase {
        /// The name that was looked up.
        name: String,
        /// The error of the C library.
        source: io::Error,
    },
    /// The configuration says to drop root privileges to root.
    #[error("user {name:?} has number 0 and is root: name a user without privileges")]
    IsRoot {
        /// The name, which need not be `root`.
        name: String,
    },
    /// The process was started without the right to change its user.
    #[error(
        "cannot become user {name:?}: {step} is not permitted; start as root or as that user, or \
         leave the user out"
    )]
    NotRoot {
        /// The wanted user.
        name: String,
        /// The step that was refused.
        step: PrivilegeStep,
    },
    /// The kernel refused a step for another reason.
    #[error(
        "cannot become user {name:?}: {step} failed: {source}; for \"try again\" raise that \
         user's process limit (ulimit -u)"
    )]
    Refused {
        /// The wanted user.
        name: String,
        /// The step.
        step: PrivilegeStep,
        /// The kernel's reason.
        source: io::Error,
    },
    /// Root was given up but could be regained.
    #[error(
        "became user {name:?} but root can be taken back: start without ambient capabilities \
         CAP_SETUID and CAP_SETGID, and without secure bits"
    )]
    RootRegained {
        /// The wanted user.
        name: String,
    },
}

/// The effective user id of this process.
pub fn own_user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    own_user_id() == 0
}

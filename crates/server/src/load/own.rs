//! Directories of the server's user: `{uid}` in the path of the store and of uploads.
//!
//! Owns the number that it stands for, and that such a directory, with all below it, belongs to this user alone. It may
//! be in a place where everybody may make directories, such as `/var/tmp`, so one that is there already is only used if
//! nobody else could have filled it.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use config::Config;
use sys::credentials::{User, is_root, own_user_id};

use super::LoadError;

/// Stands for the number of the server's user.
const UID: &str = "{uid}";

/// Bits of a mode that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// Replaces `{uid}`, and makes the directories that are named after the user.
pub(super) fn settle(config: &mut Config) -> Result<(), LoadError> {
    let user = config.user.as_deref().and_then(|name| User::look_up(name).ok());
    for path in [&mut config.store.path, &mut config.pages.uploads].into_iter().flatten() {
        let Some(own) = own_part(path) else { continue };
        let number = user.as_ref().map_or_else(own_user_id, User::user_id);
        let named =
            |path: &Path| PathBuf::from(path.to_string_lossy().replace(UID, &number.to_string()));
        let own = named(&own);
        *path = named(path);
        let mut parts: Vec<&Path> =
            path.ancestors().take_while(|part| part.starts_with(&own)).collect();
        parts.reverse();
        for part in parts {
            make(part, number, user.as_ref())
                .map_err(|error| LoadError::Own { path: part.to_path_buf(), error })?;
        }
    }
    Ok(())
}

/// The path up to the part that is named after the user.
fn own_part(path: &Path) -> Option<PathBuf> {
    let is_own =
        |part: &&Path| part.file_name().is_some_and(|name| name.to_string_lossy().contains(UID));
    path.ancestors().filter(is_own).last().map(Path::to_path_buf)
}

fn make(path: &Path, number: u32, user: Option<&User>) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            if let Some(user) = user.filter(|_| is_root()) {
                user.own_directory_or_socket(path)?;
            }
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // Not of the target of a link: the user that made the link chose that target.
    let found = fs::symlink_metadata(path)?;
    let why = match found {
        _ if !found.is_dir() => "it is not a directory",
        _ if found.uid() != number => "it belongs to another user",
        _ if found.mode() & OTHERS_WRITE != 0 => "other users may write to it",
        _ => return Ok(()),
    };
    Err(io::Error::other(why))
}

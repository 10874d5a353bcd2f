//! The path of a root through directories and links.
//!
//! Owns in which directories a name affects where the path leads. Never looks at what is at its
//! end.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::limits::WAY_LINKS_MAX;

/// A name on the path, in its directory: a directory, or a link that leads on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathStep {
    pub directory: PathBuf,
    pub name: OsString,
}

/// All names on the current path, following links. A missing name does not end the list, because it may be created.
pub(super) fn way_to(path: &Path) -> Vec<PathStep> {
    let mut steps = Vec::new();
    let mut links = 0;
    let mut directory = PathBuf::new();
    let mut ahead: VecDeque<OsString> = pieces(path).collect();
    while let Some(piece) = ahead.pop_front() {
        match Path::new(&piece).components().next() {
            Some(Component::Normal(_)) => {}
            Some(Component::ParentDir) => {
                directory.pop();
                continue;
            }
            Some(Component::RootDir | Component::Prefix(_)) => {
                directory = PathBuf::from(piece);
                continue;
            }
            Some(Component::CurDir) | None => continue,
        }
        let place = directory.join(&piece);
        steps.push(PathStep { directory: directory.clone(), name: piece });
        match std::fs::read_link(&place) {
            Ok(target) if links < WAY_LINKS_MAX => {
                links += 1;
                for piece in pieces(&target).rev() {
                    ahead.push_front(piece);
                }
            }
            _ => directory = place,
        }
    }
    steps
}

fn pieces(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().map(|component| component.as_os_str().to_owned())
}

// Miri does not support links.
#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_name_that_decides_where_a_path_leads_is_on_its_way() {
        let name = format!("velodrome-way-{}", std::process::id());
        let place = std::env::temp_dir().canonicalize().unwrap().join(name);
        fs::create_dir_all(place.join("releases/one")).unwrap();
        symlink("releases/one", place.join("current")).unwrap();
        symlink(place.join("current/../../again"), place.join("absolute")).unwrap();
        symlink("again", place.join("again")).unwrap();
        let steps = |path: &str| -> Vec<String> {
            let own = way_to(&place.join(path)).into_iter().filter_map(|step| {
                let directory = step.directory.strip_prefix(&place).ok()?.to_owned();
                Some(directory.join(step.name).display().to_string())
            });
            own.collect()
        };
        let way = ["current", "releases", "releases/one", "releases/one/public"];
        assert_eq!(steps("current/public"), way);
        let way = ["absolute", "current", "releases", "releases/one"];
        assert_eq!(steps("absolute")[..4], way);
        assert_eq!(steps("gone/later"), ["gone", "gone/later"]);
        assert_eq!(
            steps("absolute").len(),
            4 + 1 + WAY_LINKS_MAX - 2,
            "a ring of links has an end"
        );
        fs::remove_dir_all(&place).unwrap();
    }
}

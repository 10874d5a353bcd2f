//! The file in which profilers look for the names of native code: `/tmp/perf-PID.map`.
//!
//! Owns its mark, by which the files of servers that have ended are told from those of other programs, and removed.

use std::fs::{OpenOptions, read_dir, read_to_string, remove_file, symlink_metadata};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::way::Way;
use super::{Failure, parse};

/// Where profilers look.
const PLACE: &str = "/tmp";

/// The first line of each file: to a profiler, an empty piece where no program has code.
const MARK: &str = "1 0 [Velodrome]\n";

/// The native code of pages, a line for each piece.
pub(crate) fn native_code(way: &Way) -> Result<String, Failure> {
    Ok(way.ask("GET", "/native-code")?)
}

/// Writes the native code of pages to a file, or where profilers look for it; there only if there is some. Returns the
/// file and the number of entries.
pub(super) fn write(way: &Way, output: Option<&Path>) -> Result<(PathBuf, usize), Failure> {
    let map = native_code(way)?;
    let count = map.lines().count();
    if let Some(path) = output {
        return create(path, &map).map(|()| (path.to_owned(), count));
    }
    remove_ended(Path::new(PLACE), |process| Path::new(&format!("/proc/{process}")).exists());
    let status: Value = parse(&way.ask("GET", "/status")?)?;
    let path = Path::new(PLACE).join(format!("perf-{}.map", status["process"]));
    match count {
        0 => remove(&path)?,
        _ => create(&path, &format!("{MARK}{map}"))?,
    }
    Ok((path, count))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

fn remove(path: &Path) -> Result<(), Failure> {
    match remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

/// In a world-writable directory the name may be a link of another user: the file is created anew.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    remove(path)?;
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| failed(path, &error))
}

/// Removes the files of this user and with the mark whose server has ended. One that cannot be removed stays.
fn remove_ended(place: &Path, is_running: impl Fn(u32) -> bool) {
    let Ok(own) = symlink_metadata("/proc/self") else { return };
    for entry in read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix("perf-")?.strip_suffix(".map"));
        let Some(process) = number.and_then(|number| number.parse().ok()) else { continue };
        // A link or a pipe is not read.
        let is_ours = entry.metadata().is_ok_and(|file| file.is_file() && file.uid() == own.uid());
        if !is_running(process)
            && is_ours
            && read_to_string(entry.path()).is_ok_and(|text| text.starts_with(MARK))
        {
            let _stays = remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_files_of_ended_servers_are_removed() {
        let place = std::env::temp_dir().join(format!("velodrome-maps-{}", std::process::id()));
        std::fs::create_dir_all(&place).expect("a directory");
        let marked = format!("{MARK}1000 20 page index.page.html:1\n");
        for (name, text) in [
            ("perf-1.map", &*marked),
            ("perf-2.map", &*marked),
            ("perf-3.map", "1000 20 JS:*serve a.js:3\n"),
            ("perf-x.map", &*marked),
            ("other", &*marked),
        ] {
            std::fs::write(place.join(name), text).expect("a file");
        }
        std::os::unix::fs::symlink(place.join("other"), place.join("perf-4.map")).expect("a link");
        remove_ended(&place, |process| process == 2);
        let mut left: Vec<String> = read_dir(&place)
            .expect("the directory")
            .map(|entry| entry.expect("an entry").file_name().display().to_string())
            .collect();
        left.sort_unstable();
        std::fs::remove_dir_all(&place).expect("no directory");
        assert_eq!(left, ["other", "perf-2.map", "perf-3.map", "perf-4.map", "perf-x.map"]);
    }
}

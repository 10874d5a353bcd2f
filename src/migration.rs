//! `velodrome check --from-nginx` and `--from-caddy`: the files of another program, and the printed result.
//!
//! Owns where included files are, and that nothing but ordinary files of a bounded size is read. Never reads their
//! syntax: `migrate` does.

use std::path::{Path, PathBuf};

use migrate::limits::{INCLUDES_MAX, TEXT_SIZE_MAX};
use migrate::{IncludedFiles, SyntaxError};

use crate::Failure;
use crate::output;

/// Reads a configuration and prints ours.
pub(crate) fn print(
    file: &Path,
    read: fn(&str, &str, &dyn IncludedFiles) -> Result<String, SyntaxError>,
) -> Result<(), Failure> {
    let (name, text) = read_file(file).map_err(Failure::Failed)?;
    let made = read(&text, &name, &Beside);
    output::print(&made.map_err(Failure::failed)?)
}

/// The files beside the one that includes them.
struct Beside;

impl IncludedFiles for Beside {
    fn matching(&self, from: &str, pattern: &str) -> Result<Vec<(String, String)>, String> {
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(pattern);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let directory = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let is_pattern = |text: &str| text.contains(['*', '?', '[']);
        if is_pattern(&directory.to_string_lossy()) || name.contains(['?', '[']) {
            return Err("only a `*` in the name of a file is read".to_owned());
        }
        if !is_pattern(&name) {
            return read_file(&path).map(|file| vec![file]);
        }
        let mut paths = matching_in(&directory, &name)?;
        paths.sort();
        paths.iter().map(|path| read_file(path)).collect()
    }
}

/// The ordinary files of a directory whose names fit; hidden ones do not.
fn matching_in(directory: &Path, name: &str) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut paths = Vec::new();
    let directory_or_here =
        if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    for entry in std::fs::read_dir(directory_or_here).map_err(failed)? {
        let path = directory.join(entry.map_err(failed)?.file_name());
        let is_wanted = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|found| !found.starts_with('.') && fits(name, found));
        // A directory or a device that fits is no file to include; a file that cannot be read is told below.
        if is_wanted && !path.is_dir() {
            paths.push(path);
        }
        if paths.len() > INCLUDES_MAX {
            return Err(format!("{}: more than {INCLUDES_MAX} files", directory.display()));
        }
    }
    Ok(paths)
}

/// Whether a name fits a pattern, in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return name.ends_with(piece);
        }
        // The first place is as good as a later one, because what follows can be anywhere behind it.
        let Some((_, after)) = name.split_once(piece) else { return false };
        name = after;
    }
    true
}

/// The name and the text of a regular file.
fn read_file(path: &Path) -> Result<(String, String), String> {
    let text = server::load::named_text(path, TEXT_SIZE_MAX);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((path.display().to_string(), text))
}

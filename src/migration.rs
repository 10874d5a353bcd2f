//! `velodrome check --from-nginx` and `--from-caddy`: the files of another program, and the printed result.
//!
//! Owns where included files are. Never reads their syntax: `migrate` does.

use std::path::{Path, PathBuf};

use migrate::{Files, SyntaxError};

use crate::Failure;
use crate::output;

/// Reads a configuration and prints ours.
pub(crate) fn print(
    file: &Path,
    read: fn(&str, &str, &dyn Files) -> Result<String, SyntaxError>,
) -> Result<(), Failure> {
    let failed = |error| Failure::Failed(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(failed)?;
    let beside = Beside(file.parent().unwrap_or(Path::new("")).to_path_buf());
    let made = read(&text, &file.display().to_string(), &beside);
    output::print(&made.map_err(|error| Failure::Failed(error.to_string()))?)
}

/// The files beside the main one.
struct Beside(PathBuf);

impl Files for Beside {
    fn matching(&self, pattern: &str) -> Result<Vec<(String, String)>, String> {
        let path = self.0.join(pattern);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let Some((before, after)) = name.split_once('*') else {
            return read(&path).map(|file| vec![file]);
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_wanted = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
                name.len() >= before.len() + after.len()
                    && name.starts_with(before)
                    && name.ends_with(after)
                    && !name.starts_with('.')
            });
            if is_wanted && path.is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| read(path)).collect()
    }
}

fn read(path: &Path) -> Result<(String, String), String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((path.display().to_string(), text))
}

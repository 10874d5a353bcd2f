//! Where the project lies and which files belong to it.
//!
//! Owns the questions to git and to cargo's metadata. Never reads what is in a file.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::Failure;
use crate::process;

/// The folder that holds the root Cargo.toml.
pub(crate) fn root() -> PathBuf {
    // `cargo run` says where the package lies now; the compile-time value serves a bare binary.
    let package = std::env::var("CARGO_MANIFEST_DIR")
        .unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let package = PathBuf::from(package);
    package.parent().map(Path::to_path_buf).unwrap_or(package)
}

/// A cargo command that runs in the project's root.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.current_dir(root());
    command
}

/// The same on nightly; the stable toolchain that runs this tool must not shadow it.
pub(crate) fn nightly_cargo() -> Command {
    let mut command = Command::new("cargo");
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    command.current_dir(root()).arg("+nightly");
    command
}

/// Builds what these words of `cargo build` choose, in release.
pub(crate) fn build_release(words: &[&str]) -> Result<(), Failure> {
    let mut command = cargo();
    command.args(["build", "--release", "--quiet"]).args(words);
    process::run(&mut command, &format!("cargo build {}", words.join(" ")))
}

/// The output of `cargo metadata` about the packages of one workspace.
pub(crate) fn metadata(manifest: &Path) -> Result<Value, Failure> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()?;
    if !output.status.success() {
        return Err(Failure::Work(format!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Failure::Work(format!("cargo metadata: {error}")))
}

/// The folder builds go to, which the environment may have moved.
pub(crate) fn target_folder() -> Result<PathBuf, Failure> {
    let metadata = metadata(&root().join("Cargo.toml"))?;
    match metadata["target_directory"].as_str() {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Err(Failure::Work("cargo metadata names no target directory".to_owned())),
    }
}

/// The files of the project relative to its root: tracked, or new and not ignored.
pub(crate) fn files() -> Result<Vec<String>, Failure> {
    let root = root();
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .map_err(|error| Failure::Work(format!("git: {error}; install git")))?;
    if !output.status.success() {
        return Err(Failure::Work(format!(
            "git ls-files failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut files: Vec<String> = text
        .split('\0')
        .filter(|path| !path.is_empty() && root.join(path).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The files that the last commits have changed, or that are not committed; none without a history.
pub(crate) fn changed_files(commits: usize) -> Result<Vec<String>, Failure> {
    let git = |words: &[&str]| -> Result<Option<String>, Failure> {
        let output = Command::new("git").args(words).current_dir(root()).output()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(output.status.success().then_some(text))
    };
    // The state before the first of them is one further back.
    let count = (commits + 1).to_string();
    let first = git(&["rev-list", "--first-parent", "--max-count", &count, "HEAD"])?;
    let Some(first) = first.as_deref().and_then(|list| list.lines().last()) else {
        return Ok(Vec::new());
    };
    let changed = git(&["diff", "--name-only", first])?.unwrap_or_default();
    Ok(changed.lines().map(str::to_owned).collect())
}

//! `[log]` and `[admin]`: what the operator sees of a running server.
//!
//! Owns the keys of these sections. Never opens a log or a socket.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::Problems;
use super::choice::choice;
use super::section::{Item, Section};
use super::value::{borrowed_text, cannot_be, path};
use super::{Address, Overrides};
use crate::limits::UNIX_PATH_SIZE_MAX;

/// `[log]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Where the line of each request goes.
    pub access: AccessLog,
    /// The shape of such a line.
    pub format: LogFormat,
    /// The least level of the server's own messages, which go to standard error.
    pub level: LogLevel,
}

/// Where the access log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessLog {
    /// Nowhere.
    Off,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// To the end of a file.
    File(PathBuf),
}

/// The shape of an access log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// The combined log format.
    Combined,
    /// One JSON object.
    Json,
}

/// How much a message of the server matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Something does not work.
    Error,
    /// Something works worse than it could.
    Warn,
    /// Reloads, drains and reopened logs: orders that were carried out.
    Info,
    /// Signals and what was found at the start.
    Debug,
}

/// `[admin]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Admin {
    /// The control socket; `None` for the path the caller derives.
    pub socket: Option<PathBuf>,
    /// The address of the metrics listener; `None` for none.
    pub metrics: Option<SocketAddr>,
}

impl Default for Log {
    fn default() -> Self {
        Self { access: AccessLog::Off, format: LogFormat::Combined, level: LogLevel::Info }
    }
}

/// Reads `[log]` over the defaults.
pub(super) fn read(section: Option<Section<'_>>, base: &Path, problems: &mut Problems) -> Log {
    let mut log = Log::default();
    let Some(section) = section else { return log };
    section.read_into("access", &mut log.access, problems, |item| access(item, base));
    section.read_into("format", &mut log.format, problems, |item| {
        choice(item, &[("combined", LogFormat::Combined), ("json", LogFormat::Json)])
    });
    section.read_into("level", &mut log.level, problems, |item| {
        choice(
            item,
            &[
                ("error", LogLevel::Error),
                ("warn", LogLevel::Warn),
                ("info", LogLevel::Info),
                ("debug", LogLevel::Debug),
            ],
        )
    });
    log
}

fn access(item: &Item<'_>, base: &Path) -> Result<AccessLog, String> {
    let text = borrowed_text(item, "a path, \"stdout\", \"stderr\" or \"off\" in quotes")?;
    Ok(match text {
        "off" => AccessLog::Off,
        "stdout" => AccessLog::Stdout,
        "stderr" => AccessLog::Stderr,
        _ => AccessLog::File(path(item, base)?),
    })
}

/// Reads `[admin]` over the defaults.
pub(super) fn read_admin(
    section: Option<Section<'_>>,
    base: &Path,
    overrides: &Overrides,
    problems: &mut Problems,
) -> Admin {
    let mut admin = Admin::default();
    if let Some(section) = section {
        admin.socket = section.read("socket", problems, |item| socket(item, base));
        admin.metrics = section.read("metrics", problems, metrics);
    }
    if let Some(socket) = &overrides.admin_socket {
        admin.socket = Some(socket.clone());
    }
    admin
}

fn socket(item: &Item<'_>, base: &Path) -> Result<PathBuf, String> {
    let path = path(item, base)?;
    if path.as_os_str().len() > UNIX_PATH_SIZE_MAX {
        return Err(format!("`socket` must be at most {UNIX_PATH_SIZE_MAX} bytes long"));
    }
    Ok(path)
}

fn metrics(item: &Item<'_>) -> Result<SocketAddr, String> {
    let text = borrowed_text(item, "an address in quotes such as \"127.0.0.1:9090\"")?;
    match text.parse() {
        Ok(Address::Tcp(address)) => Ok(address),
        Ok(_) => Err(cannot_be(item, text, "metrics are served on an address and port only")),
        Err(error) => Err(cannot_be(item, text, &error.to_string())),
    }
}

//! `[log]` and `[admin]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `log` does.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use wire::access_log::LogFormat;

use crate::model::encryption::Tls;

/// `[log]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Where the access log is written.
    pub access: AccessLogTarget,
    /// The format of its lines.
    pub format: LogFormat,
    /// The minimum level of the server's own messages, which go to standard error.
    pub level: LogLevel,
    /// The form of these messages.
    pub messages: LogMessages,
    /// The time from which on a request is slow, and has a message; `None`: none has.
    pub slow: Option<Duration>,
}

/// The form of the server's own messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogMessages {
    /// Level and text.
    Plain,
    /// Time, level and text.
    Timed,
    /// An object with all three.
    Json,
}

/// Where the access log is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessLogTarget {
    /// Nowhere.
    Off,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// To the end of a file.
    File(PathBuf),
}

/// Whether requests are in the access log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Logging {
    /// They are.
    #[default]
    On,
    /// They are not.
    Off,
}

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Something does not work.
    Error,
    /// Something works worse than it could.
    Warn,
    /// Orders that were carried out: reloads, drains and reopened logs.
    Info,
    /// Signals, and findings at the start.
    Debug,
}

/// `[admin]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdminSettings {
    /// The control socket; `None` if the caller chooses the path.
    pub socket: Option<PathBuf>,
    /// The address of the metrics listener; `None` for none.
    pub metrics: Option<SocketAddr>,
    /// The address at which clients with a key control the server; `None` for none.
    pub listen: Option<SocketAddr>,
    /// The file of these keys.
    pub keys: Option<PathBuf>,
    /// The certificates of that address; `None`: it is plain.
    pub tls: Option<Tls>,
}

impl Default for Log {
    fn default() -> Self {
        let (format, messages) = (LogFormat::Combined, LogMessages::Plain);
        Self { access: AccessLogTarget::Off, format, level: LogLevel::Info, messages, slow: None }
    }
}

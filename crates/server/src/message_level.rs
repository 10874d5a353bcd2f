//! The level and form of the server's own messages, as the configuration names them.
//!
//! Owns the translation: neither the configuration nor the runtime knows the other's words.

use config::{LogLevel, LogMessages};
use runtime::diagnostic::{Level, LineForm};

/// The minimum level of messages that are written.
pub(crate) fn level_of(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::Error,
        LogLevel::Warn => Level::Warn,
        LogLevel::Info => Level::Info,
        LogLevel::Debug => Level::Debug,
    }
}

pub(crate) fn form_of(messages: LogMessages) -> LineForm {
    match messages {
        LogMessages::Plain => LineForm::Plain,
        LogMessages::Timed => LineForm::Timed,
        LogMessages::Json => LineForm::Json,
    }
}

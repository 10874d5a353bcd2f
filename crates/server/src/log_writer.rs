//! The log writer: the only thread that writes access log lines.
//!
//! Owns the log file. Never makes a scheduler wait: lines that cannot be written are dropped and
//! counted, and reported on standard error from time to time.

use std::io::{self, Write};
use std::path::PathBuf;

use runtime::diagnostic::{self, Level};
use runtime::helper::{Handle, Onward};
use runtime::mailbox::{Endpoint, Mailbox};

use crate::message::{LogReport, Message, ToControl, ToLogWriter};

/// Batches lost between two reports.
const LOST_PER_COMPLAINT: u64 = 1000;

/// Where lines are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// To a file, appended.
    File(PathBuf),
    /// To standard output.
    StandardOutput,
    /// To standard error.
    StandardError,
}

/// The log writer.
pub struct LogWriter {
    target: LogTarget,
    sink: Option<Box<dyn Write>>,
    report: LogReport,
    lost_batches: u64,
}

impl LogWriter {
    /// A writer to this target. [`LogTarget::check`] tells beforehand whether it can be opened.
    pub fn new(target: LogTarget) -> Self {
        let mut writer = Self { target, sink: None, report: LogReport::default(), lost_batches: 0 };
        writer.reopen();
        writer
    }

    fn reopen(&mut self) {
        self.sink = match self.target.open() {
            Ok(sink) => Some(sink),
            Err(error) => {
                diagnostic::write(
                    Level::Error,
                    format_args!("the access log cannot be opened: {error}"),
                );
                None
            }
        };
    }

    fn write(&mut self, lines: &[u8], count: u64) {
        let written = match &mut self.sink {
            Some(sink) => sink.write_all(lines).and_then(|()| sink.flush()),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        match written {
            Ok(()) => {
                self.report.written += count;
                self.lost_batches = 0;
            }
            Err(error) => {
                self.report.lost += count;
                if self.lost_batches.is_multiple_of(LOST_PER_COMPLAINT) {
                    diagnostic::write(
                        Level::Error,
                        format_args!(
                            "access log lines are lost ({} so far): {error}; make room, then send SIGUSR1",
                            self.report.lost
                        ),
                    );
                }
                self.lost_batches += 1;
            }
        }
    }
}

impl LogTarget {
    /// Opens the file once, so that an unwritable path is reported before the server starts.
    ///
    /// # Errors
    /// The path and the reason.
    pub fn check(&self) -> io::Result<()> {
        self.open().map(drop)
    }

    fn open(&self) -> io::Result<Box<dyn Write>> {
        Ok(match self {
            Self::File(path) => {
                // Not on a scheduler: the log writer's own thread may block.
                let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
                let named = |error: io::Error| {
                    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                };
                Box::new(file.map_err(named)?)
            }
            Self::StandardOutput => Box::new(io::stdout()),
            Self::StandardError => Box::new(io::stderr()),
        })
    }
}

impl Handle<Message> for LogWriter {
    fn on_message(
        &mut self,
        from: Endpoint,
        message: Message,
        mailbox: &mut Mailbox<Message>,
    ) -> Onward {
        let Message::LogWriter(message) = message else { return Onward::Wait };
        match message {
            ToLogWriter::Lines(lines, count) => self.write(&lines, count),
            ToLogWriter::Reopen => {
                self.reopen();
                if self.sink.is_some() {
                    diagnostic::write(Level::Info, format_args!("the access log is reopened"));
                }
            }
            ToLogWriter::Stop => return Onward::Stop,
            ToLogWriter::AskReport => {
                // The next query finds room again.
                let _asks_again = mailbox.send_part(from, ToControl::LogReport(self.report));
            }
        }
        Onward::Wait
    }
}

//! The log writer: the only thread that writes access log lines.
//!
//! Owns the log and the lines that wait for its reader. Never makes a scheduler wait, and waits for no reader itself:
//! lines that cannot be written are dropped and counted, and reported on standard error from time to time.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};
use runtime::helper::{HelperHandler, Onward};
use runtime::limits::COMPLAINT_INTERVAL_NS;
use runtime::mailbox::Endpoint;
use sys::clock::monotonic_ns;
use sys::log_file::LogFile;

use crate::limits::{LOG_END_MAX, LOG_END_WAIT, LOG_ROOM_WAIT, LOG_WAITING_BYTES};
use crate::message::{LogReport, Mailbox, Message, ToControl, ToLogWriter};

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
    log: LogFile,
    waiting: VecDeque<Batch>,
    waiting_bytes: usize,
    report: LogReport,
    complaint: Complaint,
}

/// Lines that are not written yet, or only in part.
struct Batch {
    lines: Vec<u8>,
    written: usize,
}

/// Why lines are lost.
enum Cause {
    /// The write failed.
    Failed(io::Error),
    /// Nobody makes room.
    NotRead,
}

/// The last line about lost lines.
#[derive(Default)]
struct Complaint {
    /// How many were lost when it was said last.
    told: u64,
    /// When more may be said.
    again_ns: u64,
}

impl Batch {
    fn rest(&self) -> &[u8] {
        self.lines.get(self.written..).unwrap_or_default()
    }

    /// The lines that are not written as a whole.
    fn lines_left(&self) -> u64 {
        lines_in(self.rest())
    }
}

fn lines_in(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

impl LogWriter {
    /// A writer to this open log.
    pub fn new(target: LogTarget, log: LogFile) -> Self {
        Self {
            target,
            log,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            report: LogReport::default(),
            complaint: Complaint::default(),
        }
    }

    /// Goes on with the file that has the name now. If it cannot be opened, the log stays as it is.
    fn reopen(&mut self) {
        match self.target.open() {
            Ok(log) => {
                self.log = log;
                self.drop_begun_line();
                diagnostic::write(Level::Info, format_args!("the access log is reopened"));
            }
            Err(error) => {
                self.report.not_reopened += 1;
                diagnostic::write(
                    Level::Error,
                    format_args!(
                        "the access log cannot be reopened: {error}; lines go on into the file that was open"
                    ),
                );
            }
        }
    }

    /// The end of a line whose beginning is in another file means nothing.
    fn drop_begun_line(&mut self) {
        let Some(first) = self.waiting.front_mut() else { return };
        let is_begun = first.written > 0 && first.lines.get(first.written - 1) != Some(&b'\n');
        if is_begun && let Some(end) = first.rest().iter().position(|byte| *byte == b'\n') {
            first.written += end + 1;
            self.waiting_bytes -= end + 1;
            self.report.lost += 1;
        }
    }

    fn take(&mut self, lines: Vec<u8>, count: u64) {
        if self.waiting_bytes + lines.len() > LOG_WAITING_BYTES {
            self.lose(count, &Cause::NotRead);
            return;
        }
        self.waiting_bytes += lines.len();
        self.waiting.push_back(Batch { lines, written: 0 });
        self.write();
    }

    /// Writes what waits, as far as there is room.
    fn write(&mut self) {
        while let Some(first) = self.waiting.front_mut() {
            match self.log.write(first.rest()) {
                Ok(0) if !first.rest().is_empty() => return,
                Ok(count) => {
                    self.report.written += lines_in(first.rest().get(..count).unwrap_or_default());
                    first.written += count;
                    self.waiting_bytes -= count;
                    if first.rest().is_empty() {
                        self.waiting.pop_front();
                    }
                }
                Err(error) => {
                    let (bytes, lines) = (first.rest().len(), first.lines_left());
                    self.waiting.pop_front();
                    self.waiting_bytes -= bytes;
                    self.lose(lines, &Cause::Failed(error));
                }
            }
        }
    }

    /// Writes what waits, and gives up what nobody reads in time.
    fn end(&mut self) {
        let after_ns = |most| monotonic_ns().saturating_add(nanoseconds(most));
        let (mut late_ns, end_ns) = (after_ns(LOG_END_WAIT), after_ns(LOG_END_MAX));
        self.write();
        while !self.waiting.is_empty() && monotonic_ns() < late_ns.min(end_ns) {
            self.log.wait_for_room(LOG_ROOM_WAIT);
            let before = self.waiting_bytes;
            self.write();
            if self.waiting_bytes < before {
                late_ns = after_ns(LOG_END_WAIT);
            }
        }
        let left = self.waiting.drain(..).map(|batch| batch.lines_left()).sum::<u64>();
        self.report.lost += left;
        if self.report.lost > self.complaint.told {
            let cause = if left > 0 { ": nobody read the last ones" } else { "" };
            diagnostic::write(
                Level::Error,
                format_args!("access log lines were lost ({} in all){cause}", self.report.lost),
            );
        }
    }

    fn lose(&mut self, lines: u64, cause: &Cause) {
        self.report.lost += lines;
        let now_ns = monotonic_ns();
        if now_ns < self.complaint.again_ns {
            return;
        }
        let again_ns = now_ns.saturating_add(COMPLAINT_INTERVAL_NS);
        self.complaint = Complaint { told: self.report.lost, again_ns };
        diagnostic::write(
            Level::Error,
            format_args!("access log lines are lost ({} so far): {cause}", self.report.lost),
        );
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRead => formatter.write_str("nobody reads them; start their reader again"),
            Self::Failed(error) => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    write!(formatter, "{error}; make room")
                }
                io::ErrorKind::BrokenPipe => {
                    write!(formatter, "{error}; start their reader again")
                }
                _ => write!(formatter, "{error}; mend that, then send SIGUSR1"),
            },
        }
    }
}

impl LogTarget {
    /// Opens it, without waiting for a reader.
    ///
    /// # Errors
    /// The path and the reason.
    pub fn open(&self) -> io::Result<LogFile> {
        match self {
            Self::File(path) => LogFile::open(path).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            }),
            Self::StandardOutput => LogFile::standard_output(),
            Self::StandardError => LogFile::standard_error(),
        }
    }
}

impl HelperHandler<Message> for LogWriter {
    fn on_message(&mut self, from: Endpoint, message: Message, mailbox: &mut Mailbox) -> Onward {
        let Message::LogWriter(message) = message else { return Onward::Wait };
        match message {
            ToLogWriter::Lines(lines, count) => self.take(lines, count),
            ToLogWriter::Reopen => self.reopen(),
            ToLogWriter::Stop => {
                self.end();
                return Onward::Stop;
            }
            ToLogWriter::AskReport => {
                // The next query finds room again.
                let _asks_again = mailbox.send_part(from, ToControl::LogReport(self.report));
            }
        }
        Onward::Wait
    }

    fn on_rest(&mut self, _: &mut Mailbox) -> Option<Duration> {
        if self.waiting.is_empty() {
            return None;
        }
        self.log.wait_for_room(LOG_ROOM_WAIT);
        self.write();
        (!self.waiting.is_empty()).then_some(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(text: &str, written: usize) -> LogWriter {
        let log = LogFile::standard_error().expect("a descriptor");
        let mut writer = LogWriter::new(LogTarget::StandardError, log);
        writer.waiting_bytes = text.len() - written;
        writer.waiting.push_back(Batch { lines: text.as_bytes().to_vec(), written });
        writer
    }

    #[test]
    fn only_the_end_of_a_begun_line_is_dropped() {
        for (written, rest, lost) in [(0, "one\ntwo\n", 0), (2, "two\n", 1), (4, "two\n", 0)] {
            let mut writer = writer("one\ntwo\n", written);
            writer.drop_begun_line();
            let left = writer.waiting[0].rest();
            assert_eq!((left, writer.report.lost), (rest.as_bytes(), lost), "{written}");
            assert_eq!(writer.waiting_bytes, rest.len());
        }
    }
}

//! A result that another program measures and prints.
//!
//! Owns that program while it runs, and its termination if the measurement ends early. Never judges
//! what it printed.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use sys::signal::{Signal, send, unblock_in};

use super::interrupt::{Continuation, Interrupts};
use crate::limits::{END_GRACE_NS, LIVE_NS};
use crate::report::{ReadError, Report};

/// Exit statuses of a program that printed a result: it is valid, or it is not and says why.
const PRINTED: [Option<i32>; 2] = [Some(0), Some(3)];

/// Why a command gave no result.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The kernel did not run it.
    #[error("cannot be run: {0}")]
    Kernel(#[from] io::Error),
    /// It failed.
    #[error("failed with {0}")]
    Status(ExitStatus),
    /// It printed something else.
    #[error("{0}")]
    Report(ReadError),
}

/// Runs a command with `sh`, and reads the result that it prints. `None` if it was ended early: INT and TERM are
/// blocked as in [`super::requests`], and end the command too.
///
/// # Errors
/// When the command fails or prints no result.
pub fn printed(command: &str) -> Result<Option<Report>, CommandError> {
    let interrupts = Interrupts::block();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = unblock_in(&mut shell).spawn()?;
    let output = read(&mut child);
    let mut text = None;
    loop {
        if text.is_none() {
            text = output.try_recv().ok();
        }
        if let Some((status, text)) = child.try_wait()?.zip(text.as_ref()) {
            return result(status, text).map(Some);
        }
        if interrupts.wait(Duration::from_nanos(LIVE_NS))? == Continuation::End {
            end(child, &interrupts)?;
            return Ok(None);
        }
    }
}

fn result(status: ExitStatus, text: &[u8]) -> Result<Report, CommandError> {
    if !PRINTED.contains(&status.code()) {
        return Err(CommandError::Status(status));
    }
    Report::from_json(&String::from_utf8_lossy(text)).map_err(CommandError::Report)
}

/// Everything that it prints, at its end: a thread reads, so that no full pipe stops the program.
fn read(child: &mut Child) -> Receiver<Vec<u8>> {
    let (whole, output) = channel();
    if let Some(mut pipe) = child.stdout.take() {
        thread::spawn(move || {
            let mut text = Vec::new();
            // Text that was read before an error is not a result, and is refused.
            let _read = pipe.read_to_end(&mut text);
            // If the command was ended, there is no receiver.
            let _given_up = whole.send(text);
        });
    }
    output
}

/// Asks it to end, and kills it if it does not.
fn end(mut child: Child, interrupts: &Interrupts) -> io::Result<()> {
    send(child.id(), Signal::Terminate)?;
    for _ in 0..END_GRACE_NS / LIVE_NS {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        // A second signal is not made to wait longer.
        if interrupts.wait(Duration::from_nanos(LIVE_NS))? == Continuation::End {
            break;
        }
    }
    child.kill()?;
    child.wait().map(drop)
}

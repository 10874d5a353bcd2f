//! The server of one run: started, awaited until it accepts connections, stopped.
//!
//! Owns its process and the last lines it printed. A server that answers before ours was started
//! would be measured instead: that is an error.

#![expect(clippy::disallowed_types, reason = "a command has one descriptor table")]

use std::io::{self, Read as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use bench::plan::LoadAddress;
use bench::run::{Continuation, Interrupts};
use sys::signal::{Signal, send};

use crate::limits::{
    SERVER_CONNECT, SERVER_END_LOOKS, SERVER_FREE_LOOKS, SERVER_LINES, SERVER_LOOK,
    SERVER_START_LOOKS, SERVER_TOLD,
};

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another program answers at this address.
    #[error("something answers at {0} already; end it: the ladder starts the server itself")]
    Taken(LoadAddress),
    /// The kernel did not start it.
    #[error("`{0}` cannot be run: {1}")]
    Start(String, io::Error),
    /// It ended before it accepted a connection; with its status and last lines.
    #[error("the server ended with {0}{between}{1}", between = if .1.is_empty() { "" } else { ": " })]
    Ended(ExitStatus, String),
    /// It did not accept a connection in time.
    #[error(
        "the server takes no connection at {0} for {seconds:.0} s",
        seconds = SERVER_LOOK.as_secs_f64() * f64::from(SERVER_START_LOOKS)
    )]
    Silent(LoadAddress),
    /// The user ended the ladder.
    #[error("stopped")]
    Stopped,
}

/// A server that accepts connections.
#[derive(Debug)]
pub struct LadderServer {
    child: Child,
    /// Its last lines, available when its standard error is closed.
    told: Option<Receiver<String>>,
}

impl LadderServer {
    /// Starts it, and waits until it accepts connections at this address.
    ///
    /// # Errors
    /// It does not accept connections.
    pub fn start(
        command: &[String],
        address: &LoadAddress,
        interrupts: &Interrupts,
    ) -> Result<Self, ServerError> {
        free(address, interrupts)?;
        let (program, words) = command.split_first().expect("a command line has a first word");
        let failed = |error| ServerError::Start(program.clone(), error);
        let mut process = Command::new(program);
        process.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = sys::signal::unblock_in(&mut process).spawn().map_err(failed)?;
        let told = child.stderr.take().map(told_by);
        let mut server = Self { child, told };
        for _ in 0..SERVER_START_LOOKS {
            if connect(address).is_ok() {
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait().map_err(failed)? {
                // A process that it started may still hold the pipe open.
                let told =
                    server.told.take().and_then(|told| told.recv_timeout(SERVER_CONNECT).ok());
                return Err(ServerError::Ended(status, told.unwrap_or_default()));
            }
            wait(interrupts)?;
        }
        Err(ServerError::Silent(address.clone()))
    }
}

impl Drop for LadderServer {
    fn drop(&mut self) {
        // A server that has ended already cannot be told to end.
        let _told = send(self.child.id(), Signal::Terminate);
        for _ in 0..SERVER_END_LOOKS {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            // Waiting for the end of a process; there is nothing else to do meanwhile.
            std::thread::sleep(SERVER_LOOK);
        }
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Waits until nothing answers at the address any more: the previous server may need a moment to end.
fn free(address: &LoadAddress, interrupts: &Interrupts) -> Result<(), ServerError> {
    for _ in 0..SERVER_FREE_LOOKS {
        // A server that does not answer in time still holds the address.
        if connect(address).is_err_and(|error| error.kind() != io::ErrorKind::TimedOut) {
            return Ok(());
        }
        wait(interrupts)?;
    }
    Err(ServerError::Taken(address.clone()))
}

fn wait(interrupts: &Interrupts) -> Result<(), ServerError> {
    match interrupts.wait(SERVER_LOOK) {
        Ok(Continuation::GoOn) => Ok(()),
        Ok(Continuation::End) | Err(_) => Err(ServerError::Stopped),
    }
}

fn connect(address: &LoadAddress) -> io::Result<()> {
    match address {
        LoadAddress::Tcp(address) => TcpStream::connect_timeout(address, SERVER_CONNECT).map(drop),
        LoadAddress::Unix(path) => UnixStream::connect(path).map(drop),
    }
}

fn told_by(pipe: ChildStderr) -> Receiver<String> {
    let (sender, told) = channel();
    std::thread::spawn(move || {
        // The lines are only needed if the server did not start.
        let _unheard = sender.send(end_of(pipe));
    });
    told
}

/// The last lines; standard error is read to the end, so that no full pipe blocks the server.
fn end_of(mut pipe: ChildStderr) -> String {
    let (mut last, mut part) = (Vec::new(), vec![0; SERVER_TOLD]);
    while let Ok(length @ 1..) = pipe.read(&mut part) {
        last.extend_from_slice(&part[..length]);
        let beyond = last.len().saturating_sub(SERVER_TOLD);
        last.drain(..beyond);
    }
    let text = String::from_utf8_lossy(&last);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(SERVER_LINES)..].join("; ")
}

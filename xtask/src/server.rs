//! A server that is started for a measurement or a test: its address, its start, and the wait until it answers.
//!
//! Never touches a server that it did not start.

use std::fs::OpenOptions;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::client;
use crate::failure::Failure;
use crate::process::{self, Guarded};

/// The first port that is tried; below the kernel's range of ephemeral ports.
const FIRST_PORT: u16 = 21_000;

/// Ports that are tried before giving up.
const PORTS: u16 = 200;

/// A server that does not answer within this time after its start does not take part.
const START_LIMIT: Duration = Duration::from_secs(10);

/// Characters of a server's error output that are shown.
const COMPLAINT_CHARACTERS: usize = 300;

/// An address at which nothing listens.
pub(crate) fn free_address() -> Result<SocketAddr, Failure> {
    (FIRST_PORT..FIRST_PORT + PORTS)
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .find(|address| client::is_free(*address))
        .ok_or_else(|| Failure::Work(format!("no free port from {FIRST_PORT} on")))
}

/// A command that ends with this tool even if the tool is killed.
pub(crate) fn leashed(words: &[&str]) -> Command {
    let leash: &[&str] =
        if process::is_installed("setpriv") { &["setpriv", "--pdeathsig", "TERM"] } else { &[] };
    let words = [leash, words].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// Starts a server and waits until it answers this request, or accepts a connection if there is none; its output goes
/// into a log.
pub(crate) fn start(
    mut command: Command,
    name: &str,
    folder: &Path,
    address: SocketAddr,
    request: &[u8],
) -> Result<Guarded, Failure> {
    let log = folder.join(format!("{name}.stderr"));
    let stderr = OpenOptions::new().create(true).write(true).truncate(true).open(&log)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let mut guarded = Guarded::start(&mut command, name)?;
    let asks = || {
        if request.is_empty() {
            client::connect(address).map(drop).map_err(|error| std::io::Error::from(error).into())
        } else {
            client::ask(address, request).map(drop)
        }
    };
    let answers = process::wait_until(START_LIMIT, || guarded.has_ended() || asks().is_ok());
    if !answers || guarded.has_ended() {
        return Err(Failure::Work(format!("does not answer: {}", complaint(&log))));
    }
    asks()?;
    Ok(guarded)
}

/// The end of a server's standard error.
fn complaint(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let text = text.trim().replace('\n', " | ");
    let skipped = text.chars().count().saturating_sub(COMPLAINT_CHARACTERS);
    let tail: String = text.chars().skip(skipped).collect();
    if tail.is_empty() { "it said nothing".to_owned() } else { tail }
}

//! The way back: a process that reverts changes unless they are confirmed in time.
//!
//! Owns that process. It survives the terminal of `apply`, because the changes may have cut
//! the connection.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ::tune::Journal;
use ::tune::apply::{PERSISTED, Which, is_persisted, persist, revert};
use clap::Args;

use super::place::directory;
use crate::Failure;

/// Time between two looks at whether it was confirmed.
const LOOK: Duration = Duration::from_millis(200);

/// The arguments of the process.
#[derive(Debug, Args)]
pub(super) struct WayBack {
    #[arg(long)]
    root: PathBuf,
    #[arg(long)]
    state: PathBuf,
    /// Milliseconds until the changes are reverted.
    #[arg(long)]
    after: u64,
    /// The last change that stays in any case.
    #[arg(long)]
    behind: u64,
}

/// A directory that exists where systemd runs the host.
const SYSTEMD: &str = "/run/systemd/system";

/// Starts the process: as a unit of systemd where that is possible, because a host may end all programs of a session
/// with it (`KillUserProcesses=` of logind.conf(5)); otherwise as a session of its own.
pub(super) fn start(root: &Path, state: &Path, time: Duration, behind: u64) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::Failed(format!("the way back cannot be started: {error}; nothing was changed"))
    };
    let program = std::env::current_exe().map_err(failed)?;
    // A unit has another working directory.
    let is_live = root == Path::new("/");
    let state = if is_live { directory(root, state) } else { state.to_path_buf() };
    let root = absolute(root);
    let words = |command: &mut Command| {
        command.args(["tune", "way-back", "--root"]).arg(&root).arg("--state").arg(&state);
        command.arg(format!("--after={}", time.as_millis())).arg(format!("--behind={behind}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    };
    if Path::new(SYSTEMD).is_dir() && started_as_unit(&program, words) {
        return Ok(());
    }
    let mut command = Command::new(program);
    words(&mut command);
    // In its own process group, so that closing the terminal does not end it.
    command.process_group(0).spawn().map(drop).map_err(failed)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Starts the process as a unit in the network namespace of this thread; `false` if systemd does not.
fn started_as_unit(program: &Path, words: impl Fn(&mut Command)) -> bool {
    let own = std::process::id();
    let mut command = Command::new("systemd-run");
    command.args(["--quiet", "--collect", "--service-type=exec", "--no-ask-password"]);
    command.arg(format!("--unit=velodrome-tune-way-back-{own}"));
    // The path is opened when the unit begins, which this program waits for.
    command.arg(format!("--property=NetworkNamespacePath=/proc/{own}/ns/net"));
    command.arg("--").arg(program);
    words(&mut command);
    command.status().is_ok_and(|status| status.success())
}

/// Waits, and reverts.
#[expect(
    clippy::disallowed_methods,
    reason = "how long is waited is measured by a clock of its own"
)]
pub(super) fn run(asked: &WayBack) -> Result<(), Failure> {
    let begun = Instant::now();
    let place = directory(&asked.root, &asked.state);
    while begun.elapsed() < Duration::from_millis(asked.after) {
        std::thread::sleep(LOOK.min(Duration::from_millis(asked.after)));
        let journal = Journal::open(&place);
        if journal.is_ok_and(|journal| journal.is_confirmed(asked.behind + 1)) {
            return Ok(());
        }
    }
    loop {
        match Journal::open_alone(&place) {
            Ok(mut journal) => {
                // Confirmed at the last moment.
                if journal.is_confirmed(asked.behind + 1) {
                    return Ok(());
                }
                let failed = |error| Failure::Failed(format!("{}: {error}", place.display()));
                let back = revert(&asked.root, Which::Behind(asked.behind), &mut journal);
                back.map_err(failed)?;
                if is_persisted(&asked.root) {
                    persist(&asked.root, &journal)
                        .map_err(|error| Failure::Failed(format!("{PERSISTED}: {error}")))?;
                }
                return Ok(());
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(LOOK);
            }
            Err(error) => return Err(Failure::Failed(format!("{}: {error}", place.display()))),
        }
    }
}

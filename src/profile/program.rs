//! The program to profile: a running one with its children, or one that is started for the profile and ends with it.
//!
//! Owns how `--pid`, `--url` and a command become processes. Records nothing.

use std::process::{Child, Command};

use ::profile::Scope;
use bench::host::{is_local, listening_processes};
use bench::plan::{LoadAddressError, LoadUrl, Ownership, resolve};

use super::Profile;
use crate::Failure;

/// The program to profile.
pub(super) struct Program {
    process: u32,
    child: Option<Child>,
}

impl Program {
    pub(super) fn start(asked: &Profile) -> Result<Self, Failure> {
        let pid = match &asked.url {
            Some(url) => Some(listening(url)?),
            None => asked.pid,
        };
        match (pid, asked.command.split_first()) {
            (Some(process), _) => Ok(Self { process, child: None }),
            (None, Some((program, words))) => {
                let child = Command::new(program).args(words).spawn();
                let child =
                    child.map_err(|error| Failure::Failed(format!("{program}: {error}")))?;
                Ok(Self { process: child.id(), child: Some(child) })
            }
            (None, None) => {
                let text = "nothing to profile: give --pid PID, --url URL, --all, --from FILE, --diff BEFORE \
                            AFTER, or -- COMMAND";
                Err(Failure::WrongUse(text.to_owned()))
            }
        }
    }

    /// The process, with its children.
    pub(super) fn scope(&self) -> Scope {
        Scope::Tree(self.process)
    }
}

/// The process that listens at the address of a URL. Of several, the one whose children the others are.
fn listening(url: &LoadUrl) -> Result<u32, Failure> {
    let failed = |error: LoadAddressError| Failure::Failed(error.to_string());
    let address = resolve(&url.place, Ownership::Declared).map_err(failed)?;
    let processes: Vec<u32> = match address.tcp().filter(|address| is_local(address.ip())) {
        Some(address) => listening_processes(address),
        None => Vec::new(),
    };
    let has_all = |process: &&u32| {
        let tree = Scope::Tree(**process).processes().unwrap_or_default();
        processes.iter().all(|one| tree.contains(one))
    };
    match (processes.iter().find(has_all), &*processes) {
        (Some(process), _) => Ok(*process),
        (None, []) => Err(Failure::Failed(format!(
            "no process that can be seen from here listens at {address}: say --pid"
        ))),
        (None, several) => {
            let list: Vec<String> = several.iter().map(u32::to_string).collect();
            let list = list.join(", ");
            Err(Failure::WrongUse(format!("several listen at {address}: say --pid, one of {list}")))
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ended = child.kill();
            let _waited = child.wait();
        }
    }
}

/// The title of a profile: name and number of the program, its children, the time, and a view.
pub(super) fn title(scope: Scope, seconds: f64, view: &str) -> String {
    let processes = scope.processes().unwrap_or_default();
    let process = match scope {
        Scope::Process(process) | Scope::Tree(process) => process,
        Scope::Machine => return format!("all of this machine, {seconds:.1} s{view}"),
    };
    let name = std::fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    let name = String::from_utf8_lossy(&name);
    let children = match processes.len().saturating_sub(1) {
        0 => String::new(),
        1 => " and a child".to_owned(),
        count => format!(" and {count} children"),
    };
    format!("{} ({process}){children}, {seconds:.1} s{view}", name.trim())
}

/// Why processes cannot be profiled.
pub(super) fn failure(scope: Scope, error: &std::io::Error) -> Failure {
    let hint = "try as root, or sysctl kernel.perf_event_paranoid=1";
    let (Scope::Process(process) | Scope::Tree(process)) = scope else {
        return Failure::Failed(match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "the machine may not be looked at: try as root, or sysctl \
                 kernel.perf_event_paranoid=-1"
                    .to_owned()
            }
            _ => format!("the machine: {error}"),
        });
    };
    let is_there = std::path::Path::new(&format!("/proc/{process}")).exists();
    match error.kind() {
        _ if !is_there => Failure::WrongUse(format!("there is no process {process}")),
        std::io::ErrorKind::PermissionDenied => {
            Failure::Failed(format!("process {process} may not be looked at: {hint}"))
        }
        _ => Failure::Failed(format!("process {process}: {error}")),
    }
}

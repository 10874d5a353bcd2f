//! The machine the measurement runs on: which cores, which limits, and the facts a reader needs.
//!
//! Owns the pinning of this tool to the load's core. Never changes a setting of the machine.

use std::process::Command;

use rustix::process::Resource;
use rustix::thread::CpuSet;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::{process, workspace};

/// The highest core number that is considered.
const CORES_MAX: usize = 1024;

/// The core of the server and the core of the load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) server: usize,
    pub(crate) load: usize,
}

impl Cores {
    /// Takes the first two cores that this process may use, and moves this process to the second.
    pub(crate) fn take() -> Result<Cores, Failure> {
        let allowed = rustix::thread::sched_getaffinity(None).map_err(std::io::Error::from)?;
        let mut numbers = (0..CORES_MAX.min(CpuSet::MAX_CPU)).filter(|core| allowed.is_set(*core));
        let (Some(server), Some(load)) = (numbers.next(), numbers.next()) else {
            return Err(Failure::Work(
                "one core is not enough: the load would be measured with the server".to_owned(),
            ));
        };
        let mut own = CpuSet::new();
        own.set(load);
        // Children inherit it: the load generators run there, servers are moved by their command.
        rustix::thread::sched_setaffinity(None, &own).map_err(std::io::Error::from)?;
        Ok(Cores { server, load })
    }
}

/// Raises the soft limit of descriptors to the hard one and returns it; servers inherit it.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = rustix::process::setrlimit(Resource::Nofile, limit) {
        eprintln!("xtask: the descriptor limit stays: {error}");
    }
    rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The facts about the host that are needed to compare reports.
pub(crate) fn facts(cores: &Cores, descriptors: u64) -> Value {
    json!({
        "kernel": read("/proc/sys/kernel/osrelease"),
        "processor": processor(),
        "server_core": cores.server,
        "load_core": cores.load,
        "cores_online": read("/sys/devices/system/cpu/online"),
        "mitigations": mitigations(),
        "clock_source": read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "congestion_control": read("/proc/sys/net/ipv4/tcp_congestion_control"),
        "descriptor_limit": descriptors,
        "load_average": read("/proc/loadavg"),
        "nginx": said("nginx", &["-v"]),
        "wrk": said("wrk", &["-v"]),
        "ab": said("ab", &["-V"]),
        "h2load": said("h2load", &["--version"]),
        "oha": said("oha", &["--version"]),
        "rustc": compiler(),
        "commit": commit(),
    })
}

/// The facts as lines.
pub(crate) fn text(facts: &Value) -> String {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let lines = facts.as_object().into_iter().flatten();
    lines.map(|(name, value)| format!("  {name}: {}\n", shown(value))).collect()
}

/// The compiler's name and version.
pub(crate) fn compiler() -> String {
    said("rustc", &["-V"])
}

/// The commit that is checked out, and whether files differ from it.
pub(crate) fn commit() -> String {
    said("git", &["describe", "--always", "--dirty"])
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn processor() -> String {
    let text = read("/proc/cpuinfo");
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name).to_owned()
}

/// The kernel's mitigations for the vulnerabilities of this processor.
fn mitigations() -> Value {
    let mut found = serde_json::Map::new();
    let Ok(entries) = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return Value::Null;
    };
    for entry in entries.flatten() {
        let state = read(&entry.path().display().to_string());
        if state != "Not affected" {
            found.insert(entry.file_name().to_string_lossy().into_owned(), Value::from(state));
        }
    }
    Value::Object(found)
}

/// The first line of a program's version output; empty if it is not installed.
fn said(program: &str, words: &[&str]) -> String {
    let program = process::find(program).unwrap_or_else(|| program.into());
    let Ok(output) = Command::new(program).args(words).current_dir(workspace::root()).output()
    else {
        return String::new();
    };
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned()
}

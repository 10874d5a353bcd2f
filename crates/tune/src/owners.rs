//! Other programs and files that set a kernel file: sysctl files, a tuned profile, irqbalance; and
//! programs that create packet filter rules.
//!
//! Owns the formats of their files. Changes none of them.

use crate::files::Files;
use crate::processes::Process;

/// A program or file that sets the same kernel file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// A file, or a program.
    pub name: String,
    /// When it sets it.
    pub when: &'static str,
}

/// Most profiles of tuned that a profile includes. Beyond: the rest is ignored.
const PROFILES: usize = 8;

/// All that set this kernel file. Sysctl files are in the order in which they are read: the last one wins.
#[must_use]
pub fn owners_of(path: &str, files: &Files) -> Vec<Owner> {
    if path.starts_with("/proc/irq/") {
        let running = Process::named(files, "irqbalance");
        let name = |process| format!("irqbalance (process {process})");
        let owner = |process| Owner { name: name(process), when: "every ten seconds" };
        return running.map(owner).into_iter().collect();
    }
    let Some(name) = path.strip_prefix("/proc/sys/") else { return Vec::new() };
    let owner = |when| move |name| Owner { name, when };
    let mut owners: Vec<Owner> = sysctl_files(files)
        .into_iter()
        .filter(|file| sets(files, file, name))
        .map(owner("at the start of the host"))
        .collect();
    let profiles = profiles(files).into_iter().filter(|file| sets(files, file, name));
    owners.extend(profiles.map(owner("when tuned starts")));
    owners
}

fn sysctl_files(files: &Files) -> Vec<String> {
    let mut all = Vec::new();
    for place in ["/usr/lib/sysctl.d", "/run/sysctl.d", "/etc/sysctl.d"] {
        for file in files.names(place).into_iter().filter(|file| file.ends_with(".conf")) {
            all.push(format!("{place}/{file}"));
        }
    }
    all.push("/etc/sysctl.conf".to_owned());
    all
}

/// Whether a file has a line for this sysctl, with dots or slashes between its words.
fn sets(files: &Files, file: &str, slashes: &str) -> bool {
    let dots = slashes.replace('/', ".");
    let text = files.text(file).unwrap_or_default();
    text.lines().any(|line| {
        let key = line.split('=').next().unwrap_or_default().trim().trim_start_matches('-');
        key == slashes || key == dots
    })
}

/// The active profile of tuned, and those that it includes.
fn profiles(files: &Files) -> Vec<String> {
    let chosen = files.text("/etc/tuned/active_profile").unwrap_or_default();
    let mut wanted: Vec<String> = chosen.split_whitespace().map(str::to_owned).collect();
    let mut found: Vec<String> = Vec::new();
    while let Some(name) = wanted.pop() {
        // In the order in which tuned searches for it.
        let places =
            ["/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"];
        let file = places
            .iter()
            .map(|place| format!("{place}/{name}/tuned.conf"))
            .find(|file| files.has(file));
        let Some(file) = file.filter(|file| !found.contains(file)) else { continue };
        if found.len() == PROFILES {
            break;
        }
        let text = files.text(&file).unwrap_or_default();
        let included = text.lines().find_map(|line| line.trim().strip_prefix("include"));
        if let Some(names) = included.and_then(|rest| rest.trim_start().strip_prefix('=')) {
            wanted.extend(names.split(',').map(|name| name.trim().to_owned()));
        }
        found.push(file);
    }
    found
}

/// A program that creates packet filter rules, if one runs.
pub(crate) fn filter_maker(files: &Files) -> Option<String> {
    ["dockerd", "firewalld", "kube-proxy", "cilium-agent", "fail2ban-server"].iter().find_map(
        |name| Process::named(files, name).map(|process| format!("{name} (process {process})")),
    )
}

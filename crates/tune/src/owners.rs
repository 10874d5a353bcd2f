//! Other programs and files that set a kernel file: sysctl files, a tuned profile, irqbalance; and
//! programs that create packet filter rules.
//!
//! Owns the format of tuned's profiles; `sysctl_files` that of sysctl files. Changes none of them.

use crate::files::HostFiles;
use crate::owner::SettingOwner;
use crate::processes::Process;
use crate::sysctl_files::{setters, swapped};

/// Most profiles of tuned that a profile includes. Beyond: the rest is ignored.
const PROFILES: usize = 8;

/// All that set this kernel file, in the order in which they do so at the start of the host.
pub fn owners_of(path: &str, files: &HostFiles) -> Vec<SettingOwner> {
    if path.starts_with("/proc/irq/") {
        let running = Process::named(files, "irqbalance");
        let name = |process| format!("irqbalance (process {process})");
        let owner =
            |process| SettingOwner { name: name(process), when: "every ten seconds".to_owned() };
        return running.map(owner).into_iter().collect();
    }
    let Some(path) = path.strip_prefix("/proc/sys/") else { return Vec::new() };
    let mut owners = setters(files, path);
    let name = swapped(path, '/');
    let sets = |file: &String| {
        let text = files.text(file).unwrap_or_default();
        settings(&text).any(|(section, key, _)| section != "main" && key == name)
    };
    let when = || "when tuned starts".to_owned();
    let profiles = profiles(files).into_iter().filter(sets);
    owners.extend(profiles.map(|name| SettingOwner { name, when: when() }));
    owners
}

/// The active profiles of tuned, the one that is loaded after them, and those that they include.
fn profiles(files: &HostFiles) -> Vec<String> {
    let chosen = ["/etc/tuned/active_profile", "/etc/tuned/post_loaded_profile"]
        .map(|file| files.text(file).unwrap_or_default());
    let mut wanted: Vec<String> =
        chosen.iter().flat_map(|names| names.split_whitespace()).map(str::to_owned).collect();
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
        for (_, _, names) in
            settings(&text).filter(|(section, key, _)| (*section, *key) == ("main", "include"))
        {
            // A dash marks a profile that may be missing.
            let names = names.split(',').map(|name| name.trim().trim_start_matches('-'));
            wanted.extend(names.map(str::to_owned));
        }
        found.push(file);
    }
    found
}

/// The settings of a tuned profile: section, key, value.
fn settings(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut section = "";
    text.lines().map(str::trim).filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            section = name.trim();
            return None;
        }
        if line.starts_with(['#', ';']) {
            return None;
        }
        let (key, value) = line.split_once('=')?;
        Some((section, key.trim(), value.trim()))
    })
}

/// A program that creates packet filter rules, if one runs.
pub(crate) fn filter_maker(files: &HostFiles) -> Option<String> {
    ["dockerd", "firewalld", "kube-proxy", "cilium-agent", "fail2ban-server"].iter().find_map(
        |name| Process::named(files, name).map(|process| format!("{name} (process {process})")),
    )
}

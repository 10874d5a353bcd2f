//! Changes a host, and reverts the changes: the only file of this crate that writes to `/proc` and
//! `/sys` and changes device settings.
//!
//! Owns the order: first the journal, then the file, then the file is read back. A value that
//! another program has changed in the meantime is left alone.

use std::fs;
use std::io;
use std::path::Path;

use crate::changes::{FileChange, is_same, written};
use crate::check::{Check, Risk};
use crate::checks::find;
use crate::files::HostFiles;
use crate::identity::{identity, is_same_hardware, present_path};
use crate::journal::{Begun, Journal, JournalEntry};
use crate::namespaces::{Way, is_of_host, is_of_network, own_network, way_to};
use crate::plan::PlanStep;
use crate::settings;
use crate::sysctl_files::swapped;

/// The result for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was written, and reads back the same.
    Written,
    /// The write failed: the reason.
    Refused(String),
    /// The kernel took another value: the one it reads back.
    Other(String),
    /// It reads as it did before the change.
    PutBack,
    /// It already had the old value.
    AsBefore,
    /// Another program has changed it in the meantime: the value it has now.
    Theirs(String),
    /// The host was rebooted in the meantime, which undid the change.
    Gone,
    /// Another device has this place now; the change went with the device it was made for.
    OtherDevice,
    /// It was written in another network namespace, where it has to be reverted: its name, and the way there.
    Elsewhere(String),
    /// It was written in a network namespace that no program is in any more, and that has no name.
    NetworkGone,
}

/// The id of this boot of the host.
pub fn boot(files: &HostFiles) -> String {
    files.text("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Writes the changes of a step; returns the result for each file. The first refused write ends the step.
///
/// # Errors
/// The journal cannot be written; nothing has been changed then.
pub fn apply(
    root: &Path,
    step: &PlanStep,
    journal: &mut Journal,
) -> io::Result<Vec<(String, Done)>> {
    let files = HostFiles::here(root);
    let boot = boot(&files);
    let mut done = Vec::new();
    for change in &step.changes {
        let outcome = change_file(root, &files, step.check.id, &boot, change, journal)?;
        let ends = matches!(outcome, Done::Refused(_));
        done.push((change.path.clone(), outcome));
        if ends {
            break;
        }
    }
    Ok(done)
}

fn change_file(
    root: &Path,
    files: &HostFiles,
    check: &str,
    boot: &str,
    change: &FileChange,
    journal: &mut Journal,
) -> io::Result<Done> {
    let of = |path: &str, is_effect| Begun {
        check,
        boot,
        device: identity(files, path),
        network: network_of(files, path),
        is_effect,
    };
    // Before the change, so that they are put back after it.
    let mut effects = Vec::new();
    for path in effects_of(&change.path).iter().copied() {
        let Some(old) = files.text(path) else { continue };
        let effect = FileChange { path: path.to_owned(), new: old.clone(), old };
        effects.push((journal.begin(&of(path, true), &effect)?, effect));
    }
    let number = journal.begin(&of(&change.path, false), change)?;
    let outcome = match write(root, files, &change.path, &change.new) {
        Ok(()) => {
            let read = files.text(&change.path).unwrap_or_default();
            journal.note_written(number, &read)?;
            if is_same(&read, &change.new) { Done::Written } else { Done::Other(read) }
        }
        Err(error) => {
            journal.note_over(number, "refused")?;
            Done::Refused(error.to_string())
        }
    };
    for (number, effect) in effects {
        match files.text(&effect.path) {
            Some(now) if !is_same(&now, &effect.old) => journal.note_written(number, &now)?,
            _ => journal.note_over(number, "as before")?,
        }
    }
    Ok(outcome)
}

/// The network namespace that a file belongs to; empty if it belongs to none.
fn network_of(files: &HostFiles, path: &str) -> String {
    if is_of_network(path) { own_network(files) } else { String::new() }
}

/// Files that the kernel changes by itself when this one is written.
fn effects_of(path: &str) -> &'static [&'static str] {
    match path {
        // With huge pages khugepaged raises it, and never lowers it again.
        path if path.starts_with("/sys/kernel/mm/transparent_hugepage/") => {
            &["/proc/sys/vm/min_free_kbytes"]
        }
        "/proc/sys/vm/nr_hugepages" => &["/proc/sys/vm/min_free_kbytes"],
        // Each of two twins sets the other to 0.
        "/proc/sys/vm/dirty_ratio" => &["/proc/sys/vm/dirty_bytes"],
        "/proc/sys/vm/dirty_background_ratio" => &["/proc/sys/vm/dirty_background_bytes"],
        _ => &[],
    }
}

/// Repeats the changes that were in force before the last reboot; returns the result for each file.
///
/// # Errors
/// The journal cannot be written.
pub fn again(root: &Path, journal: &mut Journal) -> io::Result<Vec<(JournalEntry, Done)>> {
    let files = HostFiles::here(root);
    let boot = boot(&files);
    let earlier: Vec<JournalEntry> =
        journal.standing().filter(|entry| entry.boot != boot).cloned().collect();
    let mut done = Vec::new();
    for entry in earlier {
        let FileChange { path, new, .. } = &entry.change;
        let is_unconfirmed =
            find(&entry.check).is_some_and(may_cut) && !journal.is_confirmed(entry.number);
        if entry.is_effect {
            journal.note_over(entry.number, "the host has rebooted since")?;
            continue;
        }
        let outcome = match files.text(path) {
            _ if !is_of_host(&entry.network) => Done::Elsewhere(entry.network.clone()),
            None => Done::Refused("it is not there".to_owned()),
            Some(_) if is_unconfirmed => Done::Refused("it was never confirmed".to_owned()),
            Some(_) if !is_same_hardware(&entry.device, &identity(&files, path)) => {
                Done::OtherDevice
            }
            Some(now) => {
                // Another program has set it already, such as the boot with our own sysctl file: revert restores the
                // value before that.
                let old = if is_same(&now, new) { entry.change.old.clone() } else { now };
                let change = FileChange { path: path.clone(), old, new: new.clone() };
                change_file(root, &files, &entry.check, &boot, &change, journal)?
            }
        };
        // A change made before the reboot is gone with it; a refused one can be tried again, and the device may come
        // back.
        if !matches!(outcome, Done::Refused(_) | Done::OtherDevice) {
            journal.note_over(entry.number, "the host has rebooted since")?;
        }
        done.push((entry, outcome));
    }
    Ok(done)
}

/// Which changes are reverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// All.
    All,
    /// The changes of one check.
    Check(&'a str),
    /// The changes after the one with this number.
    Behind(u64),
}

/// Reverts changes, the last one first. Returns the result for each file.
///
/// # Errors
/// The journal cannot be written.
pub fn revert(
    root: &Path,
    which: Which<'_>,
    journal: &mut Journal,
) -> io::Result<Vec<(JournalEntry, Done)>> {
    let files = HostFiles::here(root);
    let boot = boot(&files);
    let is_meant = |entry: &&JournalEntry| match which {
        Which::All => true,
        Which::Check(check) => entry.check == check,
        Which::Behind(number) => entry.number > number,
    };
    let entries: Vec<JournalEntry> = journal.standing().rev().filter(is_meant).cloned().collect();
    let mut done = Vec::new();
    for entry in entries {
        let outcome = put_back(root, &files, &boot, &entry);
        let why = match &outcome {
            // The change stays in the journal, so that revert can be tried again.
            Done::Refused(_) | Done::Elsewhere(_) => None,
            Done::Theirs(_) => Some("somebody else has changed it"),
            Done::Gone => Some("the host has rebooted since"),
            Done::NetworkGone => Some("its network namespace is gone"),
            Done::OtherDevice => Some("the device is another one"),
            _ => Some("put back"),
        };
        if let Some(why) = why {
            journal.note_over(entry.number, why)?;
        }
        done.push((entry, outcome));
    }
    Ok(done)
}

fn put_back(root: &Path, files: &HostFiles, boot: &str, entry: &JournalEntry) -> Done {
    if entry.boot != boot {
        return Done::Gone;
    }
    let change = &entry.change;
    if let Some(elsewhere) = elsewhere(files, entry) {
        return elsewhere;
    }
    let path = present_path(files, &change.path, &entry.device);
    let Some(now) = files.text(&path) else {
        return Done::Theirs("it is not there any more".to_owned());
    };
    if entry.device != identity(files, &path) {
        return Done::OtherDevice;
    }
    if is_same(&now, &change.old) {
        return Done::AsBefore;
    }
    let ours = entry.read_back.as_deref().unwrap_or(&change.new);
    // Other effects of a change are not known if it was cut short.
    let is_unknown = entry.is_effect && entry.read_back.is_none();
    if !is_unknown && !is_same(&now, ours) && !is_same(&now, &change.new) {
        return Done::Theirs(now);
    }
    let beside: Vec<(&str, Option<String>)> =
        effects_of(&path).iter().map(|path| (*path, files.text(path))).collect();
    match write(root, files, &path, &written(&change.old)) {
        Ok(()) => {
            restore(root, files, &beside);
            let read = files.text(&path).unwrap_or_default();
            if is_same(&read, &change.old) { Done::PutBack } else { Done::Other(read) }
        }
        Err(error) => Done::Refused(error.to_string()),
    }
}

/// Writes values back that the kernel has changed by itself. Those of the first write have entries of their own.
fn restore(root: &Path, files: &HostFiles, beside: &[(&str, Option<String>)]) {
    for (path, before) in beside {
        let Some(before) = before else { continue };
        if files.text(path).is_some_and(|now| !is_same(&now, before)) {
            // Refused values, such as 0 for bytes of dirty memory, follow from the twin that was written.
            let _refused = write(root, files, path, &written(before));
        }
    }
}

/// The namespace of a change, if it is another one than that of the calling thread.
fn elsewhere(files: &HostFiles, entry: &JournalEntry) -> Option<Done> {
    let (here, there) = (network_of(files, &entry.change.path), &entry.network);
    if there.is_empty() || here.is_empty() || *there == here {
        return None;
    }
    Some(match way_to(files, there) {
        Way::Known(way) => Done::Elsewhere(format!("{there}: {way}")),
        Way::Unknown => Done::Elsewhere(there.clone()),
        Way::None => Done::NetworkGone,
    })
}

/// The value that a change in force reads now, if it is not the one that was written.
pub fn drifted(files: &HostFiles, entry: &JournalEntry) -> Option<Done> {
    if entry.boot != boot(files) {
        return Some(Done::Gone);
    }
    if let Some(elsewhere) = elsewhere(files, entry) {
        return Some(elsewhere);
    }
    let path = present_path(files, &entry.change.path, &entry.device);
    if entry.device != identity(files, &path) {
        return Some(Done::OtherDevice);
    }
    let now = files.text(&path).unwrap_or_default();
    let ours = entry.read_back.as_deref().unwrap_or(&entry.change.new);
    (!is_same(&now, ours)).then_some(Done::Theirs(now))
}

/// The file that sets the sysctls at boot.
pub const PERSISTED: &str = "/etc/sysctl.d/90-velodrome-tune.conf";

/// Writes the sysctls that are in force to a file of our own, which is read at boot; without any sysctl the file is
/// removed. Returns their number.
///
/// # Errors
/// The file cannot be written.
pub fn persist(root: &Path, journal: &Journal) -> io::Result<usize> {
    let path = root.join(PERSISTED.trim_start_matches('/'));
    let line = |entry: &JournalEntry| {
        let name = entry.change.path.strip_prefix("/proc/sys/")?;
        let value = entry.change.new.replace('\t', " ");
        Some(format!(
            "# {}; before: {}\n{} = {value}\n",
            entry.check,
            entry.change.old.replace('\t', " "),
            swapped(name, '/')
        ))
    };
    let is_meant = |entry: &&JournalEntry| !entry.is_effect && is_of_host(&entry.network);
    let lines: Vec<String> = journal.standing().filter(is_meant).filter_map(line).collect();
    if lines.is_empty() {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(0),
        }
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let head =
        "# Written by velodrome tune apply --persist; velodrome tune revert takes it away.\n";
    fs::write(path, format!("{head}{}", lines.concat()))?;
    Ok(lines.len())
}

/// Whether that file exists.
pub fn is_persisted(root: &Path) -> bool {
    root.join(PERSISTED.trim_start_matches('/')).exists()
}

/// Whether the fix of a check may cut the connection to the host, so that it is reverted unless it is confirmed.
pub fn may_cut(check: &Check) -> bool {
    check.risk == Risk::Interruption
}

/// One write call with the whole value, without truncation: the kernel takes the value of each write.
fn write(root: &Path, files: &HostFiles, path: &str, value: &str) -> io::Result<()> {
    if root == Path::new("/") && settings::is_setting(path) {
        return settings::write(path, value);
    }
    let file = files.place(path);
    if !file.exists() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it is not there"));
    }
    fs::write(file, format!("{value}\n")).map_err(|error| match error.raw_os_error() {
        // The kernel's answer for an interrupt whose CPU it manages itself (`EIO`).
        Some(5) if path.starts_with("/proc/irq/") => {
            io::Error::other("the driver has the kernel place this interrupt; nobody else can")
        }
        _ => error,
    })
}

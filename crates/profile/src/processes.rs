//! Processes and their threads: who is whose child.
//!
//! Owns the reading of `/proc` for that. A program of several processes, such as a master with workers, is looked at
//! as a whole.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;

use sys::text::of_kernel_file;

use crate::limits::PROCESSES;

/// A process, its children, their children and so on; itself first.
///
/// # Errors
/// There is no such process.
pub(crate) fn tree_of(process: u32) -> io::Result<Vec<u32>> {
    threads_of(process)?;
    let mut all = None;
    let (mut found, mut next) = (Vec::new(), VecDeque::from([process]));
    while let Some(process) = next.pop_front() {
        if found.len() >= PROCESSES {
            break;
        }
        found.push(process);
        match children_of(process) {
            Some(children) => next.extend(children),
            None => {
                let all = all.get_or_insert_with(all_children);
                next.extend(all.remove(&process).unwrap_or_default());
            }
        }
    }
    Ok(found)
}

/// The children of a process; `None` if the kernel does not list them (`CONFIG_PROC_CHILDREN`).
fn children_of(process: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for thread in threads_of(process).unwrap_or_default() {
        match of_kernel_file(format!("/proc/{process}/task/{thread}/children")) {
            Ok(list) => {
                found.extend(list.split_whitespace().filter_map(|word| word.parse::<u32>().ok()))
            }
            // The main thread is there as long as its process: its list is missing for all.
            Err(_) if thread == process => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

/// The children of all processes of the machine, which takes longer.
fn all_children() -> BTreeMap<u32, Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for child in numbers("/proc").unwrap_or_default() {
        if let Some(parent) = parent_of(child) {
            children.entry(parent).or_default().push(child);
        }
    }
    children
}

/// The threads of a process.
///
/// # Errors
/// There is no such process.
pub(crate) fn threads_of(process: u32) -> io::Result<Vec<u32>> {
    numbers(format!("/proc/{process}/task"))
}

/// The name of a process or a thread.
pub(crate) fn name_of(thread: u32) -> String {
    let name = of_kernel_file(format!("/proc/{thread}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// The entries of a directory that are numbers.
fn numbers(directory: impl AsRef<Path>) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(directory)?;
    let number =
        |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Ok(entries.filter_map(number).collect())
}

/// The fourth word of `/proc/PID/stat`; the second is a name in brackets, which may contain anything.
fn parent_of(process: u32) -> Option<u32> {
    let stat = of_kernel_file(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_belong_to_the_tree() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "exec 3<&0; sh -c 'echo; read line <&3; exit' & wait"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The line says that the grandchild runs.
        let mut line = [0];
        std::io::Read::read_exact(&mut shell.stdout.take().unwrap(), &mut line).unwrap();
        let tree = tree_of(shell.id()).unwrap();
        let own = tree_of(std::process::id()).unwrap();
        // Where the kernel lists no children, all processes are asked for their parents.
        let slowly = all_children().remove(&shell.id()).unwrap_or_default();
        // At the end of its input, the grandchild ends, and so does the shell.
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert!(tree.len() >= 2 && tree[0] == shell.id(), "{tree:?}");
        assert!(tree.iter().all(|process| own.contains(process)), "{tree:?} {own:?}");
        assert_eq!(slowly, tree[1..]);
        assert!(tree_of(u32::MAX).is_err());
    }
}

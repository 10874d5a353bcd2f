//! The open descriptors of a program: those of all its threads, because a thread may have a table of its own
//! (unshare(2), `CLONE_FILES`), which `/proc/PID/fd` does not show.
//!
//! Owns which tables there are, and in which order they are looked at. Opens no descriptor.

use sys::thread::share_descriptors;

use crate::files::HostFiles;
use crate::limits::{DESCRIPTORS, TABLES_COMPARED, THREADS};
use crate::processes::Process;

/// An open descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenDescriptor {
    /// The directory of a thread whose table has it.
    thread: String,
    number: u32,
}

impl OpenDescriptor {
    /// The first descriptors of a program, of each of its tables equally many.
    pub(crate) fn all(files: &HostFiles, process: u32) -> Vec<Self> {
        let tables = tables(files, process);
        let each = DESCRIPTORS.div_ceil(tables.len().max(1));
        let of_table = |thread: String| {
            let numbers = numbers(files, &thread).into_iter().take(each);
            numbers.map(move |number| Self { thread: thread.clone(), number }).collect::<Vec<_>>()
        };
        tables.into_iter().flat_map(of_table).collect()
    }

    /// How many descriptors the fullest table of a program has: each table has the limit for itself.
    pub(crate) fn most(files: &HostFiles, process: u32) -> u64 {
        let count = |thread: String| numbers(files, &thread).len() as u64;
        tables(files, process).into_iter().map(count).max().unwrap_or(0)
    }

    /// The first program of a host that has one of these sockets.
    pub(crate) fn owner(files: &HostFiles, sockets: &[u64]) -> Option<u32> {
        let is_it = |one: &Self| one.socket(files).is_some_and(|inode| sockets.contains(&inode));
        Process::all(files).into_iter().find(|process| Self::all(files, *process).iter().any(is_it))
    }

    /// Its link.
    pub(crate) fn path(&self) -> String {
        format!("{}/fd/{}", self.thread, self.number)
    }

    /// The file that says how it was opened.
    pub(crate) fn information(&self) -> String {
        format!("{}/fdinfo/{}", self.thread, self.number)
    }

    /// The inode of a socket.
    pub(crate) fn socket(&self, files: &HostFiles) -> Option<u64> {
        let to = files.link(&self.path())?;
        to.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    }
}

/// The directories of threads that together have all descriptor tables of a program, the program's own first.
fn tables(files: &HostFiles, process: u32) -> Vec<String> {
    let mut known = vec![process];
    let threads = Process::threads(files, process).into_iter().take(THREADS);
    for (count, thread) in threads.filter(|thread| *thread != process).enumerate() {
        let shares = |other: &u32| {
            let by_kernel = files.are_live().then(|| share_descriptors(*other, thread).ok());
            by_kernel.flatten().unwrap_or_else(|| {
                count >= TABLES_COMPARED || have_the_same(files, process, *other, thread)
            })
        };
        if !known.iter().any(shares) {
            known.push(thread);
        }
    }
    known.into_iter().map(|thread| directory(process, thread)).collect()
}

fn directory(process: u32, thread: u32) -> String {
    match thread == process {
        true => format!("/proc/{process}"),
        false => format!("/proc/{process}/task/{thread}"),
    }
}

/// The numbers of the open descriptors of a thread, ascending: listeners were opened first.
fn numbers(files: &HostFiles, thread: &str) -> Vec<u32> {
    let names = files.names(&format!("{thread}/fd"));
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Whether the tables of two threads have the same contents.
fn have_the_same(files: &HostFiles, process: u32, one: u32, other: u32) -> bool {
    let (one, other) = (directory(process, one), directory(process, other));
    let open = numbers(files, &one);
    let link = |thread: &str, number: u32| files.link(&format!("{thread}/fd/{number}"));
    open == numbers(files, &other)
        && open.into_iter().all(|number| link(&one, number) == link(&other, number))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn sockets(files: &HostFiles, process: u32) -> BTreeSet<u64> {
        let all = OpenDescriptor::all(files, process);
        all.iter().filter_map(|one| one.socket(files)).collect()
    }

    /// As on a host that was recorded: there the kernel cannot compare tables.
    #[test]
    fn sockets_of_threads_with_tables_of_their_own_are_seen_and_none_twice() {
        let root = std::env::temp_dir().join(format!("velodrome-tables-{}", std::process::id()));
        let open = |place: &str, number: u32, to: &str| {
            let table = root.join("proc/7").join(place);
            std::fs::create_dir_all(&table).expect("a directory for temporary files");
            std::os::unix::fs::symlink(to, table.join(number.to_string())).expect("it is new");
        };
        for table in ["fd", "task/7/fd", "task/8/fd"] {
            open(table, 3, "socket:[30]");
        }
        open("task/9/fd", 3, "socket:[40]");
        open("task/10/fd", 3, "socket:[40]");
        open("task/10/fd", 12, "socket:[41]");
        let files = HostFiles::below(&root);
        let seen = sockets(&files, 7);
        let count = OpenDescriptor::all(&files, 7).len();
        let most = OpenDescriptor::most(&files, 7);
        let owners = [41, 42].map(|inode| OpenDescriptor::owner(&files, &[inode]));
        std::fs::remove_dir_all(&root).expect("it was made above");
        assert_eq!(seen, BTreeSet::from([30, 40, 41]));
        assert_eq!(count, 4, "the table of thread 8 is that of the program");
        assert_eq!(most, 2);
        assert_eq!(owners, [Some(7), None]);
    }

    #[test]
    fn a_directory_that_only_one_thread_has_is_seen() {
        let (told, hears) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let own = sys::thread::part_descriptor_table();
            let list = std::fs::read_dir("/proc/self/task").expect("it exists");
            own.expect("a thread may have a table of its own");
            told.send(()).expect("the test waits for it");
            let _ended = ends.recv();
            drop(list);
        });
        hears.recv().expect("the thread tells it");
        let files = HostFiles::below(Path::new("/"));
        let all = OpenDescriptor::all(&files, std::process::id());
        let is_it = |one: &OpenDescriptor| {
            one.thread.contains("/task/") && files.link(&one.path()).as_deref() == Some("task")
        };
        let seen = all.iter().any(is_it);
        drop(end);
        thread.join().expect("it only waits");
        assert!(seen, "{all:?}");
    }
}

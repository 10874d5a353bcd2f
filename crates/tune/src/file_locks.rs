//! Locks of files that the server has open (flock(2), fcntl(2)), looked at several times between the two readings.
//!
//! Owns which of them are held, by whom, and for which the server waits, and the text form of the sums, which is read
//! as a file. Judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::descriptors::OpenDescriptor;
use crate::files::HostFiles;
use crate::limits::LOOKS_AT_FILES;

/// The path under which the sums are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/file-locks/{process}")
}

/// A file of the server that somebody had locked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockedFile {
    /// Looks at which it was locked for writing, and the most of them by one program: that program.
    pub(crate) held: u64,
    pub(crate) by_holder: u64,
    pub(crate) holder: u32,
    /// Programs or threads of the server that waited for it, summed over all looks.
    pub(crate) waits: u64,
    pub(crate) path: String,
}

/// What threads of the server wait for at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    ForFileLock,
    ForOther,
}

/// The locks at all looks.
#[derive(Debug, Default)]
pub(crate) struct FileLocks {
    looks: u64,
    /// By the inode of the file: looks by holder, and waits of the server.
    locks: BTreeMap<u64, (BTreeMap<u32, u64>, u64)>,
    /// The inodes of files that the server had open.
    paths: BTreeMap<u64, String>,
    searched: usize,
}

impl FileLocks {
    /// Looks once at the locks of this host, and at the files of these programs. Only if a thread waits for one: to
    /// list them, the kernel stops all that lock a file on this host, for some milliseconds.
    pub(crate) fn look(&mut self, files: &HostFiles, members: &BTreeSet<u32>, waits: Waits) {
        if waits == Waits::ForOther {
            self.looks += 1;
            return;
        }
        self.note(&files.text("/proc/locks").unwrap_or_default(), members);
        // A program may open its file for each request.
        let is_known = self.locks.keys().all(|inode| self.paths.contains_key(inode));
        if !is_known && self.searched < LOOKS_AT_FILES {
            self.searched += 1;
            let open = members.iter().flat_map(|process| OpenDescriptor::all(files, *process));
            self.paths.extend(open.filter_map(|one| file_of(&one)));
        }
    }

    /// Adds the lines of one look (proc_locks(5)): `1: POSIX  ADVISORY  WRITE 812 fe:00:1234 0 EOF`; behind a lock
    /// those that wait for it, with `->`.
    fn note(&mut self, text: &str, members: &BTreeSet<u32>) {
        self.looks += 1;
        let mut seen = BTreeSet::new();
        for line in text.lines() {
            let waits = line.contains("->");
            let mut words = line.split_whitespace().skip(if waits { 4 } else { 3 });
            let (Some(kind), Some(holder), Some(place)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let inode = place.rsplit(':').next().and_then(|text| text.parse::<u64>().ok());
            // A lock of an open file (`OFDLCK`) belongs to no program: -1.
            let (Some(inode), Ok(holder)) = (inode, holder.parse::<i64>()) else { continue };
            let holder = u32::try_from(holder).unwrap_or(0);
            let (holders, waiting) = self.locks.entry(inode).or_default();
            if waits {
                *waiting += u64::from(members.contains(&holder));
            } else if kind == "WRITE" && seen.insert((inode, holder)) {
                *holders.entry(holder).or_default() += 1;
            }
        }
    }

    /// The looks, and a line for each file of the server.
    pub(crate) fn text(&self) -> String {
        let line = |(inode, (holders, waits)): (&u64, &(BTreeMap<u32, u64>, u64))| {
            let path = self.paths.get(inode)?;
            let (holder, most) = holders.iter().max_by_key(|(_, looks)| **looks)?;
            let held = holders.values().sum::<u64>().min(self.looks);
            Some(format!("{held} {most} {holder} {waits} {path}\n"))
        };
        format!("{}\n{}", self.looks, self.locks.iter().filter_map(line).collect::<String>())
    }

    /// Parses the looks and the files; broken lines are left out.
    pub(crate) fn read(text: &str) -> (u64, Vec<LockedFile>) {
        let mut lines = text.lines();
        let looks = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
        let line = |line: &str| {
            let mut words = line.splitn(5, ' ');
            let mut number = || words.next()?.parse::<u64>().ok();
            let (held, by_holder, holder) = (number()?, number()?, number()? as u32);
            let (waits, path) = (number()?, words.next()?.to_owned());
            Some(LockedFile { held, by_holder, holder, waits, path })
        };
        (looks, lines.filter_map(line).collect())
    }
}

/// The inode and the path of a file that a program has open; `None` if it is something else.
fn file_of(one: &OpenDescriptor) -> Option<(u64, String)> {
    let path = one.path();
    let about = std::fs::metadata(Path::new(&path)).ok().filter(std::fs::Metadata::is_file)?;
    Some((about.ino(), std::fs::read_link(path).ok()?.display().to_string()))
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "a test has a file of its own")]
mod tests {
    use super::*;

    #[test]
    fn locks_of_the_servers_files_have_holders_and_waits() {
        let looks = [
            "1: POSIX  ADVISORY  WRITE 812 fe:00:77 1073741825 1073741825\n\
             2: POSIX  ADVISORY  READ 812 fe:00:77 1073741826 1073742335\n\
             3: FLOCK  ADVISORY  WRITE 9 fe:00:78 0 EOF\n",
            "1: FLOCK  ADVISORY  WRITE 812 fe:00:77 0 EOF\n\
             1: -> FLOCK  ADVISORY  WRITE 100 fe:00:77 0 EOF\n\
             1: -> FLOCK  ADVISORY  WRITE 9 fe:00:77 0 EOF\n",
            "1: FLOCK  ADVISORY  WRITE 100 fe:00:77 0 EOF\nnonsense\n",
        ];
        let paths = BTreeMap::from([(77, "/var/a b.db".to_owned())]);
        let mut all = FileLocks { paths, ..FileLocks::default() };
        looks.iter().for_each(|look| all.note(look, &BTreeSet::from([100])));
        let path = "/var/a b.db".to_owned();
        let file = LockedFile { held: 3, by_holder: 2, holder: 812, waits: 1, path };
        assert_eq!(FileLocks::read(&format!("{}nonsense\n", all.text())), (3, vec![file]));
    }

    #[test]
    fn a_lock_of_this_program_is_seen_where_a_thread_waits_for_one() {
        let path = std::env::temp_dir().join(format!("velodrome-locked-{}", std::process::id()));
        let file = std::fs::File::create(&path).expect("a directory for temporary files");
        file.lock().expect("nobody else has it");
        let files = HostFiles::below(Path::new("/"));
        let own = std::process::id();
        let mut all = FileLocks::default();
        all.look(&files, &BTreeSet::from([own]), Waits::ForOther);
        assert_eq!(FileLocks::read(&all.text()), (1, Vec::new()), "the list was not read");
        all.look(&files, &BTreeSet::from([own]), Waits::ForFileLock);
        drop(file);
        let (_, seen) = FileLocks::read(&all.text());
        let is_it = |one: &LockedFile| one.path.ends_with(&*path.display().to_string());
        let found = seen.iter().find(|one| is_it(one)).map(|one| (one.held, one.holder));
        std::fs::remove_file(&path).expect("it was made above");
        assert_eq!(found, Some((1, own)), "{}", all.text());
    }
}

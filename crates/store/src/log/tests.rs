//! The log after a power failure: with entries that are incomplete, old or out of order.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::entry::{Entry, HEAD, Logged, ReadEntry};
use super::{Log, LogFiles, clear};
use crate::failure::StoreFailure;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("velodrome-log-{name}-{}", std::process::id());
        let place = Self(std::env::temp_dir().join(name));
        let _not_there = std::fs::remove_dir_all(&place.0);
        std::fs::create_dir(&place.0).unwrap();
        place
    }

    fn log(&self) -> Log {
        Log::new(Arc::new(LogFiles::open(&self.0).unwrap()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _not_there = std::fs::remove_dir_all(&self.0);
    }
}

fn entry(key: &str) -> Entry {
    let mut entry = Entry::default();
    entry.reset();
    entry.add("0", Logged::Put(key.as_bytes(), b"stored"));
    entry
}

fn append(log: &mut Log, transaction: u64) {
    log.append(&mut entry(&transaction.to_string()), transaction).unwrap();
}

/// The transactions that a replay after that checkpoint would include.
fn repeated(directory: &Path, checkpoint: u64) -> Vec<u64> {
    let logs: Vec<_> =
        super::FILES.iter().map(|name| std::fs::read(directory.join(name)).unwrap()).collect();
    super::replay::entries(&logs, checkpoint).iter().map(|entry| entry.transaction).collect()
}

#[test]
fn a_file_that_cannot_be_a_log_is_named() {
    let place = Place::new("odd");
    let path = place.0.join("log.1");
    std::fs::create_dir(&path).unwrap();
    let of = |text: &str| StoreFailure::Storage(format!("`{}`: {text}", path.display()));
    assert_eq!(LogFiles::open(&place.0).unwrap_err(), of("Is a directory (os error 21)"));
    std::fs::remove_dir(&path).unwrap();
    // Data written to a pipe is lost when it is read.
    mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert_eq!(LogFiles::open(&place.0).unwrap_err(), of("not a regular file"));
    assert_eq!(clear(&place.0).unwrap_err(), of("not a regular file"));
}

#[test]
fn an_entry_is_read_as_it_was_written() {
    let mut written = entry("a");
    written.add("cards", Logged::Delete(b"b"));
    written.add("cards", Logged::Clear);
    // A change has a kind, three lengths and their bytes.
    let written_bytes = (13 + 8) + (13 + 6) + (13 + 5);
    let log = written.bytes(7, 5).to_vec();
    let (read, rest) = ReadEntry::first(&log).unwrap();
    assert_eq!((read.transaction, read.previous, rest.len()), (7, 5, 0));
    let changes: Vec<_> = read.changes().map(Result::unwrap).collect();
    assert_eq!(
        changes,
        [
            ("0", Logged::Put(b"a", b"stored")),
            ("cards", Logged::Delete(b"b")),
            ("cards", Logged::Clear)
        ]
    );
    for cut in 0..HEAD + written_bytes {
        assert!(ReadEntry::first(&log[..cut]).is_none(), "{cut} bytes");
        let mut broken = log.clone();
        broken[cut] ^= 1;
        assert!(ReadEntry::first(&broken).is_none(), "byte {cut}");
    }
}

#[test]
fn entries_after_the_checkpoint_are_repeated_up_to_the_first_that_is_missing() {
    let place = Place::new("chain");
    let mut log = place.log();
    // Transactions without log entries, such as deleting expired keys, come in between.
    for transaction in [3, 4, 9, 10, 11] {
        append(&mut log, transaction);
    }
    log.turn();
    append(&mut log, 12);
    assert_eq!(repeated(&place.0, 0), [3, 4, 9, 10, 11, 12]);
    assert_eq!(repeated(&place.0, 6), [9, 10, 11, 12]);
    assert_eq!(repeated(&place.0, 12), [0; 0]);
    // Entry 9 is damaged: later entries are ignored, including those of the other file.
    let path = place.0.join("log.0");
    let mut bytes = std::fs::read(&path).unwrap();
    let length = entry("3").bytes(3, 0).len();
    bytes[2 * length + 40] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(repeated(&place.0, 0), [3, 4]);
}

#[test]
fn a_checkpoint_drops_only_what_is_older() {
    let place = Place::new("turns");
    let mut log = place.log();
    append(&mut log, 1);
    log.turn();
    append(&mut log, 2);
    // That checkpoint fails, so nothing may be dropped.
    log.turn();
    append(&mut log, 3);
    assert_eq!(repeated(&place.0, 0), [1, 2, 3]);
    log.keep_up(1);
    log.turn();
    append(&mut log, 4);
    assert_eq!(repeated(&place.0, 1), [2, 3, 4]);
    // A checkpoint that was begun before the files were switched is complete.
    log.keep_up(2);
    log.turn();
    append(&mut log, 5);
    assert_eq!(repeated(&place.0, 1), [2, 3, 4, 5]);
}

#[test]
fn entries_of_an_older_time_do_not_follow_new_ones() {
    let place = Place::new("old");
    let mut log = place.log();
    for transaction in 1..=5 {
        append(&mut log, transaction);
    }
    for transaction in 6..=7 {
        log.turn();
        append(&mut log, transaction);
        log.keep_up(transaction);
    }
    // Entry 7 has overwritten entry 1, in front of entries 2 to 5.
    let whole = std::fs::read(place.0.join("log.0")).unwrap();
    let length = entry("7").bytes(7, 6).len();
    assert_eq!(ReadEntry::first(&whole[length..]).unwrap().0.transaction, 2);
    assert_eq!(repeated(&place.0, 5), [6, 7]);
    assert_eq!(repeated(&place.0, 7), [0; 0]);
}

#[test]
fn an_entry_that_was_taken_back_is_not_repeated() {
    let place = Place::new("back");
    let mut log = place.log();
    append(&mut log, 1);
    append(&mut log, 2);
    log.take_back().unwrap();
    assert_eq!(repeated(&place.0, 0), [1]);
    append(&mut log, 2);
    append(&mut log, 3);
    assert_eq!(repeated(&place.0, 0), [1, 2, 3]);
    log.clear().unwrap();
    assert_eq!(repeated(&place.0, 0), [0; 0]);
}

#[test]
fn an_entry_that_cannot_be_removed_is_written_over_before_the_file_changes() {
    let place = Place::new("leftover");
    let mut log = place.log();
    append(&mut log, 1);
    append(&mut log, 2);
    let reading = || File::open(place.0.join("log.0")).unwrap();
    let files = LogFiles { files: [reading(), reading()], are_written: AtomicBool::new(true) };
    let writable = std::mem::replace(&mut log.files, Arc::new(files));
    log.take_back().unwrap_err();
    log.files = writable;
    log.turn();
    append(&mut log, 3);
    assert_eq!(repeated(&place.0, 0), [1, 3]);
    log.turn();
    append(&mut log, 4);
    assert_eq!(
        ReadEntry::first(&std::fs::read(place.0.join("log.1")).unwrap()).unwrap().0.transaction,
        4
    );
}

//! Opening a store with a checkpoint after a reboot, which a changed boot id simulates.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::limits::{CHECKPOINT_GROWTH, VALUE_SIZE};
use crate::{
    Database, DatabaseChange, Executed, LoadFailure, LoadedRow, Order, StepOutcome, Store,
    StoreOptions, Sync, Value, Writer,
};

const LOCK_FILE: &str = "lock.mdb";

/// Offset of the commit counter in LMDB's lock file.
const LAST_COMMIT: usize = 8;

struct Place(StoreOptions);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("velodrome-checkpoint-{}-{number}", std::process::id());
        let databases = vec!["0".to_owned()];
        let settings = StoreOptions::new(&std::env::temp_dir().join(name));
        Self(StoreOptions { databases, sync: Sync::Interval, ..settings })
    }

    fn open(&self) -> Store {
        Store::open(&self.0).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.directory.join(name)
    }

    /// A store with that many checkpoints, each with one more value, and a value after the last one. The program was
    /// killed.
    fn killed(checkpoints: usize) -> Self {
        let place = Self::new();
        let store = place.open();
        let mut writer = store.writer();
        for number in 0..checkpoints {
            write(&mut writer, &number.to_string());
            writer.sync().unwrap();
            assert!(!writer.is_unsynced());
        }
        write(&mut writer, "late");
        assert!(writer.is_unsynced());
        place
    }

    /// A store with a checkpoint and a value after it, whose program is being killed: its snapshots are free, its lock
    /// is still held.
    fn being_ended() -> (Self, File) {
        let place = Self::new();
        let store = place.open();
        let mut writer = store.writer();
        write(&mut writer, "0");
        writer.sync().unwrap();
        write(&mut writer, "1");
        let lock = store.checkpoints.records.try_clone().unwrap();
        (place, lock)
    }

    /// Simulates a reboot.
    fn start_kernel(&self) {
        let records = open(&self.path(RECORDS)).unwrap();
        let Record { number, saved } = Record::newest(&records).unwrap();
        let saved = saved.map(|saved| Saved { boot: [b'0'; BOOT], ..saved });
        Record { number: number + 2, saved }.write(&records).unwrap();
    }

    /// LMDB's counter of commits.
    fn counter(&self) -> [u8; 8] {
        let (file, mut counter) = (open(&self.path(LOCK_FILE)).unwrap(), [0; 8]);
        file.read_exact_at(&mut counter, LAST_COMMIT as u64).unwrap();
        keep_open(file);
        counter
    }

    fn set_counter(&self, counter: [u8; 8]) {
        let file = open(&self.path(LOCK_FILE)).unwrap();
        file.write_all_at(&counter, LAST_COMMIT as u64).unwrap();
        keep_open(file);
    }

    fn keys(&self) -> Vec<String> {
        let store = self.open();
        let all = ["0", "1", "2", "late"].into_iter();
        let snapshot = store.snapshot().unwrap();
        let is_there = |key: &&str| snapshot.get(Database(0), key.as_bytes(), 0).unwrap().is_some();
        all.filter(is_there).map(str::to_owned).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0.directory).unwrap();
    }
}

fn write(writer: &mut Writer, key: &str) {
    let change = DatabaseChange::put(key.as_bytes(), Value::bytes(b"value"));
    writer.execute(&[Order::of(Database(0), change)], 0).pop().unwrap().unwrap();
}

#[test]
fn a_killed_program_loses_nothing_and_a_start_of_the_kernel_what_came_after_the_checkpoint() {
    for checkpoints in [1, 2, 3] {
        let there: Vec<_> = (0..checkpoints).map(|number| number.to_string()).collect();
        let killed = Place::killed(checkpoints);
        assert_eq!(killed.keys(), [&there[..], &["late".to_owned()]].concat());
        let started = Place::killed(checkpoints);
        started.start_kernel();
        assert_eq!(started.keys(), there);
        // The store accepts writes, and the next reboot restores nothing.
        write(&mut started.open().writer(), "late");
        started.start_kernel();
        let finished = started.open();
        write(&mut finished.writer(), "late");
        finished.writer().finish().unwrap();
        drop(finished);
        started.start_kernel();
        assert_eq!(started.keys(), [&there[..], &["late".to_owned()]].concat());
    }
}

#[test]
fn a_record_that_is_not_whole_does_not_count() {
    let place = Place::killed(3);
    place.start_kernel();
    let mut bytes = fs::read(place.path(RECORDS)).unwrap();
    let records = open(&place.path(RECORDS)).unwrap();
    let newest = Record::newest(&records).unwrap();
    let at = if newest.number.is_multiple_of(2) { 0 } else { 4096 };
    bytes[at + 100] ^= 1;
    fs::write(place.path(RECORDS), bytes).unwrap();
    assert_eq!(Record::newest(&records).unwrap().number, newest.number - 3);
}

#[test]
fn a_backup_that_was_put_in_its_place_is_taken_as_it_is() {
    let place = Place::killed(3);
    let other = Place::killed(1);
    place.start_kernel();
    fs::copy(other.path(DATA_FILE), place.path(DATA_FILE)).unwrap();
    assert_eq!(place.keys(), ["0", "late"]);
}

#[test]
fn a_copy_of_a_store_that_was_not_closed_is_refused() {
    let place = Place::killed(2);
    place.start_kernel();
    fs::copy(place.path(DATA_FILE), place.path("copy")).unwrap();
    fs::rename(place.path("copy"), place.path(DATA_FILE)).unwrap();
    let refused = Store::open(&place.0).unwrap_err().to_string();
    assert!(refused.contains("`checkpoint`") && refused.contains("delete"), "{refused}");
    fs::remove_file(place.path(RECORDS)).unwrap();
    assert_eq!(place.keys(), ["0", "1", "late"]);
}

#[test]
fn while_there_is_a_keeper_nobody_else_becomes_one() {
    let place = Place::killed(1);
    let keeper = Checkpoints::open(&place.0.directory, Role::Keeper).unwrap();
    assert_eq!(keeper.role(), Role::Keeper);
    for role in [Role::Keeper, Role::Other] {
        let other = Checkpoints::open(&place.0.directory, role).unwrap();
        assert_eq!(other.role(), Role::Other);
    }
    drop(keeper);
    let next = Checkpoints::open(&place.0.directory, Role::Keeper).unwrap();
    assert_eq!(next.role(), Role::Keeper);
}

#[test]
fn while_a_program_writes_the_others_wait_for_its_lock() {
    let place = Place::new();
    let store = place.open();
    let data = open(&place.path(DATA_FILE)).unwrap();
    let take = || flock(&data, FlockOperation::NonBlockingLockExclusive);
    let row = LoadedRow { key: b"key"[..].into(), value: Value::bytes(b"value"), expiry_ms: None };
    let rows = std::iter::once_with(|| take().map(|()| row.clone()));
    let loaded = store.writer().load(Database(0), rows);
    assert!(matches!(loaded, Err(LoadFailure::Source(Errno::WOULDBLOCK))));
    take().unwrap();
}

#[test]
fn a_keeper_that_is_being_ended_does_not_keep_its_checkpoint() {
    let (place, lock) = Place::being_ended();
    let other = place.open();
    assert!(!other.writer().is_unsynced(), "it is not the keeper");
    write(&mut other.writer(), "late");
    drop((other, lock));
    place.start_kernel();
    assert_eq!(place.keys(), ["0", "1", "late"]);
}

#[test]
fn a_snapshot_of_a_keeper_is_freed_after_its_checkpoint_is_ended() {
    let (place, lock) = Place::being_ended();
    let records = open(&place.path(RECORDS)).unwrap();
    let kept = Record::newest(&records).unwrap();
    let other = place.open();
    let mut writer = other.writer();
    // Simulates an earlier moment of the kill: the record and the snapshot of a dead process are still there.
    let number = Record::newest(&records).unwrap().number + 1;
    Record { number, saved: kept.saved.clone() }.write(&records).unwrap();
    add_reader(&place.path(LOCK_FILE), kept.saved.unwrap().meta.transaction());
    assert_eq!(writer.free_dead_readers(), Ok(0));
    write(&mut writer, "late");
    assert_eq!(Record::newest(&records).unwrap().number, number);
    drop(lock);
    assert_eq!(writer.free_dead_readers(), Ok(1));
    assert_eq!(Record::newest(&records).unwrap().saved, None);
}

#[test]
fn a_commit_whose_program_was_killed_before_it_counted_waits_for_the_next_writer() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    write(&mut writer, "0");
    writer.sync().unwrap();
    let (before, last) = (place.counter(), writer.last_commit());
    write(&mut writer, "1");
    // The meta page shows the commit, and LMDB's counter does not yet.
    let after = place.counter();
    place.set_counter(before);
    assert_eq!((writer.last_commit(), store.usage().commit), (last, last));
    assert!(!writer.is_unsynced());
    writer.sync().unwrap();
    // LMDB corrects the counter when the next program writes.
    place.set_counter(after);
    assert_eq!(writer.last_commit(), last + 1);
    assert!(writer.is_unsynced());
    writer.sync().unwrap();
    drop((store, writer));
    place.start_kernel();
    assert_eq!(place.keys(), ["0", "1"]);
}

/// Adds the snapshot of a dead process to a lock file with one place in use.
fn add_reader(lock_file: &Path, commit: u64) {
    let file = open(lock_file).unwrap();
    let mut used = [0; 4];
    file.read_exact_at(&mut used, 16).unwrap();
    assert_eq!(u32::from_ne_bytes(used), 1);
    file.write_all_at(&2_u32.to_ne_bytes(), 16).unwrap();
    let process = i32::MAX as u64;
    file.write_all_at(&[commit.to_ne_bytes(), process.to_ne_bytes()].concat(), 128 + 64).unwrap();
    keep_open(file);
}

/// LMDB detects live programs by locks on its lock file. Closing any descriptor of the file would drop them.
fn keep_open(lock_file: File) {
    std::mem::forget(lock_file);
}

#[test]
fn a_file_that_is_written_over_and_over_grows_no_more_than_the_bound() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    let bytes = vec![1; VALUE_SIZE];
    for _ in 0..50 {
        let order = Order::of(Database(0), DatabaseChange::put(b"key", Value::bytes(&bytes)));
        writer.execute(&[order], 0).pop().unwrap().unwrap();
        if writer.wants_checkpoint() {
            let begun = writer.begin_checkpoint().unwrap().unwrap();
            writer.end_checkpoint(begun.wait()).unwrap();
        }
    }
    let size = fs::metadata(place.path(DATA_FILE)).unwrap().len();
    // The pages of the last two checkpoints.
    let most = 2 * CHECKPOINT_GROWTH + 2 * VALUE_SIZE as u64;
    assert!(size < most, "{size}");
}

#[test]
fn a_checkpoint_that_is_completed_after_a_later_one_replaces_nothing() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    write(&mut writer, "0");
    let earlier = writer.begin_checkpoint().unwrap().unwrap();
    write(&mut writer, "1");
    writer.sync().unwrap();
    writer.end_checkpoint(earlier.wait()).unwrap();
    assert!(!writer.is_unsynced(), "the snapshot of the later one is kept");
    drop((store, writer));
    place.start_kernel();
    assert_eq!(place.keys(), ["0", "1"]);
}

#[test]
fn a_deletion_without_the_log_survives_a_power_failure() {
    let mut place = Place::new();
    place.0.sync = Sync::Log;
    let store = place.open();
    let mut writer = store.writer();
    for key in ["0", "1", "2"] {
        write(&mut writer, key);
    }
    let running = writer.begin_checkpoint().unwrap().unwrap();
    let delete = DatabaseChange::Delete(vec![b"1"[..].into()]);
    let deleted = writer.delete_without_log(&Order::of(Database(0), delete), 0);
    assert_eq!(deleted, Ok(Executed::Done(vec![StepOutcome::Number(1)])));
    writer.end_checkpoint(running.wait()).unwrap();
    // Later entries of the log follow.
    write(&mut writer, "late");
    drop((store, writer));
    place.start_kernel();
    assert_eq!(place.keys(), ["0", "2", "late"]);
}

#[test]
fn after_a_failure_of_the_disk_nothing_is_written_and_the_store_goes_back() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    write(&mut writer, "0");
    writer.sync().unwrap();
    write(&mut writer, "1");
    let full = writer.end_checkpoint(Err(StoreFailure::DiskFull));
    assert_eq!(full, Err(StoreFailure::DiskFull));
    write(&mut writer, "2");
    let failure = StoreFailure::Storage("it is broken".to_owned());
    assert_eq!(writer.end_checkpoint(Err(failure.clone())), Err(failure.clone()));
    let order = Order::of(Database(0), DatabaseChange::put(b"late", Value::bytes(b"value")));
    assert_eq!(writer.execute(&[order], 0), [Err(failure.clone())]);
    assert_eq!(writer.sync(), Err(failure.clone()));
    assert_eq!(writer.finish(), Err(failure));
    let other = Checkpoints::open(&place.0.directory, Role::Other).unwrap();
    other.settle().unwrap();
    drop((store, writer));
    assert!(other.settle().unwrap_err().to_string().contains("disk failed"));
    assert_eq!(place.keys(), ["0"]);
}

#[test]
fn a_file_that_lost_its_end_is_damaged_and_ends_nobody() {
    let place = Place::new();
    let store = place.open();
    let mut writer = store.writer();
    for number in 0..500 {
        write(&mut writer, &format!("{number:0200}"));
    }
    writer.finish().unwrap();
    drop((store, writer));
    let size = fs::metadata(place.path(DATA_FILE)).unwrap().len();
    let mut refused = 0;
    for eighth in 1..8 {
        let file = open(&place.path(DATA_FILE)).unwrap();
        let whole = fs::read(place.path(DATA_FILE)).unwrap();
        file.set_len(size / 8 * eighth).unwrap();
        let checked = Store::open(&place.0).and_then(|store| store.writer().check(Database(0)));
        match checked {
            Ok(Ok(records)) => assert_eq!(records, 500),
            Ok(Err(_)) => refused += 1,
            Err(failure) => {
                assert!(failure.to_string().contains("restore a backup"), "{failure}");
                refused += 1;
            }
        }
        fs::write(place.path(DATA_FILE), whole).unwrap();
    }
    assert!(refused > 0);
    assert_eq!(place.open().writer().check(Database(0)), Ok(Ok(500)));
}

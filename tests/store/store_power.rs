//! Goal: after a power failure a store with `sync = "commit"` or `"log"` has every answered write, one with
//! `"interval"` has all writes up to a recent moment, and none has a transaction in part. Method: strace records the
//! writes of programs, and the test builds the possible contents of the disk at each moment ([`power`]). Reported as
//! skipped if strace is not installed or not permitted.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::power::{Happened, Which, below, recorded, torn};
use crate::server::channel::{connect, resp, say};
use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, has, run};
use store::{Database, PageOf, Query, StepOutcome, Store, StoreOptions, With};

/// The number of programs that write, one after the other, and of the rows of each.
const PROGRAMS: usize = 12;
const ROWS: usize = 25;

/// Disk contents that are built for each moment.
const FILES: u64 = 12;

/// Records of checkpoints: their offsets and size, and the offsets of the inode, the boot id and the checksum.
const RECORDS: [usize; 2] = [0, 4096];
const RECORD: usize = 512;
const INODE: std::ops::Range<usize> = 16..24;
const BOOT: std::ops::Range<usize> = 24..60;
const SUM: usize = RECORD - 8;

/// The files of a store that are recorded.
const FILE_NAMES: [&str; 4] = [::store::DATA_FILE, "checkpoint", "log.0", "log.1"];

/// Changes the records to the inode of this file and to another boot id.
fn moved(checkpoint: &mut [u8], inode: u64) {
    for place in RECORDS {
        let Some(record) = checkpoint.get_mut(place..place + RECORD) else { continue };
        if record[INODE].iter().all(|byte| *byte == 0) {
            continue;
        }
        record[INODE].copy_from_slice(&inode.to_ne_bytes());
        record[BOOT].fill(b'0');
        let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let sum = record[..SUM].iter().fold(0xcbf2_9ce4_8422_2325, step);
        record[SUM..].copy_from_slice(&sum.to_ne_bytes());
    }
}

/// The keys and values of a store after a power failure at this event. The store must be consistent.
fn left(directory: &Path, events: &[Happened], seed: &mut u64) -> Vec<(String, String)> {
    // A tree that leads beyond the end of its file would end this program with nothing but a signal's number.
    sys::lost_page::report().unwrap();
    let _not_there = std::fs::remove_dir_all(directory);
    std::fs::create_dir(directory).unwrap();
    let data = directory.join(::store::DATA_FILE);
    std::fs::write(&data, torn(Which::Data, events, seed)).unwrap();
    let mut checkpoint = torn(Which::Checkpoint, events, seed);
    moved(&mut checkpoint, data.metadata().unwrap().ino());
    std::fs::write(directory.join("checkpoint"), checkpoint).unwrap();
    for log in [0, 1] {
        let written = torn(Which::Log(log), events, seed);
        std::fs::write(directory.join(format!("log.{log}")), written).unwrap();
    }
    let settings = StoreOptions { databases: vec!["0".to_owned()], ..StoreOptions::new(directory) };
    let opened = Store::open(&settings).unwrap();
    let checked = opened.writer().check(Database(0)).unwrap();
    let page = PageOf { keys: 10_000, with: With::Values, ..PageOf::default() };
    let snapshot = opened.snapshot().unwrap();
    let StepOutcome::Page(page) = snapshot.answer(Database(0), &Query::Page(page), 0).unwrap()
    else {
        panic!("no page")
    };
    assert_eq!(checked, Ok(page.keys.len() as u64));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let value =
        |entry: Option<store::StoredEntry>| entry.map_or(String::new(), |it| text(&it.bytes));
    page.keys.into_iter().map(|(key, entry)| (text(&key), value(entry))).collect()
}

/// The system calls that strace records.
const CALLS: &str = "trace=openat,lseek,pwrite64,pwritev,writev,ftruncate,fdatasync,fsync";

/// Imports rows under strace. Returns the record, if strace works here.
fn imported(place: &Directory, store: &Path, program: usize) -> Option<Vec<Happened>> {
    let rows = (0..ROWS).map(|row| {
        let value = "x".repeat(1 + (program * 731 + row * 97) % 3_000);
        format!("{program:02}:{row:02},{value}\n")
    });
    place.write("rows.csv", format!("key,value\n{}", rows.collect::<String>()));
    let trace = place.join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-xx", "-s", "100000000", "-o"]).arg(&trace).args(["-e", CALLS, "-P"]);
    strace.arg(store.join(::store::DATA_FILE)).arg("-P").arg(store.join("checkpoint"));
    let output =
        run(strace.args([PROGRAM, "store", "import"]).arg(place.join("rows.csv")).arg(store));
    let recorded = recorded(&std::fs::read_to_string(&trace).unwrap_or_default());
    assert!(recorded.is_empty() || output.status.success());
    (!recorded.is_empty()).then_some(recorded)
}

#[test]
fn a_power_failure_loses_nothing_that_was_answered() {
    let test = "a_power_failure_loses_nothing_that_was_answered";
    if !has("strace", test) {
        return;
    }
    let place = Directory::new();
    let data = place.join("data");
    let mut events = Vec::new();
    for program in 0..PROGRAMS {
        match imported(&place, &data, program) {
            Some(recorded) => events.extend(recorded),
            None => return println!("SKIPPED {test}: strace may not look at programs here"),
        }
    }
    let whole = left(&place.join("torn"), &events, &mut 1);
    assert_eq!(whole.len(), PROGRAMS * ROWS);
    let (mut seed, mut lost) = (1, 0);
    // The first program creates the file; if that was interrupted, the store is created again.
    let first = events.iter().position(|event| matches!(event, Happened::Answered)).unwrap();
    for moment in first + 1..=events.len() {
        let answered = |event: &&Happened| matches!(event, Happened::Answered);
        let answered = events[..moment].iter().filter(answered).count();
        for _ in 0..FILES {
            let before = seed;
            let left = left(&place.join("torn"), &events[..moment], &mut seed);
            let keys: Vec<_> = left.into_iter().map(|(key, _)| key).collect();
            let programs = keys.len() / ROWS;
            let about = format!("moment {moment}, seed {before}: {answered} answered, {keys:?}");
            assert_eq!(keys.len() % ROWS, 0, "{about}");
            assert!(programs == answered || programs == answered + 1, "{about}");
            let begins =
                |(at, key): (usize, &String)| key.starts_with(&format!("{:02}:", at / ROWS));
            assert!(keys.iter().enumerate().all(begins), "{about}");
            lost += usize::from(programs == answered);
        }
    }
    assert!(lost > 100, "the power never failed before the end of a commit");
}

/// Writes of the client, and the number of keys that it writes in turn.
const WRITES: usize = 400;
const KEYS: usize = 40;

/// Disk contents that are built.
const MOMENTS: u64 = 500;

/// The last write that a store contains; it must contain all earlier ones.
fn last_of(left: &[(String, String)]) -> usize {
    let number = |text: &str| text.split('x').next().unwrap().parse().unwrap();
    let last = left.iter().find(|(key, _)| key == "last").map_or(0, |(_, value)| number(value));
    let mut there = vec![0; KEYS];
    for (key, value) in left.iter().filter(|(key, _)| key != "last") {
        there[key.parse::<usize>().unwrap()] = number(value);
    }
    let expected = |key| (1..=last).rev().find(|write| write % KEYS == key).unwrap_or(0);
    assert_eq!(there, (0..KEYS).map(expected).collect::<Vec<_>>(), "after {last}");
    last
}

/// A server with checkpoints under strace, and the path of the record.
fn recorded_server(sync: &str, sync_interval: &str) -> (Server, String) {
    // The durability of the host's own disk does not matter.
    let plan = Plan::within(Directory::in_memory());
    let plan = plan.argument("--listen-resp=127.0.0.1:0").argument("--schedulers=1");
    let path = |name: &str| plan.directory.join(name).display().to_string();
    let (trace, store) = (path("trace"), path("store"));
    let strace = ["strace", "-D", "-f", "-y", "-xx", "-s", "100000000", "-o", &trace, "-e", CALLS];
    let files = FILE_NAMES.map(|name| format!("{store}/{name}"));
    let traced = files.iter().flat_map(|file| ["-P", file.as_str()]);
    let wrapper: Vec<&str> = strace.into_iter().chain(traced).collect();
    let config = format!("[store]\nsync = \"{sync}\"\nsync_interval = \"{sync_interval}\"\n");
    let plan = plan.argument(&format!("--store={store}"));
    (plan.wrapped(&wrapper).config(&config).start(), trace)
}

fn write_all(server: &Server) {
    let mut stream = connect(resp(server));
    for write in 1..=WRITES {
        let value = "x".repeat(write * 97 % 2_000);
        let command = format!("MSET last {write} {} {write}{value}\r\n", write % KEYS);
        say(&mut stream, command.as_bytes(), b"+OK\r\n");
    }
}

/// Ends the server and returns the record.
fn ended(server: &mut Server, trace: &str, (signal, end): (&str, &str)) -> Vec<Happened> {
    server.signal(signal);
    server.wait();
    // strace pads short process ids with several spaces.
    let (id, end) = (server.id().to_string(), format!("+++ {end} +++"));
    let is_end = |line: &str| line.split_whitespace().next() == Some(&*id) && line.ends_with(&end);
    let whole =
        || std::fs::read_to_string(trace).ok().filter(|text| text.lines().rev().any(is_end));
    recorded(&until("strace has written everything", whole))
}

/// The events after which a checkpoint is on disk.
fn checkpoints(events: &[Happened]) -> Vec<usize> {
    let is_one = |event: &Happened| matches!(event, Happened::Synced(Which::Checkpoint, _));
    (0..events.len()).filter(|place| is_one(&events[*place])).collect()
}

#[test]
fn after_a_power_failure_a_store_is_as_it_was_not_long_before() {
    let test = "after_a_power_failure_a_store_is_as_it_was_not_long_before";
    if !has("strace", test) {
        return;
    }
    let (mut server, trace) = recorded_server("interval", "10ms");
    write_all(&server);
    let events = ended(&mut server, &trace, ("TERM", "exited with 0"));
    if events.iter().all(|event| matches!(event, Happened::Answered)) {
        println!("SKIPPED {test}: strace may not look at programs here");
        return;
    }
    let place = Directory::in_memory();
    let torn = place.join("torn");
    assert_eq!(last_of(&left(&torn, &events, &mut 1)), WRITES);
    // The contents of each checkpoint, from the moment when it is on disk.
    let checkpoints = checkpoints(&events);
    let has = |place: &usize| last_of(&left(&torn, &events[..=*place], &mut 1));
    let kept: Vec<_> = checkpoints.iter().map(has).collect();
    assert!(kept.is_sorted() && kept.last() == Some(&WRITES), "{kept:?}");
    let (mut seed, mut lost) = (1, 0);
    for _ in 0..MOMENTS {
        let before = seed;
        let span = (events.len() - checkpoints[0]) as u64;
        let moment = checkpoints[0] + 1 + below(&mut seed, span) as usize;
        let last = last_of(&left(&torn, &events[..moment], &mut seed));
        let made = checkpoints.iter().filter(|place| **place < moment).count();
        let about = format!("moment {moment}, seed {before}: {last} of {kept:?}, {made} made");
        // The next checkpoint may be on disk before fdatasync returns.
        let next = kept.get(made).unwrap_or(&WRITES);
        assert!(last == kept[made - 1] || last == *next, "{about}");
        lost += usize::from(last < WRITES);
    }
    assert!(kept.len() > 10 && lost > 100, "{kept:?}, {lost}");
}

#[test]
fn with_a_log_a_power_failure_loses_nothing_that_was_answered() {
    let test = "with_a_log_a_power_failure_loses_nothing_that_was_answered";
    if !has("strace", test) {
        return;
    }
    let (mut server, trace) = recorded_server("log", "20ms");
    write_all(&server);
    let events = ended(&mut server, &trace, ("KILL", "killed by SIGKILL"));
    if events.is_empty() {
        println!("SKIPPED {test}: strace may not look at programs here");
        return;
    }
    let place = Directory::in_memory();
    let torn = place.join("torn");
    // A write is answered after the wait for its log entry.
    let is_answer = |event: &&Happened| matches!(event, Happened::Synced(Which::Log(_), _));
    let checkpoints = checkpoints(&events);
    let turns = |log| {
        let is_its =
            |event: &&Happened| matches!(event, Happened::Synced(Which::Log(it), _) if *it == log);
        events.iter().filter(is_its).count()
    };
    assert_eq!(turns(0) + turns(1), WRITES);
    assert!(turns(0).min(turns(1)) > 20 && checkpoints.len() > 5, "{}", checkpoints.len());
    let (mut seed, mut repeated) = (1, 0);
    for _ in 0..MOMENTS {
        let before = seed;
        let span = (events.len() - checkpoints[0]) as u64;
        let moment = checkpoints[0] + 1 + below(&mut seed, span) as usize;
        let last = last_of(&left(&torn, &events[..moment], &mut seed));
        let answered = events[..moment].iter().filter(is_answer).count();
        let about = format!("moment {moment}, seed {before}: {last}, {answered} answered");
        assert!(last == answered || last == answered + 1, "{about}");
        repeated += usize::from(last == answered + 1);
    }
    assert!(repeated > 10, "no entry was on the disk before it was waited for");
}

#[test]
fn a_program_that_writes_after_a_killed_server_leaves_a_whole_store() {
    let test = "a_program_that_writes_after_a_killed_server_leaves_a_whole_store";
    if !has("strace", test) {
        return;
    }
    // The only checkpoint is older than all writes.
    let (mut server, trace) = recorded_server("interval", "1h");
    write_all(&server);
    let mut events = ended(&mut server, &trace, ("KILL", "killed by SIGKILL"));
    let killed = events.len();
    let store = server.directory().join("store");
    for program in 0..PROGRAMS {
        match imported(server.directory(), &store, program) {
            Some(recorded) => events.extend(recorded),
            None => return println!("SKIPPED {test}: strace may not look at programs here"),
        }
    }
    let place = Directory::in_memory();
    let torn = place.join("torn");
    let begin = checkpoints(&events)[0] + 1;
    let (mut seed, mut lost) = (1, 0);
    for _ in 0..MOMENTS {
        let before = seed;
        let moment = begin + below(&mut seed, (events.len() - begin) as u64) as usize;
        let left = left(&torn, &events[..moment], &mut seed);
        let (rows, writes): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(key, _)| key.contains(':'));
        let (last, programs) = (last_of(&writes), rows.len() / ROWS);
        let answered = |event: &&Happened| matches!(event, Happened::Answered);
        let answered = events[..moment].iter().filter(answered).count();
        let about = format!("moment {moment} of {killed}, seed {before}: {last}, {answered}");
        assert_eq!(rows.len() % ROWS, 0, "{about}");
        assert!(programs == answered || programs == answered + 1, "{about}: {programs}");
        assert!(last == WRITES || (last == 0 && programs == 0), "{about}: {programs}");
        lost += usize::from(last == 0);
    }
    let some = MOMENTS as usize / 20;
    assert!(lost > some && lost + some < MOMENTS as usize, "{lost}");
}

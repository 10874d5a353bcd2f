//! Goal: when the power fails, a store with `sync = "commit"` has all that was answered, and nothing by halves. Method: strace records what programs
//! write into the file and when they wait for the disk. The file is then put together as a disk could have it at each moment: what was waited for is there,
//! and of the rest any sectors. Skipped and said so where there is no strace, or it may not look at programs.
#![expect(clippy::disallowed_types, reason = "a test has files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::path::Path;
use std::process::Command;

use server::directory::Directory;
use server::{PROGRAM, has, run};
use store::{Database, Outcome, PageOf, Query, Settings, Store, With};

/// Programs that write, one after the other, and rows of each.
const PROGRAMS: usize = 12;
const ROWS: usize = 25;

/// Files that are put together for each moment.
const FILES: u64 = 12;

/// Bytes that a disk writes whole or not at all.
const SECTOR: usize = 512;

/// What happened to the file, in this order.
#[derive(Debug)]
enum Happened {
    /// Bytes were written here; `Waits` where the call returns when the disk has them.
    Written(usize, Vec<u8>, Waits),
    /// A program waited until the disk had all that was written.
    Synced,
    /// A program had ended well: what it wrote is answered.
    Answered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Here,
    Later,
}

/// Bytes in strace's hexadecimal form.
fn bytes(quoted: &str) -> Vec<u8> {
    let byte = |part: &str| u8::from_str_radix(part, 16).unwrap();
    quoted.split("\\x").skip(1).map(|part| byte(&part[..2])).collect()
}

/// The texts between quotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// Reads what strace has recorded of the calls that concern the file.
fn recorded(trace: &str) -> Vec<Happened> {
    let mut all = Vec::new();
    // Descriptors of the file that wait with each write, and where each stands.
    let (mut waiting, mut places) = (Vec::new(), [0_usize; 64]);
    for line in trace.lines() {
        let Some((_, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let result = call.rsplit("= ").next().unwrap_or_default();
        let number = |text: &str| {
            let digits = text.trim_start().split(|one: char| !one.is_ascii_digit()).next();
            digits.and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(usize::MAX)
        };
        let name = call.split('(').next().unwrap_or_default();
        let descriptor = number(call.get(name.len() + 1..).unwrap_or_default());
        let waits = |waiting: &[usize]| match waiting.contains(&descriptor) {
            true => Waits::Here,
            false => Waits::Later,
        };
        match name {
            "openat" if call.contains("O_DSYNC") => waiting.push(number(result)),
            "openat" => waiting.retain(|known| *known != number(result)),
            "lseek" => places[descriptor] = number(result),
            "pwrite64" => {
                let at = number(call.rsplit(", ").next().unwrap());
                let data = bytes(quoted(call).next().unwrap());
                assert_eq!(data.len(), number(result), "a short write is not known here");
                all.push(Happened::Written(at, data, waits(&waiting)));
            }
            "pwritev" | "writev" => {
                let data: Vec<u8> = quoted(call).flat_map(bytes).collect();
                assert_eq!(data.len(), number(result), "a short write is not known here");
                let at = match name {
                    "writev" => places[descriptor],
                    _ => number(call.rsplit(", ").next().unwrap()),
                };
                places[descriptor] += data.len();
                all.push(Happened::Written(at, data, waits(&waiting)));
            }
            "fdatasync" | "fsync" => all.push(Happened::Synced),
            _ if call.contains("exited with 0") => all.push(Happened::Answered),
            _ => {}
        }
    }
    all
}

/// A number below this one, of a seed (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
fn below(seed: &mut u64, most: u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % most
}

fn put(file: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    file.resize(file.len().max(end), 0);
    file[at..end].copy_from_slice(data);
}

/// The file as a disk may have it when the power fails behind so many events.
fn torn(events: &[Happened], seed: &mut u64) -> Vec<u8> {
    let synced = events.iter().rposition(|event| matches!(event, Happened::Synced)).unwrap_or(0);
    // Much, little, or about half of what was not waited for is there.
    let share = 1 + below(seed, 9);
    let mut file = Vec::new();
    for (place, event) in events.iter().enumerate() {
        let Happened::Written(at, data, waits) = event else { continue };
        if place < synced || (*waits == Waits::Here && place + 1 < events.len()) {
            put(&mut file, *at, data);
        } else if *waits == Waits::Here {
            // It was under way, and is within one sector.
            assert!(at / SECTOR == (at + data.len() - 1) / SECTOR, "{at} {}", data.len());
            if below(seed, 2) == 0 {
                put(&mut file, *at, data);
            }
        } else {
            for (number, sector) in data.chunks(SECTOR).enumerate() {
                if below(seed, 10) < share {
                    put(&mut file, at + number * SECTOR, sector);
                }
            }
        }
    }
    file
}

/// The keys that are in a store, which has to be whole.
fn keys_of(directory: &Path, file: &[u8]) -> Vec<String> {
    let _not_there = std::fs::remove_dir_all(directory);
    std::fs::create_dir(directory).unwrap();
    std::fs::write(directory.join("data.mdb"), file).unwrap();
    let settings = Settings { databases: vec!["0".to_owned()], ..Settings::new(directory) };
    let opened = Store::open(&settings).unwrap();
    let checked = opened.writer().check(Database(0)).unwrap();
    let page = PageOf { keys: 10_000, with: With::Keys, ..PageOf::default() };
    let snapshot = opened.snapshot().unwrap();
    let Outcome::Page(page) = snapshot.answer(Database(0), &Query::Page(page), 0).unwrap() else {
        panic!("no page")
    };
    assert_eq!(checked, Ok(page.keys.len() as u64));
    page.keys.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect()
}

#[test]
fn a_power_failure_loses_nothing_that_was_answered() {
    let test = "a_power_failure_loses_nothing_that_was_answered";
    if !has("strace", test) {
        return;
    }
    let place = Directory::new();
    let data = place.join("data");
    let trace = place.join("trace");
    let mut events = Vec::new();
    for program in 0..PROGRAMS {
        let rows = (0..ROWS).map(|row| {
            let value = "x".repeat(1 + (program * 731 + row * 97) % 3_000);
            format!("{program:02}:{row:02},{value}\n")
        });
        place.write("rows.csv", format!("key,value\n{}", rows.collect::<String>()));
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-xx", "-s", "100000000", "-o"]).arg(&trace);
        strace.args(["-e", "trace=openat,lseek,pwrite64,pwritev,writev,fdatasync,fsync", "-P"]);
        strace.arg(data.join("data.mdb")).args([PROGRAM, "store", "import"]);
        let output = run(strace.arg(place.join("rows.csv")).arg(&data));
        let recorded = recorded(&std::fs::read_to_string(&trace).unwrap_or_default());
        if recorded.is_empty() {
            println!("SKIPPED {test}: strace may not look at programs here");
            return;
        }
        assert!(output.status.success());
        events.extend(recorded);
    }
    let whole = keys_of(&place.join("torn"), &torn(&events, &mut 1));
    assert_eq!(whole.len(), PROGRAMS * ROWS);
    let (mut seed, mut lost) = (1, 0);
    // The first program makes the file; a store whose making was cut off is made again.
    let first = events.iter().position(|event| matches!(event, Happened::Answered)).unwrap();
    for moment in first + 1..=events.len() {
        let answered = |event: &&Happened| matches!(event, Happened::Answered);
        let answered = events[..moment].iter().filter(answered).count();
        for _ in 0..FILES {
            let before = seed;
            let keys = keys_of(&place.join("torn"), &torn(&events[..moment], &mut seed));
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

//! Disk contents after a power failure: strace records what programs write into the files of a store and when they wait
//! for the disk. A file is then built as a disk could have it at each moment: everything that was waited for, and any
//! sectors of the rest.

/// Bytes that a disk writes completely or not at all.
const SECTOR: usize = 512;

/// A file of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Data,
    Checkpoint,
    /// One of the two files of the log.
    Log(usize),
}

/// An event of the files, in order.
#[derive(Debug)]
pub(crate) enum Happened {
    /// Bytes were written here; `Waits` if the call returns when the disk has them.
    Written(Which, usize, Vec<u8>, Waits),
    /// The file was truncated to this length.
    Cut(Which, usize),
    /// A program waited until the disk had everything written into the file, except by the last events of this number.
    Synced(Which, usize),
    /// A program has ended successfully: what it wrote is answered.
    Answered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    Here,
    Later,
}

/// Parses bytes in strace's hexadecimal form.
fn bytes(quoted: &str) -> Vec<u8> {
    let byte = |part: &str| u8::from_str_radix(part, 16).unwrap();
    quoted.split("\\x").skip(1).map(|part| byte(&part[..2])).collect()
}

/// The texts between quotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// The file of a call, whose path strace prints in hexadecimal form.
fn file_of(call: &str) -> Which {
    let others =
        [("/checkpoint", Which::Checkpoint), ("/log.0", Which::Log(0)), ("/log.1", Which::Log(1))];
    let is_about = |name: &str| {
        let path: String = name.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        call.contains(&(path + ">"))
    };
    others.into_iter().find(|(name, _)| is_about(name)).map_or(Which::Data, |(_, which)| which)
}

/// The number at the front of a text.
fn number(text: &str) -> usize {
    let digits = text.trim_start().split(|one: char| !one.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(usize::MAX)
}

/// Checks that a write was not a short one. A program that is killed in a system call has no result (`?`): what it
/// wrote may be on the disk or not, as without a barrier after it.
fn assert_whole(data: &[u8], result: &str) {
    let is_whole = result.starts_with('?') || data.len() == number(result);
    assert!(is_whole, "a short write is not known here");
}

/// Parses strace's record of the calls on these files.
pub(crate) fn recorded(trace: &str) -> Vec<Happened> {
    let mut all = Vec::new();
    // Descriptors whose writes wait for the disk, and the position of each.
    let (mut waiting, mut places) = (Vec::new(), [0_usize; 64]);
    // Calls that strace printed in two parts, because another thread's came in between: what is known of each, and the
    // number of events when it began.
    let mut begun: Vec<(&str, &str, usize)> = Vec::new();
    // A program opens the store on its first thread.
    let program = trace.split(' ').next().unwrap_or_default();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(call) = call.strip_suffix(" <unfinished ...>") {
            begun.push((thread, call, all.len()));
            continue;
        }
        let (mut call, mut begin) = (call.to_owned(), all.len());
        if let Some((_, end)) = call.split_once(" resumed>").filter(|_| call.starts_with("<... ")) {
            let place = begun.iter().position(|(other, ..)| *other == thread).unwrap();
            let (_, first, events) = begun.remove(place);
            (call, begin) = (format!("{first}{end}"), events);
        }
        let call = call.as_str();
        let result = call.rsplit("= ").next().unwrap_or_default();
        let name = call.split('(').next().unwrap_or_default();
        let descriptor = number(call.get(name.len() + 1..).unwrap_or_default());
        let which = file_of(call.split(')').next().unwrap_or_default());
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
                assert_whole(&data, result);
                all.push(Happened::Written(which, at, data, waits(&waiting)));
            }
            "pwritev" | "writev" => {
                let data: Vec<u8> = quoted(call).flat_map(bytes).collect();
                assert_whole(&data, result);
                let at = match name {
                    "writev" => places[descriptor],
                    _ => number(call.rsplit(", ").next().unwrap()),
                };
                places[descriptor] += data.len();
                all.push(Happened::Written(which, at, data, waits(&waiting)));
            }
            "ftruncate" => {
                all.push(Happened::Cut(which, number(call.rsplit(", ").next().unwrap())));
            }
            "fdatasync" | "fsync" => all.push(Happened::Synced(which, all.len() - begin)),
            // The others are threads of a program that runs on.
            _ if call.contains("exited with 0") && thread == program => {
                all.push(Happened::Answered)
            }
            _ => {}
        }
    }
    all
}

/// A number below this one, from a seed (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
pub(crate) fn below(seed: &mut u64, most: u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % most
}

fn put(file: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    // The allocator makes zeros faster than this program, which is not optimised.
    file.extend(vec![0; end.saturating_sub(file.len())]);
    file[at..end].copy_from_slice(data);
}

/// A file as a disk may have it if the power fails after this many events.
pub(crate) fn torn(file_of: Which, events: &[Happened], seed: &mut u64) -> Vec<u8> {
    let begin = |(place, event): (usize, &Happened)| match event {
        Happened::Synced(which, meanwhile) if *which == file_of => Some(place - meanwhile),
        _ => None,
    };
    let synced = events.iter().enumerate().filter_map(begin).max().unwrap_or(0);
    // Much, little, or about half of what was not waited for is there.
    let share = 1 + below(seed, 9);
    let mut file = Vec::new();
    for (place, event) in events.iter().enumerate() {
        if let Happened::Cut(which, length) = event
            && *which == file_of
            && (place < synced || below(seed, 10) < share)
        {
            file.truncate(*length);
        }
        let Happened::Written(which, at, data, waits) = event else { continue };
        if *which != file_of {
            continue;
        }
        if place < synced || (*waits == Waits::Here && place + 1 < events.len()) {
            put(&mut file, *at, data);
        } else if *waits == Waits::Here {
            // It was in progress, and is within one sector.
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

//! Makes `examples/site/files/large.bin`, which the example site offers for downloads that are paused and resumed.
//!
//! A build script, because the first command of the README has to serve a complete site, and 64 MiB do not belong
//! into a repository. Owns that one file; never fails a build: in a source tree that cannot be written (a package,
//! a container) the site only lacks it. Runs again when the text beside the file changes, and never otherwise.

use std::fs;
use std::path::Path;

/// The text that tells visitors about the large file; touching it makes the next build look again.
const MARKER: &str = "examples/site/files/README.txt";

/// What is made.
const LARGE: &str = "examples/site/files/large.bin";

/// Where it is made: a name that is neither listed nor served, so that nobody meets half a file.
const PART: &str = "examples/site/files/.large.bin.part";

/// Its size: 64 MiB, long enough to be interrupted by hand on a fast machine.
const LARGE_BYTES: usize = 64 * 1024 * 1024;

/// Length of each of its lines, the line end included.
const LINE_BYTES: usize = 64;

fn main() {
    println!("cargo::rerun-if-changed={MARKER}");
    let is_there = fs::metadata(LARGE).is_ok_and(|metadata| metadata.len() == LARGE_BYTES as u64);
    // Without the site (a published package) there is nothing to complete.
    if is_there || !Path::new(MARKER).exists() {
        return;
    }
    let made = fs::write(PART, content()).and_then(|()| fs::rename(PART, LARGE));
    if made.is_err() {
        // Read-only: the site does without. What was begun goes, if it can.
        let _nothing_begun = fs::remove_file(PART);
    }
}

/// Lines that say where they are: the same bytes on every machine.
fn content() -> Vec<u8> {
    let mut content = Vec::with_capacity(LARGE_BYTES);
    for offset in (0..LARGE_BYTES).step_by(LINE_BYTES) {
        let line =
            format!("{offset:>8} of {LARGE_BYTES} bytes, line {:>7}", offset / LINE_BYTES + 1);
        content.extend_from_slice(format!("{line:.<63}\n").as_bytes());
    }
    content
}

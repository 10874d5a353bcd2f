//! How many writes per second the disk takes: what durable writes are compared with.
//!
//! Owns that measurement.

#![expect(clippy::disallowed_types, reason = "one thread and one descriptor table in this tool")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// How long it is measured.
const TIME: Duration = Duration::from_secs(1);

/// Bytes of a write: a page.
const BYTES: usize = 4096;

/// Durable writes of a page, one after the other, per second.
pub(crate) fn syncs_per_second(folder: &Path) -> Result<f64, Failure> {
    let path = folder.join("syncs");
    let mut file = File::create(&path)?;
    let begun = Instant::now();
    let mut count = 0_u32;
    while begun.elapsed() < TIME {
        file.write_all(&[0; BYTES])?;
        file.sync_data()?;
        count += 1;
    }
    std::fs::remove_file(&path)?;
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

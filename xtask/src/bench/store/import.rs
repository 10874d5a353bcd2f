//! The rate and memory of an import.
//!
//! Owns the file of rows. Never starts a server.

#![expect(clippy::disallowed_types, reason = "one thread and one descriptor table in this tool")]

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::accounting;
use crate::bench::sample::{Metric, Sample};
use crate::bench::site::Site;
use crate::failure::Failure;

/// Time between two readings of the import's memory.
const LOOK: Duration = Duration::from_millis(20);

/// Imports this many rows, from a file that is still in the page cache.
pub(crate) fn measure(rows: u64, site: &Site) -> Result<Sample, Failure> {
    let (program, folder) = (site.velodrome()?, site.folder().join("import"));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("rows.csv");
    let mut sample = Command::new(&program);
    sample.args(["store", "sample", &rows.to_string()]).stdout(File::create(&file)?);
    ended_well(&mut sample.spawn()?)?;
    let mut command = Command::new(&program);
    command.args(["store", "import"]).arg(&file).arg(folder.join("data"));
    let begun = Instant::now();
    let mut import = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut peak_bytes = 0;
    while import.try_wait()?.is_none() {
        // Pages of the store's file are the kernel's.
        peak_bytes = peak_bytes.max(accounting::memory(&[import.id()]).anonymous);
        std::thread::sleep(LOOK);
    }
    let seconds = begun.elapsed().as_secs_f64();
    ended_well(&mut import)?;
    std::fs::remove_dir_all(&folder)?;
    let rate = rows as f64 / seconds;
    Ok(Sample::from([(Metric::Rate, rate), (Metric::PeakMegabytes, peak_bytes as f64 / 1e6)]))
}

fn ended_well(child: &mut Child) -> Result<(), Failure> {
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(Failure::Work(format!("it ended with {status}"))) }
}

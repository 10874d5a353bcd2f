//! The rate and memory of an import.
//!
//! Owns the file of rows. Never starts a server.

#![expect(clippy::disallowed_types, reason = "one thread and one descriptor table in this tool")]

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
    let mut peak_bytes = 0.0_f64;
    while import.try_wait()?.is_none() {
        peak_bytes = peak_bytes.max(resident_bytes(import.id()).unwrap_or(0.0));
        std::thread::sleep(LOOK);
    }
    let seconds = begun.elapsed().as_secs_f64();
    ended_well(&mut import)?;
    std::fs::remove_dir_all(&folder)?;
    let rate = rows as f64 / seconds;
    Ok(Sample::from([(Metric::Rate, rate), (Metric::PeakMegabytes, peak_bytes / 1e6)]))
}

fn ended_well(child: &mut Child) -> Result<(), Failure> {
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(Failure::Work(format!("it ended with {status}"))) }
}

/// Anonymous memory of a process; pages of the store's file are the kernel's.
fn resident_bytes(id: u32) -> Option<f64> {
    let text =
        std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join("status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

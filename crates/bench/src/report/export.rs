//! Reports in the formats of other tools: percentiles in the format of HdrHistogram's tools, and
//! the time series of a run as CSV.
//!
//! Owns these two formats. Never computes a figure that the report does not have.

use std::fmt::{self, Write};

use crate::report::schema::Report;
use crate::tally::{BlobError, Latency};

/// Lines for each halving of the distance to 100 %, as HdrHistogram's own output has.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// Writes the response times of all runs together as a percentile distribution (`.hgrm`, in milliseconds): what
/// HdrHistogram's plotter and wrk2 read and write.
///
/// # Errors
/// When a distribution of the report is none of ours.
pub fn hgrm(report: &Report) -> Result<String, BlobError> {
    let mut all = Latency::new();
    for run in &report.runs {
        all.merge(&Latency::from_text(&run.response.hdr_v2)?);
    }
    let mut text = String::new();
    all.write_hgrm(TICKS_PER_HALF_DISTANCE, &mut text).expect("text can be appended to text");
    Ok(text)
}

/// Writes the series of all runs, a line for each step of it.
pub fn csv(report: &Report) -> String {
    let mut text = String::from("run,begin_s,length_s,sent,answered,failed,p50_ns,p99_ns\n");
    write_series(report, &mut text).expect("text can be appended to text");
    text
}

fn write_series(report: &Report, out: &mut impl Write) -> fmt::Result {
    for (run, number) in report.runs.iter().zip(1..) {
        let mut begin_ns = 0;
        for step in &run.seconds {
            let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
            writeln!(
                out,
                "{number},{},{},{},{},{},{},{}",
                seconds(begin_ns),
                seconds(step.length_ns),
                step.sent,
                step.answered,
                step.failed,
                step.p50_ns,
                step.p99_ns
            )?;
            begin_ns += step.length_ns;
        }
    }
    Ok(())
}

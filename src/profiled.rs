//! The result of a profile, and where it is written: a table on standard output, and files.
//!
//! Owns these flags, which every verb with a profile has. Records nothing.

use std::path::{Path, PathBuf};

use ::profile::{
    Cause, CountUnit, Folded, Hint, Met, Timeline, difference_graph, difference_table, flame_graph,
    hints, table, to_firefox, write_pprof,
};
use clap::Args;
use observe::harmless_lines;

use crate::Failure;
use crate::output::{print, write_file};

/// The form of the output.
#[derive(Clone, Debug, Args)]
pub(crate) struct Outputs {
    /// Write a flame graph, as an HTML page.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write folded stacks: one per line, with its count.
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
    /// Write a profile for profiler.firefox.com.
    #[arg(long, value_name = "FILE")]
    firefox: Option<PathBuf>,
    /// Write a profile for pprof.
    #[arg(long, value_name = "FILE")]
    pprof: Option<PathBuf>,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
}

impl Outputs {
    /// Rows of the table.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether any file is written.
    pub(crate) fn has_file(&self) -> bool {
        self.output.is_some() || self.has_other_file()
    }

    /// Whether a file is written that is no flame graph.
    pub(crate) fn has_other_file(&self) -> bool {
        self.folded.is_some() || self.firefox.is_some() || self.pprof.is_some()
    }
}

/// The result of a profile.
pub(crate) struct Told {
    pub(crate) folded: Folded,
    pub(crate) unit: CountUnit,
    pub(crate) title: String,
    pub(crate) remarks: Vec<String>,
    /// A table other than that of functions.
    pub(crate) table: Option<String>,
    /// When each thread was sampled.
    pub(crate) timeline: Option<Timeline>,
}

impl Told {
    pub(crate) fn of(folded: Folded, unit: CountUnit, title: String) -> Self {
        Self { folded, unit, title, remarks: Vec::new(), table: None, timeline: None }
    }

    pub(crate) fn of_table(title: String, table: String) -> Self {
        let told = Self::of(Folded::default(), CountUnit::Samples, title);
        Self { table: Some(table), ..told }
    }

    /// A result of waits, with its table.
    pub(crate) fn of_waits(
        title: String,
        remarks: Vec<String>,
        met: &[Met],
        table: String,
    ) -> Self {
        let mut folded = Folded::default();
        for Met { frames, waits, .. } in met.iter().filter(|met| met.waits.count > 0) {
            folded.add(frames.clone(), (waits.time_ns / 1_000) as f64);
        }
        Self { remarks, table: Some(table), ..Self::of(folded, CountUnit::Microseconds, title) }
    }
}

/// Writes the files of a profile, and prints its table.
pub(crate) fn write(told: &Told, outputs: &Outputs, hertz: u64) -> Result<(), Failure> {
    write_files(told, outputs, hertz)?;
    print(&harmless_lines(&text(told, outputs.rows)))
}

/// Writes its flame graph.
pub(crate) fn draw(told: &Told, file: &Path) -> Result<(), Failure> {
    let Told { folded, unit, title, remarks, timeline, .. } = told;
    write_file(file, flame_graph(folded, *unit, title, remarks, timeline.as_ref()))
}

/// Its title, remarks, table and hints.
pub(crate) fn text(told: &Told, rows: usize) -> String {
    let mut text = format!("{}\n", told.title);
    for remark in &told.remarks {
        text.push_str(&format!("{remark}\n"));
    }
    let table_of = || table(&told.folded, told.unit, rows);
    text.push_str(&told.table.clone().unwrap_or_else(table_of));
    // Waiting time does not indicate a cost on the CPU.
    let hints = if told.unit == CountUnit::Samples { hints(&told.folded) } else { Vec::new() };
    for Hint { function, percent, cause } in hints {
        let cause = match cause {
            Cause::Check(check) => format!("velodrome tune audit --explain {check}"),
            Cause::Work(work) | Cause::CountedWork(work) => work.to_owned(),
        };
        text.push_str(&format!("\n{function} in {percent:.1} % of the samples: {cause}\n"));
    }
    text
}

/// Writes the flame graph of a difference, and prints its table.
pub(crate) fn write_difference(
    [before, after]: [&Folded; 2],
    title: &str,
    outputs: &Outputs,
) -> Result<(), Failure> {
    if let Some(file) = &outputs.output {
        write_file(file, difference_graph(before, after, title))?;
    }
    print(&format!("{title}\n{}", difference_table(before, after, outputs.rows)))
}

fn write_files(told: &Told, asked: &Outputs, hertz: u64) -> Result<(), Failure> {
    let Told { folded, unit, title, timeline, .. } = told;
    if let Some(file) = &asked.folded {
        write_file(file, folded.to_text())?;
    }
    if let Some(file) = &asked.output {
        draw(told, file)?;
    }
    // Waits are exported as samples of one microsecond.
    let (hertz, kind) = match unit {
        CountUnit::Samples => (hertz, ["samples", "count"]),
        CountUnit::Microseconds => (1_000_000, ["waits", "microseconds"]),
        CountUnit::Faults => (hertz, ["faults", "count"]),
    };
    if let Some(file) = &asked.firefox {
        write_file(file, to_firefox(folded, title, hertz, timeline.as_ref()))?;
    }
    if let Some(file) = &asked.pprof {
        let mut bytes = Vec::new();
        write_pprof(folded, kind, &mut bytes).expect("bytes can be appended to bytes");
        write_file(file, bytes)?;
    }
    Ok(())
}

//! The same recursive function in our engine, as native and as byte code, and in C, without and with optimisation.
//!
//! Owns the programs. Times are the kernel's, for the whole program including its start.

use std::path::PathBuf;
use std::process::Command;

use crate::bench::contender::OURS;
use crate::bench::generator::trial;
use crate::bench::pages::Conditions;
use crate::bench::pages::scenario::{BYTE_CODE, C_OPTIMISED, C_PLAIN};
use crate::bench::report::Comparison;
use crate::bench::sample::{Metric, Sample};
use crate::bench::site::Site;
use crate::bench::workload::Workload;
use crate::bench::{keep, start_each};
use crate::failure::Failure;
use crate::{process, workspace};

const SOURCE: &str = include_str!("sources/fib.c");

/// fib(40), where fib(0) is 0.
const RESULT: &str = "102334155";

/// Builds all programs. A program that cannot be built is reported later.
pub(crate) fn build(site: &Site) -> Result<(), Failure> {
    if let Err(failure) =
        workspace::build_release(&["--package", "velodrome-script", "--example", "fib"])
    {
        eprintln!("xtask: {failure}");
    }
    if !process::is_installed("gcc") {
        return Ok(());
    }
    let source = site.folder().join("fib.c");
    std::fs::write(&source, SOURCE)?;
    for name in [C_PLAIN, C_OPTIMISED] {
        let mut command = Command::new("gcc");
        command.args(flag_of(name)).arg("-o").arg(place_of(name, site)).arg(&source);
        process::run(&mut command, name)?;
    }
    Ok(())
}

fn flag_of(name: &str) -> Option<&str> {
    name.strip_prefix("gcc ")
}

fn place_of(name: &str, site: &Site) -> PathBuf {
    site.folder().join(format!("fib{}", flag_of(name).unwrap_or_default()))
}

/// Runs the programs in turn; each computes the function this many times.
pub(crate) fn compare(
    workload: &'static Workload,
    times: u32,
    conditions: &Conditions,
) -> Comparison {
    let mut outcome = Comparison::new(workload);
    let mut programs = start_each(workload.contenders.iter(), &mut outcome, |contender| {
        let words = words(contender.name, times, conditions.site)?;
        Ok((words.join(" "), words))
    });
    for _ in 0..conditions.run.rounds {
        keep(&mut programs, &mut outcome, |_, words| measure(words, times, conditions).map(Some));
    }
    outcome
}

fn words(name: &str, times: u32, site: &Site) -> Result<Vec<String>, Failure> {
    let code = match name {
        OURS => Some("native"),
        BYTE_CODE => Some("bytecode"),
        _ => None,
    };
    let program = match code {
        Some(_) => site.example("fib")?,
        None if process::is_installed("gcc") => place_of(name, site),
        None => return Err(Failure::Work("SKIPPED: gcc is not installed".to_owned())),
    };
    let words = [program.display().to_string()].into_iter();
    Ok(words.chain(code.map(str::to_owned)).chain([times.to_string()]).collect())
}

fn measure(words: &[String], times: u32, conditions: &Conditions) -> Result<Sample, Failure> {
    let core = conditions.run.cores.server.to_string();
    let pinned: Vec<String> =
        ["taskset", "-c", &core].map(str::to_owned).into_iter().chain(words.to_vec()).collect();
    let output = trial::timed(&pinned)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !is_right(&text, times) {
        return Err(Failure::Work(format!("a wrong result: {text}{complaint}")));
    }
    let micros = trial::spent_micros(&complaint)
        .ok_or_else(|| Failure::Work(format!("the shell kept no account: {complaint}")))?;
    Ok(Sample::from([(Metric::CpuSeconds, micros / 1_000_000.0)]))
}

/// Whether the function was computed this many times, and correctly.
fn is_right(text: &str, times: u32) -> bool {
    text.lines().eq((0..times).map(|_| RESULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_computes_nothing_has_no_time() {
        assert!(is_right("102334155\n102334155\n", 2));
        for wrong in ["", "102334155\n", "102334155\n165580141\n"] {
            assert!(!is_right(wrong, 2), "{wrong}");
        }
    }

    #[test]
    fn c_is_compiled_as_its_name_says() {
        assert_eq!((flag_of(C_PLAIN), flag_of(C_OPTIMISED)), (Some("-O0"), Some("-O2")));
    }
}

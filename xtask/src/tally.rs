//! Runs the tests and counts their results.
//!
//! Owns the parsing of the test harness's output. A test that cannot run here prints
//! `SKIPPED <test>: <reason>` and returns; it counts as skipped, not as passed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::process;

/// How long the tests of one program may take (20 minutes, five times what the longest takes beside other programs).
/// Beyond: it is killed. Tests that run for more than a minute are among its last lines.
const LIMIT: Duration = Duration::from_mins(20);

/// The results so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Tests that printed SKIPPED, which the harness counts as passed.
    skipped: BTreeMap<String, String>,
    /// Stages that cannot run here.
    skipped_stages: BTreeMap<String, String>,
    /// Processor time of the programs and of those that they started.
    processor: Duration,
}

impl Tally {
    /// The processor time so far: what the run costs, also on a busy machine.
    pub(crate) fn processor(&self) -> Duration {
        self.processor
    }

    /// A program that is no test took this much processor time.
    pub(crate) fn note_processor(&mut self, time: Duration) {
        self.processor += time;
    }

    /// A stage failed, even if no test did.
    pub(crate) fn note_failed_stage(&mut self) {
        self.failed = self.failed.max(1);
    }

    /// A stage cannot run here: it counts like a skipped test.
    pub(crate) fn note_skipped_stage(&mut self, stage: &str, reason: &str) {
        self.skipped_stages.insert(stage.to_owned(), reason.to_owned());
    }

    /// One line per skipped test or stage, with its reason.
    pub(crate) fn skipped_list(&self) -> String {
        let all = self.skipped.iter().chain(&self.skipped_stages);
        all.map(|(name, reason)| format!("skipped {name}: {reason}\n")).collect()
    }

    /// The line that ends a run; continuous integration reads it.
    pub(crate) fn closing_line(&self) -> String {
        let skipped = self.skipped.len() as u64;
        let passed = self.passed.saturating_sub(skipped);
        let skipped = skipped + self.ignored + self.skipped_stages.len() as u64;
        format!("{passed} passed, {} failed, {skipped} skipped", self.failed)
    }

    /// Adds the results of another program.
    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.processor += other.processor;
        self.skipped.extend(other.skipped);
        self.skipped_stages.extend(other.skipped_stages);
    }

    fn read_line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("SKIPPED ")
            && let Some((test, reason)) = rest.split_once(": ")
        {
            self.skipped.insert(test.trim().to_owned(), reason.trim().to_owned());
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
            self.ignored += count(counts, "ignored");
        }
    }
}

/// The number before a word in `ok. 3 passed; 0 failed; ..`.
fn count(counts: &str, word: &str) -> u64 {
    counts
        .split([';', '.'])
        .filter_map(|part| part.trim().strip_suffix(word)?.trim().parse::<u64>().ok())
        .sum()
}

/// Which lines of the harness are shown.
struct Display {
    in_successes: bool,
}

impl Display {
    /// Hides the output of tests that passed and the list of their names.
    fn shows(&mut self, line: &str) -> bool {
        match line {
            "successes:" => self.in_successes = true,
            "failures:" => self.in_successes = false,
            _ if line.starts_with("test result: ") => self.in_successes = false,
            _ => {}
        }
        let quiet = line.is_empty() || (line.starts_with("test ") && line.ends_with("... ok"));
        !self.in_successes && !quiet
    }
}

/// Runs a test program, hands on the relevant lines of its output, and counts.
pub(crate) fn run_tests(
    command: &mut Command,
    tally: &mut Tally,
    show: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    // Into files, because the end of a pipe would come only when every process that a failed test left behind has ended
    // too.
    let (output, errors) = (NamedTempFile::new()?, NamedTempFile::new()?);
    // `--show-output`, because tests that print SKIPPED pass.
    let child = command
        .arg("--show-output")
        .stdin(Stdio::null())
        .stdout(output.reopen()?)
        .stderr(errors.reopen()?)
        .spawn()?;
    let ends = process::end_within(LIMIT, &child);
    let (status, processor) = process::wait_and_measure(child)?;
    tally.note_processor(processor);
    let mut display = Display { in_successes: false };
    for line in lines_of(output.path())? {
        tally.read_line(&line);
        if display.shows(&line) {
            show(&line);
        }
    }
    if status.success() {
        return Ok(());
    }
    // The output of a test on standard error is not its result, and is shown where it failed.
    lines_of(errors.path())?.iter().for_each(|line| show(line));
    Err(Failure::Work(match ends {
        true => format!("it failed ({status})"),
        false => format!("it was ended, because it took longer than {LIMIT:?}"),
    }))
}

/// The lines of a file; bytes that are not UTF-8 are replaced.
fn lines_of(path: &Path) -> Result<Vec<String>, Failure> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\nrunning 3 tests\ntest a ... ok\ntest b ... ok\ntest c ... FAILED\n\n\
        successes:\n\n---- b stdout ----\nSKIPPED b: curl is not installed\n\n\nsuccesses:\n    a\n    b\n\n\
        failures:\n\n---- c stdout ----\nseed 7\n\nfailures:\n    c\n\n\
        test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
        test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s\n";

    #[test]
    fn output_is_counted() {
        let mut tally = Tally::default();
        OUTPUT.lines().for_each(|line| tally.read_line(line));
        assert_eq!(tally.closing_line(), "6 passed, 1 failed, 2 skipped");
        assert_eq!(tally.skipped_list(), "skipped b: curl is not installed\n");
        let mut all = Tally::default();
        all.add(tally);
        OUTPUT.lines().for_each(|line| all.read_line(line));
        assert_eq!(all.closing_line(), "13 passed, 2 failed, 3 skipped");
    }

    #[test]
    fn a_skipped_stage_takes_nothing_from_those_that_passed() {
        let mut tally = Tally::default();
        OUTPUT.lines().for_each(|line| tally.read_line(line));
        tally.note_skipped_stage("miri", "no nightly");
        assert_eq!(tally.closing_line(), "6 passed, 1 failed, 3 skipped");
        assert!(tally.skipped_list().ends_with("skipped miri: no nightly\n"));
    }

    #[test]
    fn failures_are_shown_and_successes_are_not() {
        let mut display = Display { in_successes: false };
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| display.shows(line)).collect();
        assert!(shown.contains(&"seed 7") && shown.contains(&"test c ... FAILED"));
        assert!(!shown.iter().any(|line| line.contains("curl") || line.contains("... ok")));
    }

    #[test]
    fn a_program_has_ended_when_a_process_that_it_left_behind_has_not() {
        let mut tally = Tally::default();
        let mut shown = Vec::new();
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        let script = "mkfifo $0/pipe; cat $0/pipe & echo 'test result: FAILED. 1 failed'; echo why >&2; \
                      exit 1";
        command.args(["-c", script]).arg(folder.path());
        let outcome = run_tests(&mut command, &mut tally, &mut |line| shown.push(line.to_owned()));
        // Lets it end.
        std::fs::write(folder.path().join("pipe"), "").expect("the pipe");
        assert!(outcome.is_err());
        assert_eq!(tally.closing_line(), "0 passed, 1 failed, 0 skipped");
        assert_eq!(shown, ["test result: FAILED. 1 failed", "why"]);
    }

    #[test]
    fn a_failed_stage_is_never_a_clean_closing_line() {
        let mut tally = Tally::default();
        tally.note_failed_stage();
        assert_eq!(tally.closing_line(), "0 passed, 1 failed, 0 skipped");
    }
}

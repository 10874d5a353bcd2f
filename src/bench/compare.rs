//! The verb `bench compare`: two results, or two servers or commands that are measured alternately,
//! and whether they differ.
//!
//! Owns the interpretation of the arguments A and B, and the order of the runs. The library draws
//! the conclusion.

use std::path::Path;

use bench::compare::{Comparison, Side, write_text};
use bench::limits::{COMPARE_RERUNS_PER_ROUND, COMPARE_ROUNDS_MAXIMUM};
use bench::plan::{LoadPlan, LoadUrl};
use bench::report::{Ended, Report, ResultTrust};

use super::flags::Compare;
use super::screen::Screen;
use crate::Failure;
use crate::output::print_report;

/// The source of a result.
enum Source<'a> {
    File(&'a Path),
    Server(Box<LoadPlan>),
    Command(&'a str),
}

/// The results of alternating runs, and whether all runs were made.
struct Rounds {
    first: Vec<Report>,
    second: Vec<Report>,
    ended: Ended,
}

/// Runs the verb.
pub(crate) fn run(flags: &Compare) -> Result<(), Failure> {
    if flags.load.runs != 1 {
        return Err(wrong("--runs: in a comparison a round is a run; say --rounds"));
    }
    if !(1..=COMPARE_ROUNDS_MAXIMUM).contains(&flags.rounds) {
        let text = format!("--rounds {}: choose from 1 to {COMPARE_ROUNDS_MAXIMUM}", flags.rounds);
        return Err(Failure::WrongUse(text));
    }
    let comparison = match (source(&flags.first, flags)?, source(&flags.second, flags)?) {
        (Source::File(_), Source::File(_)) if flags.aa => {
            return Err(wrong("--aa: files are not run again; name URLs or commands"));
        }
        (Source::File(first), Source::File(second)) => {
            let (first, second) = (vec![read(first)?], vec![read(second)?]);
            compared(flags, &Rounds { first, second, ended: Ended::Complete }, None)
        }
        (Source::File(_), _) | (_, Source::File(_)) => {
            return Err(wrong("a file is compared with a file; name two, or none"));
        }
        (first, second) => measured(flags, &first, &second)?,
    };
    deliver(&comparison, flags)
}

fn wrong(text: &str) -> Failure {
    Failure::WrongUse(text.to_owned())
}

/// The source that an argument names: an existing file, a command with arguments, or a URL.
fn source<'a>(word: &'a str, flags: &Compare) -> Result<Source<'a>, Failure> {
    let path = Path::new(word);
    let is_result = path.extension().is_some_and(|ending| ending == "json");
    if path.is_file() || (is_result && !word.contains(char::is_whitespace)) {
        return Ok(Source::File(path));
    }
    let is_line = word.contains(char::is_whitespace);
    // An invalid URL is reported as one.
    let is_url = !is_line && (word.contains("://") || word.parse::<LoadUrl>().is_ok());
    if !is_url {
        return Ok(Source::Command(word));
    }
    let mut plan = super::plan::side(word, flags)?;
    plan.runs = 1;
    Ok(Source::Server(Box::new(plan)))
}

fn read(path: &Path) -> Result<Report, Failure> {
    let failed = |error: String| Failure::Failed(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| failed(format!("cannot be read: {error}")))?;
    Report::from_json(&text).map_err(|error| failed(error.to_string()))
}

/// First A against itself if requested, then A against B, alternately: changes on the host in the meantime
/// affect both sides.
fn measured(
    flags: &Compare,
    first: &Source<'_>,
    second: &Source<'_>,
) -> Result<Comparison, Failure> {
    let mut noise = None;
    if flags.aa {
        let same = rounds(flags.rounds, ["A", "A again"], [first, first])?;
        let sides = [&same.first, &same.second].map(|reports| Side { name: &flags.first, reports });
        noise = Some(Comparison::of(sides[0], sides[1], None, same.ended));
        if same.ended == Ended::Interrupted {
            // There is no result of B yet.
            return Ok(compared(flags, &Rounds { second: Vec::new(), ..same }, noise.as_ref()));
        }
    }
    Ok(compared(flags, &rounds(flags.rounds, ["A", "B"], [first, second])?, noise.as_ref()))
}

fn compared(flags: &Compare, rounds: &Rounds, noise: Option<&Comparison>) -> Comparison {
    let first = Side { name: &flags.first, reports: &rounds.first };
    let second = Side { name: &flags.second, reports: &rounds.second };
    Comparison::of(first, second, noise, rounds.ended)
}

/// Complete rounds only: if the user stops in the middle of one, the rounds before it count.
fn rounds(
    count: u32,
    sides: [&str; 2],
    [first, second]: [&Source<'_>; 2],
) -> Result<Rounds, Failure> {
    let mut rounds = Rounds { first: Vec::new(), second: Vec::new(), ended: Ended::Interrupted };
    let mut reruns = count * COMPARE_RERUNS_PER_ROUND;
    for round in 1..=count {
        let name = |side| format!("{side} {round}/{count}");
        let Some(one) = valid(&name(sides[0]), first, &mut reruns)? else { return Ok(rounds) };
        let Some(other) = valid(&name(sides[1]), second, &mut reruns)? else { return Ok(rounds) };
        rounds.first.push(one);
        rounds.second.push(other);
    }
    Ok(Rounds { ended: Ended::Complete, ..rounds })
}

/// One result, measured again while it is invalid and `reruns` are left: a short disturbance of the host should not
/// invalidate the other runs.
fn valid(name: &str, source: &Source<'_>, reruns: &mut u32) -> Result<Option<Report>, Failure> {
    loop {
        let report = once(name, source)?;
        let is_bad = |report: &Report| report.verdict.state == ResultTrust::Invalid;
        if *reruns == 0 || !report.as_ref().is_some_and(is_bad) {
            return Ok(report);
        }
        *reruns -= 1;
    }
}

/// One result; `None` if the user ended it early.
fn once(name: &str, source: &Source<'_>) -> Result<Option<Report>, Failure> {
    let report = match source {
        Source::File(path) => Some(read(path)?),
        Source::Command(command) => bench::run::printed(command)
            .map_err(|error| Failure::Failed(format!("`{command}`: {error}")))?,
        Source::Server(plan) => {
            let mut screen = Screen::new(name);
            let words = std::env::args().collect();
            let result = bench::run::requests(plan, words, |moment| screen.show(moment));
            screen.close();
            Some(result.map_err(Failure::failed)?)
        }
    };
    Ok(report.filter(|report| report.ended == Ended::Complete))
}

fn deliver(comparison: &Comparison, flags: &Compare) -> Result<(), Failure> {
    let form = flags.form.form();
    print_report(form, || comparison.to_json(), |text| write_text(comparison, text))?;
    if comparison.state == ResultTrust::Invalid {
        return Err(Failure::Invalid);
    }
    if comparison.overall.is_worse() { Err(Failure::Worse) } else { Ok(()) }
}

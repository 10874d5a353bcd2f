//! The verb `bench compare`: two results, or two servers or commands in turn, and whether they differ.
//!
//! Owns what the words A and B mean, and the order of the runs. What is concluded is the library's.

use std::path::Path;
use std::process::{Command, Stdio};

use bench::compare::{Comparison, Side, write_text};
use bench::limits::COMPARE_ROUNDS_MAXIMUM;
use bench::plan::{Plan, Url};
use bench::report::{Ended, Report, State};

use super::flags::Compare;
use super::http::print;
use super::screen::Screen;
use crate::Failure;

/// Where results come from.
enum Source<'a> {
    File(&'a Path),
    Server(Box<Plan>),
    Command(&'a str),
}

/// Whether another run is to follow.
#[derive(PartialEq)]
enum Then {
    GoOn,
    Stop,
}

/// Compares what the flags name.
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
            compared(flags, &[read(first)?], &[read(second)?], None)
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

/// What a word means: a file that is there, a command with words, a URL.
fn source<'a>(word: &'a str, flags: &Compare) -> Result<Source<'a>, Failure> {
    let path = Path::new(word);
    let is_result = path.extension().is_some_and(|ending| ending == "json");
    if path.is_file() || (is_result && !word.contains(char::is_whitespace)) {
        return Ok(Source::File(path));
    }
    let is_command = word.parse::<Url>().is_err() || word.contains(char::is_whitespace);
    if is_command {
        return Ok(Source::Command(word));
    }
    let mut plan = super::plan::side(word, &flags.load, &flags.place)?;
    plan.runs = 1;
    Ok(Source::Server(Box::new(plan)))
}

fn read(path: &Path) -> Result<Report, Failure> {
    let failed = |error: String| Failure::Failed(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| failed(format!("cannot be read: {error}")))?;
    Report::from_json(&text).map_err(|error| failed(error.to_string()))
}

/// First A in turn with itself where that was asked for, then A in turn with B: what changes on the host in the meantime
/// meets both sides.
fn measured(
    flags: &Compare,
    first: &Source<'_>,
    second: &Source<'_>,
) -> Result<Comparison, Failure> {
    let mut noise = None;
    if flags.aa {
        let (one, other, then) = rounds(flags.rounds, first, first)?;
        let same = Side { name: &flags.first, reports: &other };
        noise = Some(Comparison::of(Side { name: &flags.first, reports: &one }, same, None));
        if then == Then::Stop {
            return Err(Failure::Failed("it was stopped before B was measured".to_owned()));
        }
    }
    let (one, other, _) = rounds(flags.rounds, first, second)?;
    Ok(compared(flags, &one, &other, noise.as_ref()))
}

fn compared(
    flags: &Compare,
    first: &[Report],
    second: &[Report],
    noise: Option<&Comparison>,
) -> Comparison {
    let first = Side { name: &flags.first, reports: first };
    Comparison::of(first, Side { name: &flags.second, reports: second }, noise)
}

/// Whole rounds only: who stops in the middle of one gets those before.
fn rounds(
    count: u32,
    first: &Source<'_>,
    second: &Source<'_>,
) -> Result<(Vec<Report>, Vec<Report>, Then), Failure> {
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let one = once(first)?;
        if one.ended == Ended::Interrupted {
            return Ok((firsts, seconds, Then::Stop));
        }
        let other = once(second)?;
        if other.ended == Ended::Interrupted {
            return Ok((firsts, seconds, Then::Stop));
        }
        firsts.push(one);
        seconds.push(other);
    }
    Ok((firsts, seconds, Then::GoOn))
}

fn once(source: &Source<'_>) -> Result<Report, Failure> {
    match source {
        Source::File(path) => read(path),
        Source::Command(command) => printed(command),
        Source::Server(plan) => {
            let mut screen = Screen::new();
            let words = std::env::args().collect();
            let result = bench::run::http(plan, words, |moment| screen.show(moment));
            screen.close();
            result.map_err(|error| Failure::Failed(error.to_string()))
        }
    }
}

/// What a command prints. One whose result is not valid says so by its status, and in the result.
fn printed(command: &str) -> Result<Report, Failure> {
    let failed = |error: String| Failure::Failed(format!("`{command}`: {error}"));
    let output = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    if !matches!(output.status.code(), Some(0 | 3)) {
        return Err(failed(format!("failed with {}", output.status)));
    }
    Report::from_json(&String::from_utf8_lossy(&output.stdout))
        .map_err(|error| failed(error.to_string()))
}

fn deliver(comparison: &Comparison, flags: &Compare) -> Result<(), Failure> {
    if flags.form.json {
        print(&comparison.to_json())?;
    } else {
        let mut text = String::new();
        write_text(comparison, &mut text).expect("text can be appended to text");
        print(text.trim_end())?;
    }
    if comparison.state == State::Invalid {
        return Err(Failure::Invalid);
    }
    if comparison.overall.is_worse() { Err(Failure::Worse) } else { Ok(()) }
}

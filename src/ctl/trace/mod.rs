//! `velodrome ctl trace`: the steps of chosen requests and messages, while they happen or as a file.
//!
//! Owns the flags, and which form the steps get. The server bounds what it traces; this prints what it says.

mod diagram;
mod listing;
mod perfetto;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use live::{TraceEnded, TraceLine, TraceStep};
use observe::{harmless_json, harmless_lines};

use super::connection::FollowEnd;
use super::way::Way;
use super::word;
use crate::Failure;
use crate::duration::duration;
use crate::output::{self, Stop};
use listing::Listing;

/// How much later than its time the end of a trace may come.
const GRACE: Duration = Duration::from_secs(10);

/// Steps that a file gets at most: what this program keeps in memory.
const STEPS_IN_FILE: usize = 200_000;

#[derive(Clone, Debug, Args)]
pub(super) struct Trace {
    /// The kind of thing that PATTERN names.
    what: What,
    /// A name, in which * stands for anything. For url a path (/api/*), or a host with a path (example.org/*).
    pattern: String,
    /// Things per second that are followed; those beyond are counted.
    #[arg(long, value_name = "NUMBER/s", value_parser = rate, default_value = "100/s")]
    max: u32,
    /// How long the trace lasts, up to 10 minutes.
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "30s")]
    time: Duration,
    /// Show fields of requests, their queries, and the text of messages: whoever reads this can then read passwords.
    #[arg(long)]
    content: bool,
    /// Print lines of JSON.
    #[arg(long, conflicts_with = "output")]
    json: bool,
    /// Write a file at the end: a diagram if it ends in .html, otherwise .json for ui.perfetto.dev.
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The kind of thing that is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Connections, by the address of their client.
    Conn,
    /// Requests, by path or host and path.
    Url,
    /// Requests, by the file of the page or module that answers.
    Page,
    /// Messages, by their channel.
    Channel,
    /// Requests and commands, by their key in the store.
    Key,
    /// Requests, by the user whom `access` has let in.
    User,
}

fn rate(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    number.parse().map_err(|_| "write a number per second, such as 100/s".to_owned())
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Diagram,
    Perfetto,
}

impl Form {
    fn of(file: &Path) -> Result<Self, Failure> {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("html") => Ok(Self::Diagram),
            Some("json") => Ok(Self::Perfetto),
            _ => Err(Failure::WrongUse(format!(
                "{}: the name of the file ends in .html for a diagram, or in .json for ui.perfetto.dev",
                file.display()
            ))),
        }
    }
}

/// Traces until the time is over.
pub(super) fn run(way: &Way, flags: &Trace) -> Result<(), Failure> {
    let form = |file| Form::of(file).map(|form| (file, form));
    let form = flags.output.as_deref().map(form).transpose()?;
    let pattern = form_urlencoded::byte_serialize(flags.pattern.as_bytes()).collect::<String>();
    let seconds = flags.time.as_secs_f64().ceil();
    let path = format!(
        "/trace?what={}&pattern={pattern}&max={}&for={seconds}&content={}",
        word(&flags.what),
        flags.max,
        if flags.content { "yes" } else { "no" },
    );
    let patience = flags.time.saturating_add(GRACE);
    let Some((file, form)) = form else {
        return output::print_with(|out| print(way, &path, patience, flags, out));
    };
    let (mut steps, mut kept_out, mut end, mut schedulers) = (Vec::new(), 0_u64, None, 0);
    let followed = way.follow_until_interrupted(&path, patience, &mut |line| {
        match read(line)? {
            TraceLine::Begun(begun) => {
                schedulers = begun.schedulers;
                // A file that cannot be written fails now, and not at the end of the trace.
                output::write_file(file, "")?;
                output::print_line(&harmless_lines(&listing::heading(&begun)))?;
            }
            TraceLine::Step(_) if steps.len() >= STEPS_IN_FILE => kept_out += 1,
            TraceLine::Step(step) => steps.push(step),
            TraceLine::Ended(ended) => end = Some(ended),
        }
        Ok::<(), Failure>(())
    })?;
    let is_whole = end.is_some() || followed == FollowEnd::Interrupted;
    let mut ended = end.unwrap_or_else(|| cut_off(steps.len(), schedulers));
    ended.steps_left_out += kept_out;
    write(file, form, &steps, &ended)?;
    let things = things(&steps).len();
    output::print_line(&format!("{}: {}", file.display(), listing::summary(things, &ended)))?;
    if is_whole { Ok(()) } else { Err(cut_short()) }
}

/// The last line of a trace that did not come: the server has not counted what it left out.
fn cut_off(steps: usize, schedulers: usize) -> TraceEnded {
    TraceEnded { steps: steps as u64, silent: (0..schedulers).collect(), ..TraceEnded::default() }
}

/// Prints the steps while they come.
fn print(
    way: &Way,
    path: &str,
    patience: Duration,
    flags: &Trace,
    out: &mut dyn Write,
) -> Result<(), Stop> {
    let (mut listing, mut has_ended, mut steps, mut schedulers) = (Listing::default(), false, 0, 0);
    let followed = way.follow_until_interrupted(path, patience, &mut |line| {
        let read = read(line)?;
        match &read {
            TraceLine::Begun(begun) => schedulers = begun.schedulers,
            TraceLine::Step(_) => steps += 1,
            TraceLine::Ended(_) => has_ended = true,
        }
        let text = match flags.json {
            true => harmless_json(line),
            false => harmless_lines(&listing.line(&read)),
        };
        writeln!(out, "{text}")?;
        // Whoever reads this wants to see a step when it happens.
        out.flush()?;
        Ok::<(), Stop>(())
    })?;
    if has_ended {
        return Ok(());
    }
    let last = TraceLine::Ended(cut_off(steps, schedulers));
    match flags.json {
        true => writeln!(out, "{}", serde_json::to_string(&last).map_err(io::Error::from)?)?,
        false => writeln!(out, "{}", listing.line(&last))?,
    }
    match followed {
        FollowEnd::Interrupted => Ok(()),
        FollowEnd::Closed => Err(cut_short().into()),
    }
}

fn cut_short() -> Failure {
    Failure::Failed("the server has ended the trace before its end".to_owned())
}

fn read(line: &str) -> Result<TraceLine, Failure> {
    serde_json::from_str(line)
        .map_err(|error| Failure::Failed(format!("the answer is not a trace: {error}")))
}

fn write(file: &Path, form: Form, steps: &[TraceStep], ended: &TraceEnded) -> Result<(), Failure> {
    let text = match form {
        Form::Diagram => diagram::page(steps, ended),
        Form::Perfetto => perfetto::file(steps, ended),
    };
    output::write_file(file, text)
}

/// The steps by the thing that makes them, in the order of their first steps; those of one in the order of time.
fn things(steps: &[TraceStep]) -> Vec<(&str, Vec<&TraceStep>)> {
    let mut sorted: Vec<&TraceStep> = steps.iter().collect();
    sorted.sort_by_key(|step| step.at_ns);
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut things: Vec<(&str, Vec<&TraceStep>)> = Vec::new();
    for step in sorted {
        let place = *places.entry(&step.of).or_insert_with(|| {
            things.push((&step.of, Vec::new()));
            things.len() - 1
        });
        things[place].1.push(step);
    }
    things
}

#[cfg(test)]
pub(in crate::ctl) mod tests {
    use super::*;

    /// A step of a thing.
    pub(in crate::ctl) fn step(
        of: &str,
        at_ns: u64,
        (from, to): (&str, &str),
        what: &str,
    ) -> TraceStep {
        TraceStep {
            of: of.to_owned(),
            at_ns,
            scheduler: 0,
            from: from.to_owned(),
            to: to.to_owned(),
            what: what.to_owned(),
            detail: "<detail> & \"more\"".to_owned(),
            process: String::new(),
        }
    }

    #[test]
    fn steps_are_put_in_order_by_thing() {
        let within = ("scheduler 0", "scheduler 0");
        let steps = [
            step("0-2", 30, within, "b"),
            step("0-1", 10, within, "a"),
            step("0-2", 20, within, "a"),
        ];
        let things = things(&steps);
        let names: Vec<&str> = things.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["0-1", "0-2"]);
        let words: Vec<&str> = things[1].1.iter().map(|step| &*step.what).collect();
        assert_eq!(words, ["a", "b"]);
    }

    #[test]
    fn a_rate_is_a_number_per_second() {
        assert_eq!((rate("100/s"), rate("7")), (Ok(100), Ok(7)));
        assert!(rate("7/m").is_err() && rate("-1").is_err());
    }
}

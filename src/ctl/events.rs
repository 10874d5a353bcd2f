//! `velodrome ctl events`, `info` and `kill`: what happened, what one thing is, and its end.
//!
//! Owns how they are printed. Everything that a server says is escaped, because clients and pages have named things in
//! it.

use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use live::{Info, OperatorEvent};
use observe::{harmless_json, harmless_lines};
use serde_json::Value;

use super::way::{AskFailure, Way};
use crate::Failure;
use crate::output::{self, FormFlag, OutputForm};

/// How often `--follow` asks.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Args)]
pub(super) struct Events {
    /// Go on with those that happen from now on, until interrupted.
    #[arg(long, short = 'f')]
    follow: bool,
    /// Print JSON, one event on a line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, Args)]
pub(super) struct One {
    /// Its id, as `velodrome top` and `GET /live` show it, such as c-0-12.
    id: String,
    #[command(flatten)]
    format: FormFlag,
}

/// Prints the events that a server keeps, and those that follow if that is wanted.
pub(super) fn events(way: &Way, flags: &Events) -> Result<(), Failure> {
    let mut last = 0;
    loop {
        let mut answer: Value = super::parse(&way.ask("GET", &format!("/events?after={last}"))?)?;
        for event in &super::read::<Vec<OperatorEvent>>(answer["events"].take())? {
            last = event.number;
            output::print(&if flags.json { json_of(event)? } else { text_of(event) })?;
        }
        if !flags.follow {
            if last == 0 && !flags.json {
                return output::print_line("no events");
            }
            return Ok(());
        }
        sleep(AGAIN);
    }
}

/// Prints what one thing is.
pub(super) fn info(way: &Way, wanted: &One) -> Result<(), Failure> {
    let id = form_urlencoded::byte_serialize(wanted.id.as_bytes()).collect::<String>();
    let answer =
        way.ask("GET", &format!("/info?id={id}")).map_err(|failure| none(failure, wanted))?;
    print_info(&answer, wanted)
}

/// Ends one thing, and prints what it was.
pub(super) fn kill(way: &Way, wanted: &One) -> Result<(), Failure> {
    let answer =
        way.ask_with("POST", "/kill", &wanted.id).map_err(|failure| none(failure, wanted))?;
    if wanted.format.form() == OutputForm::Text {
        output::print_line(&format!("ended {}", harmless_lines(&wanted.id)))?;
    }
    print_info(&answer, wanted)
}

fn none(failed: AskFailure, wanted: &One) -> Failure {
    failed.or_told(404, || {
        let id = &wanted.id;
        Failure::Failed(format!("there is no `{id}` (any more); `velodrome top` shows ids"))
    })
}

fn print_info(answer: &str, wanted: &One) -> Result<(), Failure> {
    if wanted.format.form() == OutputForm::Json {
        return super::print(answer, wanted.format);
    }
    let info: Info = super::read(super::parse(answer)?)?;
    let width = info.facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = format!("{}  {}\n", info.kind, info.id);
    for (name, value) in &info.facts {
        text.push_str(&format!("{name:width$}  {value}\n"));
    }
    for (title, lines) in &info.texts {
        text.push_str(&format!("{title}\n"));
        lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    output::print(&harmless_lines(&text))
}

fn json_of(event: &OperatorEvent) -> Result<String, Failure> {
    let line = serde_json::to_string(event);
    line.map(|line| harmless_json(&line) + "\n").map_err(Failure::failed)
}

fn text_of(event: &OperatorEvent) -> String {
    let OperatorEvent { number, at_ms, scheduler, kind, level, text, cause, profiled } = event;
    let at = runtime::calendar::Timestamp { unix_ms: *at_ms };
    let place = scheduler.map_or_else(String::new, |number| format!("scheduler {number}: "));
    let mut out = format!("{number}  {at}  {level}  {kind}  {place}{text}\n");
    cause.iter().for_each(|line| out.push_str(&format!("    {line}\n")));
    if *profiled {
        out += &format!("    velodrome ctl profile --event {number}: the minute around it\n");
    }
    harmless_lines(&out)
}

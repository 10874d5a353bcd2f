//! The verb `bench http`: a plan carried out, and its report to whoever asked for it.

use std::io::{ErrorKind, Write};

use bench::report::{Report, State, write_html, write_text};

use super::flags::{Http, Output};
use super::page;
use super::screen::Screen;
use crate::Failure;

/// Runs the plan that the flags make.
pub(crate) fn run(flags: &Http) -> Result<(), Failure> {
    flags.output.html.as_deref().map_or(Ok(()), page::check)?;
    let plan = super::plan::http(flags)?;
    let command = std::env::args().collect();
    let mut screen = Screen::new("run");
    let result = bench::run::http(&plan, command, |moment| screen.show(moment));
    screen.close();
    let report = result.map_err(|error| Failure::Failed(error.to_string()))?;
    deliver(&report, &flags.output)
}

/// Prints a report, or writes it where it was wanted.
pub(crate) fn deliver(report: &Report, output: &Output) -> Result<(), Failure> {
    // What was measured is printed even where its page cannot be written.
    let written = output.html.as_deref().map(|path| page::write(path, &write_html(report)));
    if output.json {
        print(&report.to_json())?;
    } else {
        let mut text = String::new();
        write_text(report, &mut text).expect("text can be appended to text");
        print(text.trim_end())?;
    }
    written.unwrap_or(Ok(()))?;
    if report.verdict.state == State::Valid { Ok(()) } else { Err(Failure::Invalid) }
}

pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout(), "{text}") {
        // Whoever read our output has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::Failed(format!("cannot print: {error}"))),
    }
}

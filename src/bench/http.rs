//! The verb `bench http`: executes a plan and prints the report.

use bench::report::{FailCondition, Report, ResultTrust, csv, hgrm, write_html, write_text};
use config::parse_duration;

use super::flags::{Http, Output};
use super::page;
use super::screen::Screen;
use crate::Failure;
use crate::output::print_report;

/// Runs the verb.
pub(crate) fn run(flags: &Http) -> Result<(), Failure> {
    let conditions = conditions(&flags.fail_if)?;
    for (flag, file) in
        [("--html", &flags.output.html), ("--hgrm", &flags.hgrm), ("--csv", &flags.csv)]
    {
        file.as_deref().map_or(Ok(()), |file| page::check(flag, file))?;
    }
    let mut report = if flags.agents.agents.is_empty() {
        measure(flags)?
    } else {
        let takes = flags.load.warmup + super::plan::http_timing(flags)?.duration;
        super::agents::requests(&flags.agents, flags.load.runs, takes)?
    };
    report.fail_if = conditions.iter().map(|condition| condition.judge(&report)).collect();
    let exported = export(&report, flags);
    deliver(&report, &flags.output)?;
    exported
}

fn measure(flags: &Http) -> Result<Report, Failure> {
    let plan = super::plan::http(flags)?;
    let command = std::env::args().collect();
    let mut screen = Screen::new("run");
    let result = bench::run::requests(&plan, command, |moment| screen.show(moment));
    screen.close();
    result.map_err(Failure::failed)
}

fn conditions(texts: &[String]) -> Result<Vec<FailCondition>, Failure> {
    let read = |text: &String| FailCondition::read(text, |bound| parse_duration(bound).ok());
    let wrong = |error| Failure::WrongUse(format!("--fail-if: {error}"));
    texts.iter().map(read).collect::<Result<_, _>>().map_err(wrong)
}

/// Writes the report in the formats of other tools, if requested.
fn export(report: &Report, flags: &Http) -> Result<(), Failure> {
    if let Some(file) = &flags.hgrm {
        let text = hgrm(report).map_err(Failure::failed)?;
        page::write("--hgrm", file, &text)?;
    }
    flags.csv.as_deref().map_or(Ok(()), |file| page::write("--csv", file, &csv(report)))
}

/// Prints a report, or writes it to the requested file.
pub(crate) fn deliver(report: &Report, output: &Output) -> Result<(), Failure> {
    // The result is printed even if its page cannot be written.
    let written =
        output.html.as_deref().map(|path| page::write("--html", path, &write_html(report)));
    print_report(output.form.form(), || report.to_json(), |text| write_text(report, text))?;
    written.unwrap_or(Ok(()))?;
    if report.verdict.state == ResultTrust::Invalid {
        return Err(Failure::Invalid);
    }
    if report.fail_if.iter().any(|result| result.met) { Err(Failure::Met) } else { Ok(()) }
}

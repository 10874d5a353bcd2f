//! The verb `bench knee`: runs at one rate each, until the knee is found.

use bench::knee::{KneeReport, KneeStep, Objective, search, write_html, write_text};
use bench::limits::{KNEE_RATE_HIGHEST, KNEE_RATE_LOWEST};
use bench::plan::{Arrivals, Ramp, RequestPace, RequestRate};
use bench::report::ResultTrust;
use config::parse_duration;

use super::flags::Knee;
use super::page;
use super::screen::Screen;
use crate::Failure;
use crate::output::print_report;

/// Runs the verb.
pub(crate) fn run(flags: &Knee) -> Result<(), Failure> {
    if flags.load.runs != 1 {
        let text = "--runs: a step is one run; let it last longer with -d";
        return Err(Failure::WrongUse(text.to_owned()));
    }
    flags.output.html.as_deref().map_or(Ok(()), |file| page::check("--html", file))?;
    let objectives = flags.slo.iter().map(|text| objective(text)).collect::<Result<Vec<_>, _>>()?;
    let (lowest, highest) = rates(flags.rate)?;
    let mut plan = super::plan::knee(flags)?;
    let (mut steps, mut first) = (Vec::new(), None);
    let found = search(lowest, highest, |rate| {
        plan.pace = RequestPace::Open(RequestRate::steady(rate, plan.duration, Arrivals::Constant));
        let mut screen = Screen::new(format!("{rate:.0}/s"));
        let words = std::env::args().collect();
        let report = bench::run::requests(&plan, words, |moment| screen.show(moment));
        screen.close();
        let report = report.map_err(Failure::failed)?;
        let step = KneeStep::of(rate, &report, &objectives);
        let outcome = step.outcome;
        steps.push(step);
        first.get_or_insert(report);
        Ok::<_, Failure>(outcome)
    })?;
    let first = first.expect("a search measures at its lowest rate");
    deliver(&KneeReport::of(&objectives, [lowest, highest], found, first, steps), flags)
}

fn objective(text: &str) -> Result<Objective, Failure> {
    let wrong = |error: String| Failure::WrongUse(format!("--slo {text}: {error}"));
    let (percentile, limit) =
        text.split_once('=').ok_or_else(|| wrong("write p99=5ms".to_owned()))?;
    let limit = parse_duration(limit).map_err(|error| wrong(error.to_string()))?;
    Ok(Objective {
        percentile: percentile.parse().map_err(|error| wrong(format!("{error}")))?,
        limit_ns: u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX),
    })
}

fn rates(flag: Option<Ramp>) -> Result<(f64, f64), Failure> {
    match flag {
        None => Ok((KNEE_RATE_LOWEST, KNEE_RATE_HIGHEST)),
        Some(rate) if rate.from == 0.0 => Err(Failure::WrongUse(
            "--rate: the lowest rate is more than 0, as in 1k:50k".to_owned(),
        )),
        Some(rate) if rate.from <= rate.to => Ok((rate.from, rate.to)),
        Some(_) => {
            Err(Failure::WrongUse("--rate: write the lowest rate first, as 1k:50k".to_owned()))
        }
    }
}

fn deliver(report: &KneeReport, flags: &Knee) -> Result<(), Failure> {
    // The result is printed even if its page cannot be written.
    let page = flags.output.html.as_deref();
    let written = page.map(|path| page::write("--html", path, &write_html(report)));
    let form = flags.output.form.form();
    print_report(form, || report.to_json(), |text| write_text(report, text))?;
    written.unwrap_or(Ok(()))?;
    if report.state() == ResultTrust::Valid { Ok(()) } else { Err(Failure::Invalid) }
}

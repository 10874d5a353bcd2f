//! A measurement that other hosts make: the side that coordinates them.
//!
//! Owns which words the agents get, and what follows when one is lost. The agents make their plans.

use std::time::Duration;

use bench::agents::{AgentKey, Team};
use bench::channel::Part;
use bench::report::{Report, ResultTrust};

use super::flags::Agents;
use crate::Failure;
use crate::output::complain;

/// The agents of these flags.
pub(crate) fn gather(flags: &Agents) -> Result<Team, Failure> {
    let key = key(flags.key_file.as_deref())?;
    Team::gather(&flags.agents, &key).map_err(Failure::failed)
}

/// The key in a file.
pub(crate) fn key(file: Option<&std::path::Path>) -> Result<AgentKey, Failure> {
    let read = file.map(AgentKey::read).transpose();
    let read = read.map_err(Failure::failed)?;
    Ok(read.unwrap_or_else(AgentKey::none))
}

/// The words that all agents get.
pub(crate) fn words() -> Vec<String> {
    std::env::args().collect()
}

/// Has all agents make this many runs of requests, each of which takes so long.
pub(crate) fn requests(flags: &Agents, runs: u32, takes: Duration) -> Result<Report, Failure> {
    let mut team = gather(flags)?;
    let mut results: Vec<Vec<Option<Report>>> = Vec::new();
    for _ in 0..runs {
        team.prepare(&words(), Part::mark()).map_err(Failure::failed)?;
        team.start();
        let run = team.results::<Report>(takes);
        let is_whole = run.iter().all(Option::is_some);
        results.push(run);
        if !is_whole {
            break;
        }
    }
    let agents = team.report(|at| {
        let reports = || results.iter().filter_map(|run| run.get(at)?.as_ref());
        let done = reports().flat_map(|report| &report.runs).map(|run| run.requests.answered);
        let invalid = reports().filter(|report| report.verdict.state == ResultTrust::Invalid);
        let reasons = invalid.flat_map(|report| &report.verdict.reasons);
        (done.sum(), reasons.map(|reason| reason.text.clone()).collect())
    });
    let lost: Vec<String> = agents.iter().filter_map(|agent| agent.why_not()).collect();
    let whole = Report::together(words(), results, agents);
    let whole = whole.map_err(Failure::failed)?;
    whole.ok_or_else(|| {
        for line in &lost {
            complain(line);
        }
        Failure::Invalid
    })
}

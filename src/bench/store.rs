//! The verb `bench store`: fills a store if requested, measures it, and prints the report.

use std::num::NonZeroU64;
use std::time::Duration;

use bench::plan::{
    Aim, LoadPlan, Ownership, RequestPace, RightValues, StoreAim, StoreAsk, StoreAskError,
};
use bench::report::{Report, ResultTrust};

use super::flags::Store;
use super::http::deliver;
use super::page;
use super::screen::Screen;
use crate::Failure;

/// Most connections that fill a store, and requests in flight on each.
const FILL_CONNECTIONS: u32 = 64;
const FILL_PIPELINE: u32 = 64;

/// Longest time for filling a store.
const FILL_DURATION: Duration = Duration::from_secs(24 * 3600);

/// Runs the verb.
pub(crate) fn run(flags: &Store) -> Result<(), Failure> {
    flags.output.html.as_deref().map_or(Ok(()), |file| page::check("--html", file))?;
    let (ownership, ask) = (ownership(flags), ask(flags));
    let has_agents = !flags.agents.agents.is_empty();
    let plan = plan(flags)?;
    if flags.fill {
        let filling = StoreAim::filling(&flags.address, &ask, ownership).map_err(wrong)?;
        fill(flags, &plan, of_flags(filling, flags).aim)?;
    }
    let report = if has_agents {
        super::agents::requests(&flags.agents, flags.runs, flags.warmup + plan.duration)?
    } else {
        measure(&plan, if flags.hold { "hold" } else { "run" })?
    };
    deliver(&report, &flags.output)
}

/// The plan of these flags.
pub(crate) fn plan(flags: &Store) -> Result<LoadPlan, Failure> {
    let aim = StoreAim::at(&flags.address, &ask(flags), ownership(flags)).map_err(wrong)?;
    super::plan::store(flags, of_flags(aim, flags))
}

fn of_flags(aim: StoreAim, flags: &Store) -> StoreAim {
    if flags.encrypted { aim.encrypted() } else { aim }
}

fn measure(plan: &LoadPlan, what: &'static str) -> Result<Report, Failure> {
    let command = std::env::args().collect();
    let mut screen = Screen::new(what);
    let result = match what {
        "hold" => bench::run::hold(plan, command, |moment| screen.show(moment)),
        _ => bench::run::requests(plan, command, |moment| screen.show(moment)),
    };
    screen.close();
    result.map_err(|error| Failure::Failed(error.to_string()))
}

fn ownership(flags: &Store) -> Ownership {
    if flags.place.i_own_this_host { Ownership::Declared } else { Ownership::Unsaid }
}

fn ask(flags: &Store) -> StoreAsk {
    let (kind, rest) = flags.dist.split_once(':').unwrap_or((&flags.dist, ""));
    let keys = match (kind, rest) {
        // The default of YCSB (Cooper and others, "Benchmarking cloud serving systems with YCSB", 2010).
        ("zipf", "") => format!("zipf:{}:0.99", flags.keys),
        (kind, "") => format!("{kind}:{}", flags.keys),
        (kind, rest) => format!("{kind}:{}:{rest}", flags.keys),
    };
    let values = if flags.unchecked { RightValues::Any } else { RightValues::Own };
    StoreAsk { keys, value_size: flags.value, sets: flags.sets, values }
}

fn wrong(error: StoreAskError) -> Failure {
    Failure::WrongUse(error.to_string())
}

/// Writes each key once.
fn fill(flags: &Store, plan: &LoadPlan, aim: Aim) -> Result<(), Failure> {
    let plan = LoadPlan {
        targets: aim.targets,
        peers: aim.peers,
        connections: plan.connections.min(FILL_CONNECTIONS).max(plan.threads),
        pipeline: FILL_PIPELINE,
        pace: RequestPace::Closed,
        duration: FILL_DURATION,
        warmup: Duration::ZERO,
        count: NonZeroU64::new(flags.keys),
        runs: 1,
        ..plan.clone()
    };
    let report = measure(&plan, "fill")?;
    let written: u64 = report.runs.iter().map(|run| run.requests.answered).sum();
    if written == flags.keys {
        return Ok(());
    }
    let failed = report.runs.first().map(|run| &run.requests.failed_by);
    let why = match (report.verdict.state, failed) {
        (_, Some(failed)) if failed.status > 0 => "the store refused others",
        (_, Some(failed)) if failed.connect > 0 => "it could not be connected to",
        (ResultTrust::Invalid, _) if written == 0 => "nothing was answered",
        _ => "the rest had no answer",
    };
    Err(Failure::Failed(format!("{written} of {} keys were written: {why}", flags.keys)))
}

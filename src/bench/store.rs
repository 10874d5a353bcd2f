//! The verb `bench store`: fills a store if requested, measures it, and prints the report.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bench::own_writes::OwnWrites;
use bench::plan::{
    Aim, Dialect, LoadPlan, Ownership, RequestPace, RightValues, StoreAim, StoreAsk,
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
        // The other addresses have to get it from there.
        let at = write_to(flags)?.unwrap_or(0);
        let filling =
            StoreAim::filling(&flags.addresses[at], &ask, ownership).map_err(Failure::wrong_use)?;
        fill(flags, &plan, of_flags(filling, flags).aim)?;
    }
    let report = if has_agents {
        super::agents::requests(&flags.agents, flags.runs, flags.warmup + plan.duration)?
    } else {
        let what = if flags.hold { "hold" } else { "run" };
        if flags.own_writes { watch_own_writes(flags, &plan, what)? } else { measure(&plan, what)? }
    };
    deliver(&report, &flags.output)
}

/// The plan of these flags.
pub(crate) fn plan(flags: &Store) -> Result<LoadPlan, Failure> {
    let aim = StoreAim::at(&flags.addresses, write_to(flags)?, &ask(flags), ownership(flags));
    super::plan::store(flags, of_flags(aim.map_err(Failure::wrong_use)?, flags))
}

/// The only address to write at, as an index.
fn write_to(flags: &Store) -> Result<Option<usize>, Failure> {
    let at = flags.write_to.map(|number| number.get() - 1);
    let count = flags.addresses.len();
    match at.filter(|at| *at >= count) {
        Some(at) => {
            let text = format!("--write-to {}: choose from 1 to {count}", at + 1);
            Err(Failure::WrongUse(text))
        }
        None => Ok(at),
    }
}

/// Measures, while another client looks for its own writes.
fn watch_own_writes(flags: &Store, plan: &LoadPlan, what: &'static str) -> Result<Report, Failure> {
    let addresses: Vec<SocketAddr> =
        plan.peers.iter().filter_map(|peer| peer.address.tcp()).collect();
    let is_plain = plan.encryption.is_none()
        && plan.store.is_some_and(|store| store.dialect == Dialect::Resp)
        && addresses.len() == flags.addresses.len();
    if !is_plain || addresses.len() < 2 {
        let text = "--own-writes: give two addresses HOST:PORT at least, of stores that speak Redis' protocol";
        return Err(Failure::WrongUse(text.to_owned()));
    }
    let key = format!("velodrome-bench:own-writes:{}", std::process::id());
    let client = OwnWrites { addresses, write_to: write_to(flags)?, key };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| client.watch(&stop));
        let report = measure(plan, what);
        stop.store(true, Ordering::Release);
        let own_writes = watching.join();
        let mut report = report?;
        let lost = |_| Failure::Failed("the client of --own-writes failed".to_owned());
        report.add_own_writes(own_writes.map_err(lost)?);
        Ok(report)
    })
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
    result.map_err(Failure::failed)
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

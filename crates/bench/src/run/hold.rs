//! Held connections: they are opened first, and requests begin when they are established.
//!
//! Owns that order, and the memory that connections take on both sides. The clients send the
//! requests.

use std::sync::Arc;
use std::time::Duration;

use sys::clock::monotonic_ns;

use super::{
    Continuation, Generator, Interrupts, RunError, RunProgress, Watched, describe, measured, read,
    servers, stand, unix_ns, watch,
};
use crate::client::{Finished, MeasuredWindow, Work};
use crate::host::{HostFacts, resident_bytes};
use crate::limits::{HOLD_BYTES_MINIMUM, LIVE_NS, OPENING_PATIENCE_NS};
use crate::plan::LoadPlan;
use crate::report::{Ended, HoldReport, Measured, Report};

/// Resident memory at one moment; `None` if it may not be inspected.
#[derive(Clone, Copy, Debug)]
struct Memory {
    server: Option<u64>,
    generator: Option<u64>,
}

impl Memory {
    fn read(servers: &[u32]) -> Memory {
        // Without a process there is no sum.
        let server =
            servers.iter().map(|pid| resident_bytes(*pid)).reduce(|sum, one| Some(sum? + one?));
        Memory { server: server.flatten(), generator: resident_bytes(std::process::id()) }
    }
}

/// Opens the connections of a plan, holds them, and reports the result. Signals and progress are as in
/// [`super::requests`].
///
/// # Errors
/// If the threads of the run cannot be set up.
pub fn hold(
    plan: &LoadPlan,
    command: Vec<String>,
    mut look: impl FnMut(&RunProgress),
) -> Result<Report, RunError> {
    let interrupts = Interrupts::block();
    let begun_unix_s = unix_ns() / 1_000_000_000;
    let host = HostFacts::read();
    let work = Arc::new(Work::new(plan.clone()));
    let servers = servers(plan);
    let mut generator = stand(&work, None)?;
    let before = Memory::read(&servers);
    generator.launched.start();
    let opened = open_all(&generator, plan, &interrupts, &mut look)?;
    let standing = Memory::read(&servers);
    let open = generator.glance().open;
    let watched = if opened == Continuation::End || open == 0 {
        // There is nothing to hold.
        Watched { before: Some(read(&servers)), after: read(&servers), wish: Continuation::End }
    } else {
        let window =
            MeasuredWindow::new(monotonic_ns() + 2 * LIVE_NS, Duration::ZERO, plan.duration);
        generator.lives.iter().for_each(|live| live.begin(window.start_ns));
        watch(&servers, window, &interrupts, &generator, |elapsed_ns| {
            look(&RunProgress { run: 1, runs: 1, elapsed_ns, window, glance: generator.glance() });
            Continuation::GoOn
        })?
    };
    let ended = if opened == Continuation::End || (open > 0 && watched.wish == Continuation::End) {
        Ended::Interrupted
    } else {
        Ended::Complete
    };
    let last = Memory::read(&servers);
    let outcomes = generator.gather(watched.wish, plan.connections)?;
    // The counters of a thread may be a moment old: if the opening was stopped, its result is more exact.
    let standing_count = (opened == Continuation::GoOn).then_some(open);
    let hold = report(&outcomes, standing_count, [before, standing, last]);
    let runs = watched.before.and_then(|before| measured(outcomes, &before, &watched.after));
    let plan = describe::plan(plan, "hold");
    let runs = runs.into_iter().collect();
    Ok(Report::of(Measured { begun_unix_s, command, plan, ended, host, runs, hold: Some(hold) }))
}

/// Waits until every connection is established, or the missing ones are given up.
fn open_all(
    generator: &Generator,
    plan: &LoadPlan,
    interrupts: &Interrupts,
    look: &mut impl FnMut(&RunProgress),
) -> Result<Continuation, RunError> {
    let connections = u64::from(plan.connections);
    let start_ns = monotonic_ns();
    let mut latest = (0, start_ns);
    loop {
        let now_ns = monotonic_ns();
        let glance = generator.glance();
        let elapsed_ns = now_ns.saturating_sub(start_ns);
        look(&RunProgress { run: 1, runs: 1, elapsed_ns, window: MeasuredWindow::NEVER, glance });
        if glance.opened > latest.0 {
            latest = (glance.opened, now_ns);
        }
        let is_tried = glance.tried >= connections;
        let is_in_vain = is_tried && now_ns.saturating_sub(latest.1) > OPENING_PATIENCE_NS;
        if glance.opened >= connections || is_in_vain {
            return Ok(Continuation::GoOn);
        }
        if interrupts.wait(Duration::from_nanos(LIVE_NS))? == Continuation::End {
            return Ok(Continuation::End);
        }
    }
}

/// The result of opening and holding, with the connections open when the holding began, if it did, and the memory
/// before the first connection, once all were open, and at the end.
fn report(outcomes: &[Finished], standing: Option<u64>, memory: [Memory; 3]) -> HoldReport {
    let begun_ns = outcomes.iter().map(|outcome| outcome.opening.begun_ns).min().unwrap_or(0);
    let last_ns = outcomes.iter().map(|outcome| outcome.opening.last_ns).max().unwrap_or(0);
    let opening_ns = last_ns.saturating_sub(begun_ns);
    let connections = outcomes.iter().map(|outcome| outcome.tally.connections);
    let opened: u64 = connections.clone().map(|connections| connections.opened).sum();
    let dead: u64 = connections.map(|connections| connections.closed).sum();
    let open = standing.unwrap_or(opened.saturating_sub(dead));
    let [before, standing, last] = memory;
    let each = |before: Option<u64>, after: Option<u64>| {
        let more = after?.saturating_sub(before?);
        (open > 0).then(|| more as f64 / open as f64)
    };
    // A server that held as many before reuses its memory, and does not grow.
    let of_server =
        |after: Option<u64>| each(before.server, after).filter(|each| *each >= HOLD_BYTES_MINIMUM);
    HoldReport {
        opening_ns,
        open,
        opened_per_s: if opening_ns == 0 { 0.0 } else { opened as f64 * 1e9 / opening_ns as f64 },
        dead,
        server_bytes_per_connection: of_server(standing.server),
        server_bytes_per_connection_end: of_server(last.server),
        generator_bytes_per_connection: each(before.generator, standing.generator),
    }
}

//! What the server spends the time of its CPUs on.

use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::finding::{Evidence, Finding, Judged, Percent, Price};
use crate::host::HostReading;
use crate::work::{self, CostlyWork, Knowledge, ServerWork};

use super::unread::{always_running, unread};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "app.work",
    title: "work that takes most of the CPU time",
    gain: Gain::of(30.0, 30.0, 2.0, 10.0),
    expected: "the time that a thread spends with it, as far as it can be done less often",
    risk: Risk::Process,
    lost: "nothing; it takes a change of the program or of its settings",
    why: "A server that has its CPUs and waits for nothing is as slow as its own code. Compression, handshakes of \
          TLS, garbage collection, regular expressions or JSON may cost more than the rest of a request; one \
          command of a database, or one function, may stop all other requests of its thread.",
    fix: "`velodrome profile --pid PID -o flame.html` shows who calls it.",
    source: "perf_event_open(2)",
    judge: work,
}];

/// Percent of its time from which a thread, or all CPUs, are busy with it.
const NOTICED: f64 = 10.0;

/// The part of it that a change spares, at least and at most.
const SPARED: (f64, f64) = (0.3, 1.0);

/// Seconds of CPU time below which it is taken to have run as long.
const LEAST_RUN: f64 = 0.1;

/// The time for which the server wanted a CPU, for each second that it had one: other programs do not make its work
/// less.
fn wanted(host: &HostReading) -> f64 {
    CpuWait::of(host)
        .map_or(1.0, |wait| 1.0 + (wait.taken + wait.for_quota) / wait.run.max(LEAST_RUN))
}

fn work(host: &HostReading) -> Judged {
    let process = super::server(host)?;
    let text = Finding::known(host.text(&work::place(process)), "its threads were not sampled")?;
    let found = match ServerWork::read(&text) {
        ServerWork::Seen(found) => found,
        ServerWork::Unseen(why) => {
            return Finding::unknown(format!("its threads may not be sampled: {why}"));
        }
    };
    let cpus = host.cpus() as f64;
    let wanted = wanted(host);
    let share = |one: &CostlyWork| (one.of_thread.max(one.of_all / cpus) * wanted).min(100.0);
    let is_kind = |one: &&CostlyWork| one.knowledge == Knowledge::Kind;
    let most = |one: &&CostlyWork, other: &&CostlyWork| share(one).total_cmp(&share(other));
    // A kind of which something is known tells more than the name of its function.
    let kind = found.iter().filter(is_kind).max_by(most).filter(|one| share(one) >= NOTICED);
    let Some(first) = kind.or_else(|| found.iter().max_by(most)) else {
        return Finding::good("no kind of work and no function takes most of it");
    };
    let share = share(first);
    let text = format!("{share:.0} % of the time: {}", first.text);
    if share < NOTICED {
        return Finding::good(text);
    }
    let price = Percent::between(share * SPARED.0, share * SPARED.1);
    let waiting = unread(host).filter(|_| always_running(host).is_some()).unwrap_or(0);
    match first.knowledge {
        _ if waiting > 0 => {
            let text = format!(
                "{text}; meanwhile {waiting} sockets had requests that it did not even read"
            );
            Finding::measured(text, price)
        }
        Knowledge::Kind => Finding::measured(text, price),
        // It may be what the server is for.
        Knowledge::Function => {
            Ok(Finding::Costs(Evidence::Set, text, Price::Scaled(Percent { low: 0.0, ..price })))
        }
    }
}

//! The rules about the generator: whether it kept up, and whether it had its cores.
//!
//! Owns these rules and their texts. Never considers what the server did, except to excuse a
//! generator that was busy because of it.

use crate::limits::{
    GENERATOR_BUSY_MAXIMUM, GENERATOR_STARVED_MAXIMUM, GENERATOR_STRETCH_MAXIMUM,
    GENERATOR_WAITING_MAXIMUM, HOLD_LATE_MAXIMUM_NS, LATE_P99_MAXIMUM_NS, LATE_SHARE_MAXIMUM,
    RATE_MISSED_MAXIMUM, SERVER_BUSY_MINIMUM,
};
use crate::report::figures::{count, duration, percent, rate};
use crate::report::measured::PlanReport;
use crate::report::run::{RunReport, ServerUsage, ThreadReport};

use super::{Finding, ReasonCode};

pub(super) fn generator_busy(run: &RunReport) -> Option<Finding> {
    let busy_share = busiest_core(run)?;
    if busy_share <= GENERATOR_BUSY_MAXIMUM {
        return None;
    }
    let server = match &run.server {
        Some(server) if server.busiest_thread_share > SERVER_BUSY_MINIMUM => return None,
        Some(ServerUsage { busiest_thread_share, .. }) => {
            format!("the busiest thread of the server {}", percent(*busiest_thread_share))
        }
        None => "how busy the server was is not known".to_owned(),
    };
    let text = format!(
        "the generator used {} of a core (at most {}), {server}: use more threads on other cores, or \
         another host{}",
        percent(busy_share),
        percent(GENERATOR_BUSY_MAXIMUM),
        // A client checks a signature where a server makes one, and both compute the keys.
        run.tls.as_ref().map_or("", |_| "; with TLS it computes as much as a server"),
    );
    Some((ReasonCode::GeneratorBusy, text))
}

/// The share of a core that its generator threads used: of one core if they are pinned to it, otherwise each thread has
/// its own.
fn busiest_core(run: &RunReport) -> Option<f64> {
    let threads = &run.generator.threads;
    let of_core = |thread: &ThreadReport| match thread.core {
        Some(core) => {
            let together = threads.iter().filter(|other| other.core == Some(core));
            together.map(|other| other.busy_share).sum()
        }
        None => thread.busy_share,
    };
    threads.iter().map(of_core).max_by(f64::total_cmp)
}

/// In an open loop a wait of the generator appears as lateness. In a closed loop nothing is late, and the wait is
/// hidden in the times of the answers that arrived meanwhile.
pub(super) fn starved(run: &RunReport, plan: &PlanReport) -> Option<Finding> {
    let threads = || run.generator.threads.iter();
    let waited_ns = threads().map(|thread| thread.waited_ns).max()?;
    let longest_ns = threads().map(|thread| thread.longest_wait_ns).max()?;
    let wall_ns = run.wall_ns as f64;
    if plan.rate_from_per_s.is_some() {
        return None;
    }
    let text = if waited_ns as f64 > wall_ns * GENERATOR_STARVED_MAXIMUM {
        format!(
            "a generator thread waited {} of the time for its core, which other threads used (at most {})",
            percent(waited_ns as f64 / wall_ns),
            percent(GENERATOR_STARVED_MAXIMUM),
        )
    } else if longest_ns as f64 > wall_ns * GENERATOR_STRETCH_MAXIMUM {
        format!(
            "a generator thread waited {} for its core without a break (at most {}, a hundredth of the run, \
             or the p99 would be wrong)",
            duration(longest_ns as f64),
            duration(wall_ns * GENERATOR_STRETCH_MAXIMUM),
        )
    } else {
        return None;
    };
    Some((ReasonCode::Starved, text))
}

/// Requests that are due and not sent at the end form a queue that grew throughout the run.
pub(super) fn rate_missed(run: &RunReport, plan: &PlanReport) -> Option<Finding> {
    let requests = &run.requests;
    let unsent = requests.unsent_end.saturating_sub(requests.unsent_start);
    // If nothing was sent there was no connection, which other rules report.
    if requests.sent == 0 || unsent as f64 <= (requests.asked as f64 * RATE_MISSED_MAXIMUM).max(1.0)
    {
        return None;
    }
    let per_second = |count: u64| count as f64 * 1e9 / run.wall_ns.max(1) as f64;
    let text = format!(
        "{} requests/s were due and {} were sent, {} had not been at the end: all {} connections were busy; \
         ask for less, or give more connections with -c",
        rate(per_second(requests.asked)),
        rate(per_second(requests.sent)),
        count(requests.unsent_end),
        count(plan.connections),
    );
    Some((ReasonCode::RateMissed, text))
}

pub(super) fn sent_late(run: &RunReport, plan: &PlanReport) -> Option<Finding> {
    let late_ns = run.late.p99_ns;
    let allowed_ns = (run.response.p99_ns as f64 * LATE_SHARE_MAXIMUM) as u64;
    // `hold` sends few requests, to check that the connections live. It does not measure times.
    let always_ns = if plan.verb == "hold" { HOLD_LATE_MAXIMUM_NS } else { LATE_P99_MAXIMUM_NS };
    let allowed_ns = allowed_ns.max(always_ns);
    if late_ns <= allowed_ns {
        return None;
    }
    let text = format!(
        "one send in 100 was {} or more later than due (at most {}): the generator could not keep the \
         schedule",
        duration(late_ns as f64),
        duration(allowed_ns as f64),
    );
    Some((ReasonCode::SentLate, text))
}

pub(super) fn core_shared(run: &RunReport, plan: &PlanReport) -> Option<Finding> {
    let waited_ns = run.generator.threads.iter().map(|thread| thread.waited_ns).max()?;
    let allowed_ns = run.wall_ns as f64 * GENERATOR_WAITING_MAXIMUM;
    let text = format!(
        "a generator thread waited {} for its core, which others used: times are too long by that",
        duration(waited_ns as f64),
    );
    (waited_ns as f64 > allowed_ns && starved(run, plan).is_none())
        .then_some((ReasonCode::CoreShared, text))
}

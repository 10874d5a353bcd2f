//! Whether a result can be trusted.
//!
//! Owns the rules and their texts. Never softens: a rule that cannot be checked because the server
//! is not visible counts against the result if the generator was at its limit.

mod generator;
mod handshakes;
mod stall;
mod streams;

use serde::{Deserialize, Serialize};

use crate::host::HostFacts;
use crate::limits::{
    CLOCK_DISTANCE_MAXIMUM_NS, FAILED_SHARE_REMARKED, LATENCY_MAXIMUM_NS, RATE_MISSED_MAXIMUM,
    SERVER_WAITING_MAXIMUM, STEAL_SHARE_MAXIMUM,
};
use crate::report::figures::{count, duration, percent};
use crate::report::measured::{Ended, PlanReport};
use crate::report::run::{Holds, Requests, RunReport};
use crate::tally::FailureKind;
use generator::{core_shared, generator_busy, rate_missed, sent_late, starved};
use handshakes::{handshakes_failed, not_checked, not_resumed};
use stall::stalled;
use streams::{streams_ended, streams_limited, window_stalls};

/// Clock sources that advance by milliseconds.
const CLOCKS_TOO_COARSE: [&str; 2] = ["jiffies", "refined-jiffies"];

/// Clock sources whose reading takes about a microsecond.
const CLOCKS_SLOW: [&str; 3] = ["hpet", "acpi_pm", "pit"];

/// Whether the result can be trusted, with every reason against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Valid or not.
    pub state: ResultTrust,
    /// Every reason why not; empty when valid.
    pub reasons: Vec<VerdictReason>,
    /// Notes for the reader, which are no reasons against the result.
    pub notes: Vec<VerdictReason>,
}

/// Whether a result can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultTrust {
    /// The figures describe the server.
    Valid,
    /// They may describe something else.
    Invalid,
}

/// A reason or a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictReason {
    /// Its subject.
    pub code: ReasonCode,
    /// The run it concerns, from 1; null if it concerns all.
    pub run: Option<u32>,
    /// The text, with figures.
    pub text: String,
}

/// The subject of a reason or a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Nothing was answered.
    NothingAnswered,
    /// A generator thread was at its limit while the server was not.
    GeneratorBusy,
    /// A generator thread of a closed loop waited for its core.
    Starved,
    /// Sends were later than due.
    SentLate,
    /// Requests of an open loop were due and never sent.
    RateMissed,
    /// Fewer connections were open than requested.
    ConnectionsMissing,
    /// TLS handshakes failed.
    HandshakesFailed,
    /// A generator on another host was lost.
    AgentLost,
    /// A client did not read its own writes at another address.
    OwnWrites,
    /// A clock cannot be trusted.
    Clock,
    /// The hypervisor gave time to others.
    Steal,
    /// Rate, times and connections contradict each other.
    LittlesLaw,
    /// A note: the run did not reach its planned end.
    Interrupted,
    /// A note: others used the core of a generator thread.
    CoreShared,
    /// A note: others used the core of a server thread.
    ServerWaited,
    /// A note: for some time nothing was answered.
    Stalled,
    /// A note: the certificates of servers were not checked.
    NotChecked,
    /// A note: sessions should have been resumed, and many were not.
    NotResumed,
    /// A note: the server allows fewer streams on a connection than planned.
    StreamsLimited,
    /// A note: content of requests waited for windows of the server.
    WindowStalls,
    /// A note: errors of HTTP/2 ended streams or connections.
    StreamsEnded,
    /// A note: requests without an answer at the end count with their age.
    LeftOver,
    /// A note: failed requests have no times.
    Failures,
    /// A note: times were longer than a histogram holds.
    Clamped,
}

/// A reason or note, before it is known whether the number of the run matters.
type Finding = (ReasonCode, String);

impl Verdict {
    /// The verdict on the runs of a measurement.
    pub fn of(runs: &[RunReport], host: &HostFacts, ended: Ended, plan: &PlanReport) -> Verdict {
        let mut reasons = Vec::new();
        let mut notes = Vec::new();
        let everywhere = |(code, text): Finding| VerdictReason { code, run: None, text };
        if runs.is_empty() {
            let text = "no run was finished".to_owned();
            reasons.push(everywhere((ReasonCode::NothingAnswered, text)));
        }
        notes.extend(slow_clock(host).map(everywhere));
        notes.extend(not_checked(plan).map(everywhere));
        if ended == Ended::Interrupted {
            let text = "partial: it was stopped before its planned end".to_owned();
            notes.push(everywhere((ReasonCode::Interrupted, text)));
        }
        for (run, number) in runs.iter().zip(1..) {
            let numbered = |(code, text): Finding| VerdictReason { code, run: Some(number), text };
            reasons.extend(against(run, plan).map(numbered));
            notes.extend(remarks(run, plan).map(numbered));
        }
        // After the runs, because that nothing was answered is a fact whatever the clock, and comes first.
        reasons.extend(coarse_clock(host).map(everywhere));
        let state = if reasons.is_empty() { ResultTrust::Valid } else { ResultTrust::Invalid };
        Verdict { state, reasons, notes }
    }
}

/// Every reason against a run.
fn against(run: &RunReport, plan: &PlanReport) -> impl Iterator<Item = Finding> {
    [
        nothing_answered(run),
        generator_busy(run),
        starved(run, plan),
        sent_late(run, plan),
        rate_missed(run, plan),
        connections_missing(run),
        handshakes_failed(run),
        clock_went_back(run),
        clock_moved(run),
        steal(run),
        littles_law(run),
    ]
    .into_iter()
    .flatten()
}

/// Notes on a run.
fn remarks(run: &RunReport, plan: &PlanReport) -> impl Iterator<Item = Finding> {
    [
        core_shared(run, plan),
        server_waited(run),
        stalled(run, plan),
        not_resumed(run, plan),
        streams_limited(run, plan),
        window_stalls(run),
        streams_ended(run),
        left_over(run, plan),
        failures(run),
        clamped(run),
    ]
    .into_iter()
    .flatten()
}

fn nothing_answered(run: &RunReport) -> Option<Finding> {
    let requests = &run.requests;
    let mut text = format!("no request was answered, {} failed", count(requests.failed));
    if requests.in_flight_end > 0 {
        let left = count(requests.in_flight_end);
        text.push_str(&format!(", {left} had no answer at the end"));
    }
    let most = run.http2.as_ref().and_then(|streams| streams.most_frequent());
    if let Some(mend) = most.map(|end| end.text.as_str()).or_else(|| mend(requests)) {
        text.push_str(": ");
        text.push_str(mend);
    }
    (requests.answered == 0).then_some((ReasonCode::NothingAnswered, text))
}

/// The remedy if nothing was answered, always for the same reason.
fn mend(requests: &Requests) -> Option<&'static str> {
    if requests.failed == 0 {
        return (requests.in_flight_end > 0)
            .then_some("see that the server answers at all, or measure longer with -d");
    }
    let kind = FailureKind::ALL
        .into_iter()
        .find(|kind| requests.failed_by.of(*kind) == requests.failed)?;
    Some(match kind {
        FailureKind::Connect => "no connection could be opened; see that a server listens there",
        FailureKind::Handshake => "no handshake was successful",
        FailureKind::Reset => {
            "connections ended before an answer was whole; the server's log may say why"
        }
        FailureKind::Timeout => "see that the server answers at all, or wait longer with --timeout",
        FailureKind::Status => {
            "name the expected statuses with --expect-status, or request another path"
        }
        FailureKind::Check => "no body was as expected; see what the server sends",
        FailureKind::Garbage => {
            "the answers were not HTTP; check that this is a plain HTTP port, or write https://"
        }
    })
}

fn connections_missing(run: &RunReport) -> Option<Finding> {
    let connections = &run.connections;
    let text = format!(
        "{} of {} connections were open at most, {} attempts failed",
        count(connections.open),
        count(connections.asked),
        count(connections.refused),
    );
    (connections.open < connections.asked).then_some((ReasonCode::ConnectionsMissing, text))
}

fn clock_went_back(run: &RunReport) -> Option<Finding> {
    let text = format!("the monotonic clock went back {} times", count(run.clock.went_back));
    (run.clock.went_back > 0).then_some((ReasonCode::Clock, text))
}

fn clock_moved(run: &RunReport) -> Option<Finding> {
    let monotonic_ns = i64::try_from(run.clock.monotonic_ns).unwrap_or(i64::MAX);
    let distance_ns = run.clock.realtime_ns.abs_diff(monotonic_ns);
    let text = format!(
        "time of day and monotonic clock moved apart by {}: the host was paused, or its clock was set",
        duration(distance_ns as f64),
    );
    (distance_ns > CLOCK_DISTANCE_MAXIMUM_NS).then_some((ReasonCode::Clock, text))
}

fn coarse_clock(host: &HostFacts) -> Option<Finding> {
    let source = host.clock_source.as_deref()?;
    let text = format!("the clock source `{source}` advances by milliseconds");
    CLOCKS_TOO_COARSE.contains(&source).then_some((ReasonCode::Clock, text))
}

fn slow_clock(host: &HostFacts) -> Option<Finding> {
    let source = host.clock_source.as_deref()?;
    let text = format!("the clock source `{source}` makes every reading of the clock expensive");
    CLOCKS_SLOW.contains(&source).then_some((ReasonCode::Clock, text))
}

fn steal(run: &RunReport) -> Option<Finding> {
    let share = run.steal_share.filter(|share| *share > STEAL_SHARE_MAXIMUM)?;
    let text = format!(
        "the hypervisor gave {} of the time of a core in use to others (at most {})",
        percent(share),
        percent(STEAL_SHARE_MAXIMUM),
    );
    Some((ReasonCode::Steal, text))
}

fn littles_law(run: &RunReport) -> Option<Finding> {
    let law = &run.littles_law;
    let (expected, tolerance) = (law.expected?, law.tolerance?);
    let text = format!(
        "rate times mean service time is {:.1} requests under way, the connections allow {expected:.1} \
         (within {tolerance:.1}): times, rate and connections contradict each other",
        law.measured,
    );
    (law.holds == Holds::No).then_some((ReasonCode::LittlesLaw, text))
}

/// A server that shares its core with others is measured together with them.
fn server_waited(run: &RunReport) -> Option<Finding> {
    let share = run.server.as_ref()?.waited_share;
    let text = format!(
        "a thread of the server was runnable without a core for {} of the time: others used it",
        percent(share),
    );
    (share > SERVER_WAITING_MAXIMUM).then_some((ReasonCode::ServerWaited, text))
}

/// In a closed loop there are as many as connections, and their times are not in doubt.
fn left_over(run: &RunReport, plan: &PlanReport) -> Option<Finding> {
    let left = run.response.count.checked_sub(run.requests.answered)?;
    let text = format!(
        "{} requests had no answer at the end: their age counts as their response time",
        count(left)
    );
    let is_much = left as f64 > RATE_MISSED_MAXIMUM * run.requests.asked as f64;
    (plan.rate_from_per_s.is_some() && is_much).then_some((ReasonCode::LeftOver, text))
}

fn failures(run: &RunReport) -> Option<Finding> {
    let outcomes = run.requests.answered + run.requests.failed;
    let share = run.requests.failed as f64 / outcomes.max(1) as f64;
    let share = if share > FAILED_SHARE_REMARKED {
        format!(" ({}: --fail-if makes that an exit status)", percent(share))
    } else {
        String::new()
    };
    let text = format!(
        "{} requests failed{share}; the times are of the {} that were answered",
        count(run.requests.failed),
        count(run.requests.answered),
    );
    (run.requests.failed > 0 && run.requests.answered > 0).then_some((ReasonCode::Failures, text))
}

fn clamped(run: &RunReport) -> Option<Finding> {
    let latencies = [&run.service, &run.response, &run.connect, &run.late];
    let handshake = run.tls.as_ref().map(|tls| &tls.handshake);
    let clamped = latencies.into_iter().chain(handshake).map(|latency| latency.clamped).max()?;
    let text = format!(
        "{} times were longer than {} and count as that in the percentiles",
        count(clamped),
        duration(LATENCY_MAXIMUM_NS as f64),
    );
    (clamped > 0).then_some((ReasonCode::Clamped, text))
}

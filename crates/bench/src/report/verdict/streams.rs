//! The notes about streams of HTTP/2.
//!
//! Owns these rules and their texts. Flow control and limits of a server are facts about it, so they are notes and
//! never reasons against a result.

use super::{Finding, ReasonCode};
use crate::report::figures::{count, duration, numbered};
use crate::report::measured::PlanReport;
use crate::report::run::RunReport;
use crate::tally::StreamEnding;

pub(super) fn streams_limited(run: &RunReport, plan: &PlanReport) -> Option<Finding> {
    let allowed = run.http2.as_ref()?.allowed?;
    let text = format!(
        "the server allows {} on a connection (SETTINGS_MAX_CONCURRENT_STREAMS), fewer than the {} of the plan",
        numbered(u64::from(allowed), "stream"),
        count(u64::from(plan.pipeline)),
    );
    Some((ReasonCode::StreamsLimited, text))
}

pub(super) fn window_stalls(run: &RunReport) -> Option<Finding> {
    let streams = run.http2.as_ref()?;
    let text = format!(
        "content of requests waited {} times for a window of the server, {} in all: its flow control limits the rate",
        count(streams.window_stalls),
        duration(streams.window_stalled_ns as f64),
    );
    (streams.window_stalls > 0).then_some((ReasonCode::WindowStalls, text))
}

pub(super) fn streams_ended(run: &RunReport) -> Option<Finding> {
    let ends = &run.http2.as_ref()?.ends;
    let told = |end: &StreamEnding| format!("{} times {}", count(end.count), end.text);
    let text = ends.iter().map(told).collect::<Vec<_>>().join("; ");
    (!ends.is_empty()).then_some((ReasonCode::StreamsEnded, format!("errors of HTTP/2: {text}")))
}

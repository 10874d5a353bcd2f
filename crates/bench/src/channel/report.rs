//! The result of a run: figures, and whether they can be trusted.
//!
//! Owns the report and its text. Never measures.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{ChannelPace, ChannelPlan};
use crate::host::{ServerUse, ThreadUse};
use crate::limits::{GENERATOR_BUSY_MAXIMUM, SERVER_BUSY_MINIMUM, STEAL_SHARE_MAXIMUM};
use crate::report::figures::{count, duration, percent, rate};
use crate::report::{
    EncryptionPlanReport, EncryptionReport, encryption_lines, sum_faults, to_pretty_json,
};
use crate::tally::Latency;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelReport {
    /// When it began, in seconds since 1970-01-01 00:00 UTC.
    #[serde(default)]
    pub begun_unix_s: u64,
    /// Connected subscribers.
    pub subscribers: u64,
    /// Wanted subscribers.
    pub wanted: u64,
    /// Connections that did not become subscribers, by reason.
    pub failed: BTreeMap<String, u64>,
    /// How connections were to be encrypted; null if they were not.
    #[serde(default)]
    pub tls_plan: Option<EncryptionPlanReport>,
    /// The handshakes of encrypted connections; null without any.
    #[serde(default)]
    pub tls: Option<EncryptionReport>,
    /// Messages published.
    pub published: u64,
    /// Bytes of each message.
    pub message_bytes: u64,
    /// Messages received, by all subscribers together.
    pub received: u64,
    /// The share of expected deliveries that were received: each message by each subscriber.
    pub reach: f64,
    /// Messages of the subscriber that received the fewest.
    pub fewest: u64,
    /// Messages of the subscriber that received the most.
    pub most: u64,
    /// Messages that a subscriber received twice, or after a later one.
    pub disordered: u64,
    /// Subscribers that ended before the end, by close code or reason.
    pub ended: BTreeMap<String, u64>,
    /// From the time the first message was due until the last one was received, in nanoseconds.
    pub elapsed_ns: u64,
    /// Messages received per second in that time.
    pub deliveries_per_s: f64,
    /// From the time a message was due until its arrival, over all deliveries.
    pub delivery: TimeDistribution,
    /// The same for the first subscriber of each message that all have received.
    pub first: TimeDistribution,
    /// The same for the last subscriber.
    pub last: TimeDistribution,
    /// The server's CPU time per delivery, if it is on this host.
    pub server_cpu_ns_per_delivery: Option<f64>,
    /// The share of its core that the server's busiest thread used.
    pub server_busy: Option<f64>,
    /// The increase of the server's memory per connected subscriber.
    pub server_bytes_per_subscriber: Option<f64>,
    /// The share of its core that the generator's busiest thread used.
    pub generator_busy: f64,
    /// Whether the figures can be trusted.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<String>,
}

/// A distribution of times, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeDistribution {
    /// The shortest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// 99 of 100 were not longer.
    pub p99_ns: u64,
    /// 999 of 1,000 were not longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl TimeDistribution {
    fn of(latency: &Latency) -> Self {
        Self {
            min_ns: latency.minimum_ns(),
            p50_ns: latency.quantile_ns(0.5),
            p99_ns: latency.quantile_ns(0.99),
            p999_ns: latency.quantile_ns(0.999),
            max_ns: latency.maximum_ns(),
        }
    }
}

pub(super) struct Measured<'p> {
    pub(super) begun_unix_s: u64,
    pub(super) plan: &'p ChannelPlan,
    pub(super) opened: u64,
    pub(super) tally: Tally,
    pub(super) generator: Vec<ThreadUse>,
    pub(super) server: Option<ServerUse>,
    pub(super) steal_share: Option<f64>,
    pub(super) server_bytes: Option<u64>,
    pub(super) is_whole: bool,
}

impl ChannelReport {
    pub(super) fn of(measured: Measured<'_>) -> Self {
        let Measured { plan, opened, tally, generator, server, server_bytes, .. } = &measured;
        let expected = tally.published.saturating_mul(*opened);
        let (mut first, mut last) = (Latency::new(), Latency::new());
        for arrivals in tally.messages.iter().filter(|arrivals| arrivals.count >= *opened) {
            first.record(arrivals.first_ns);
            last.record(arrivals.last_ns);
        }
        let elapsed_ns = tally.last_ns.saturating_sub(tally.begun_ns.unwrap_or(tally.last_ns));
        let each = |sum: u64, of: u64| (of > 0).then(|| sum as f64 / of as f64);
        let wall_ns = generator.iter().map(|thread| thread.wall_ns).max().unwrap_or(0);
        let generator_busy = generator.iter().map(ThreadUse::busy).fold(0.0, f64::max);
        let server_busy =
            server.as_ref().and_then(|server| each(server.busiest_thread_ns, wall_ns));
        let reasons = reasons(&measured, generator_busy, server_busy);
        Self {
            begun_unix_s: measured.begun_unix_s,
            subscribers: *opened,
            wanted: u64::from(plan.plan.connections),
            failed: tally.failed.clone(),
            tls: tally.handshakes().map(EncryptionReport::of),
            tls_plan: plan.plan.encryption.as_ref().map(EncryptionPlanReport::of),
            published: tally.published,
            message_bytes: plan.size as u64,
            received: tally.received,
            reach: each(tally.received, expected).unwrap_or(0.0),
            fewest: tally.fewest.unwrap_or(0),
            most: tally.most,
            disordered: tally.disordered,
            ended: tally.ended.clone(),
            elapsed_ns,
            deliveries_per_s: each(tally.received, elapsed_ns).unwrap_or(0.0) * 1e9,
            delivery: TimeDistribution::of(&tally.latency),
            first: TimeDistribution::of(&first),
            last: TimeDistribution::of(&last),
            server_cpu_ns_per_delivery: server
                .as_ref()
                .and_then(|server| each(server.cpu_ns, tally.received)),
            server_busy,
            server_bytes_per_subscriber: server_bytes.and_then(|bytes| each(bytes, *opened)),
            generator_busy,
            valid: reasons.is_empty(),
            reasons,
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        to_pretty_json(self)
    }

    fn write_encryption(&self, out: &mut impl Write) -> fmt::Result {
        let faults = sum_faults(self.tls.iter());
        let lines = self
            .tls_plan
            .as_ref()
            .map(|plan| encryption_lines(plan, self.tls.as_ref(), &faults, self.begun_unix_s));
        for (line, at) in lines.iter().flatten().zip(0..) {
            writeln!(out, "{:<12}{line}", if at == 0 { "tls" } else { "" })?;
        }
        Ok(())
    }

    /// Writes the report for a person.
    ///
    /// # Errors
    /// If `out` accepts no text.
    pub fn write_text(&self, out: &mut impl Write) -> fmt::Result {
        let verdict = if self.valid { "VALID" } else { "INVALID" };
        writeln!(out, "{verdict}")?;
        for reason in &self.reasons {
            writeln!(out, "  {reason}")?;
        }
        let of = |counts: &BTreeMap<String, u64>| -> String {
            let each = counts.iter().map(|(kind, number)| format!("{} {kind}", count(*number)));
            each.collect::<Vec<_>>().join(", ")
        };
        writeln!(out, "subscribers {} of {}", count(self.subscribers), count(self.wanted))?;
        if !self.failed.is_empty() {
            writeln!(out, "failed      {}", of(&self.failed))?;
        }
        self.write_encryption(out)?;
        writeln!(
            out,
            "published   {} messages of {} bytes",
            count(self.published),
            self.message_bytes
        )?;
        let elapsed = duration(self.elapsed_ns as f64);
        writeln!(
            out,
            "received    {} in {elapsed}, {} a second",
            count(self.received),
            rate(self.deliveries_per_s)
        )?;
        writeln!(
            out,
            "reach       {}; a subscriber got {} to {}; {} again or out of order",
            percent(self.reach),
            count(self.fewest),
            count(self.most),
            count(self.disordered)
        )?;
        if !self.ended.is_empty() {
            writeln!(out, "ended       {}", of(&self.ended))?;
        }
        if self.received == 0 {
            return Ok(());
        }
        writeln!(out, "\ntime from when a message was due, to")?;
        writeln!(
            out,
            "              {:>9} {:>9} {:>9} {:>9} {:>9}",
            "min", "p50", "p99", "p99.9", "max"
        )?;
        for (name, times) in
            [("a subscriber", self.delivery), ("the first", self.first), ("the last", self.last)]
        {
            let TimeDistribution { min_ns, p50_ns, p99_ns, p999_ns, max_ns } = times;
            let times = [min_ns, p50_ns, p99_ns, p999_ns, max_ns];
            let times = times.map(|time| format!("{:>9}", duration(time as f64)));
            writeln!(out, "{name:<13} {}", times.join(" "))?;
        }
        writeln!(out)?;
        if let Some(each) = self.server_cpu_ns_per_delivery {
            write!(out, "server      {} of CPU a delivery", duration(each))?;
            if let Some(busy) = self.server_busy {
                write!(out, ", its busiest thread at {}", percent(busy))?;
            }
            writeln!(out)?;
        }
        if let Some(bytes) = self.server_bytes_per_subscriber {
            writeln!(out, "memory      {bytes:.0} bytes of the server a subscriber")?;
        }
        writeln!(out, "generator   its busiest thread at {}", percent(self.generator_busy))
    }
}

/// Why the figures may describe something other than the server.
fn reasons(measured: &Measured<'_>, generator_busy: f64, server_busy: Option<f64>) -> Vec<String> {
    let mut reasons = Vec::new();
    let wanted = u64::from(measured.plan.plan.connections);
    if !measured.is_whole {
        reasons.push("it was ended early".to_owned());
    }
    if measured.opened < wanted {
        reasons.push(format!("{} of {wanted} subscribers were connected", measured.opened));
    }
    if measured.tally.received == 0 {
        reasons.push("nothing was received".to_owned());
    }
    let server_is_bound = server_busy.is_some_and(|busy| busy >= SERVER_BUSY_MINIMUM);
    let is_closed = matches!(measured.plan.pace, ChannelPace::AtOnce(_));
    if generator_busy > GENERATOR_BUSY_MAXIMUM && !(is_closed && server_is_bound) {
        reasons.push(format!(
            "a thread of the generator was busy for {}: give it more threads and CPUs (-t)",
            percent(generator_busy)
        ));
    }
    if measured.steal_share.is_some_and(|share| share > STEAL_SHARE_MAXIMUM) {
        let share = percent(measured.steal_share.unwrap_or(0.0));
        reasons.push(format!("the hypervisor took {share} of the CPUs' time"));
    }
    reasons
}

//! The result of a run: figures, and whether they can be trusted.
//!
//! Owns the report. `text` is what a person reads. Never measures.

mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::check::CheckReport;
use super::outcome::{ChannelOutcome, ServerFigures, StormFigures};
use super::pairs::AddressPair;
use super::tally::Tally;
use super::workload::WorkloadTally;
use super::{ChannelPace, ChannelPlan};

use crate::limits::{GENERATOR_BUSY_MAXIMUM, SERVER_BUSY_MINIMUM, STEAL_SHARE_MAXIMUM};
use crate::report::figures::{count, percent};
use crate::report::{AgentReport, EncryptionPlanReport, EncryptionReport, to_pretty_json};
use crate::tally::{BlobError, Latency};

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
    pub tls_plan: Option<EncryptionPlanReport>,
    /// The handshakes of encrypted connections; null without any.
    pub tls: Option<EncryptionReport>,
    /// Messages published.
    pub published: u64,
    /// Bytes of each message.
    pub message_bytes: u64,
    /// Messages received, by all subscribers together, without doubles.
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
    /// All of these times: HDR V2, compressed, base64.
    #[serde(default)]
    pub delivery_hdr_v2: String,
    /// The same for the first subscriber of each message that all have received.
    pub first: TimeDistribution,
    /// The same for the last subscriber.
    pub last: TimeDistribution,
    /// The addresses, in the order of the command line.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Deliveries at the address where a message was published; null with one address.
    pub same_address: Option<TimeDistribution>,
    /// Deliveries at the others; null with one address.
    pub other_address: Option<TimeDistribution>,
    /// Deliveries of each pair of addresses.
    #[serde(default)]
    pub pairs: Vec<PairReport>,
    /// The check of every message over all subscribers.
    #[serde(default)]
    pub check: CheckReport,
    /// The storm and the churn; null without them.
    pub workload: Option<WorkloadReport>,
    /// The generators on other hosts; empty without them.
    #[serde(default)]
    pub agents: Vec<AgentReport>,
    /// The server's CPU time per delivery, if it is on this host.
    pub server_cpu_ns_per_delivery: Option<f64>,
    /// The share of its core that the server's busiest thread used.
    pub server_busy: Option<f64>,
    /// The increase of the server's memory per connected subscriber.
    pub server_bytes_per_subscriber: Option<f64>,
    /// The share of its core that the generator's busiest thread used.
    pub generator_busy: f64,
    /// Whether the figures can be trusted and every message was right.
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

/// The deliveries of messages that were published at one address and received at another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairReport {
    /// The addresses, as indices.
    #[serde(flatten)]
    pub pair: AddressPair,
    /// How many there were.
    pub deliveries: u64,
    /// Their times.
    pub times: TimeDistribution,
    /// All of these times: HDR V2, compressed, base64.
    pub hdr_v2: String,
}

impl PairReport {
    fn of(pair: AddressPair, times: &Latency) -> Self {
        let (deliveries, hdr_v2) = (times.count(), times.to_text());
        Self { pair, deliveries, times: TimeDistribution::of(times), hdr_v2 }
    }
}

/// The fate of subscribers that did not stay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadReport {
    /// Subscribers whose connection the storm cut.
    pub cut: u64,
    /// From the cut until the last one was back; null if some were not.
    pub all_back_ns: Option<u64>,
    /// From the cut until each was subscribed again.
    pub back: TimeDistribution,
    /// The server's CPU time for each of them, beyond what it used before; null if it is not on this host.
    pub server_cpu_ns_per_reconnect: Option<f64>,
    /// Attempts to connect again that failed.
    pub retries: u64,
    /// Subscribers that were still away at the end.
    pub missing: u64,
    /// Subscribers that left, and for whom others came.
    pub left: u64,
    /// From the begin of a connect until subscribed, of those that came.
    pub joined: TimeDistribution,
}

impl WorkloadReport {
    fn of(tally: &WorkloadTally, storms: &[StormFigures], generators: usize) -> Self {
        let each: Vec<u64> = storms.iter().filter_map(|storm| storm.all_back_ns()).collect();
        let is_known = !storms.is_empty() && each.len() == generators;
        let used: Vec<u64> = storms.iter().filter_map(|storm| storm.server_cpu_ns()).collect();
        // Generators on one host have seen the same server.
        let used_ns = used.into_iter().max().filter(|_| tally.cuts() > 0 && is_known);
        Self {
            cut: tally.cuts(),
            all_back_ns: each.into_iter().max().filter(|_| is_known),
            back: TimeDistribution::of(tally.back()),
            server_cpu_ns_per_reconnect: used_ns
                .map(|used_ns| used_ns as f64 / tally.cuts() as f64),
            retries: tally.retries(),
            missing: tally.missing(),
            left: tally.leaves(),
            joined: TimeDistribution::of(tally.joined()),
        }
    }
}

impl ChannelReport {
    /// The report of a run of one or several generators.
    ///
    /// # Errors
    /// If a distribution of a generator cannot be read.
    pub fn of(
        plan: &ChannelPlan,
        outcomes: Vec<ChannelOutcome>,
        agents: Vec<AgentReport>,
    ) -> Result<Self, BlobError> {
        let generators = outcomes.len();
        let begun_unix_s = outcomes.iter().map(|one| one.begun_unix_s).min().unwrap_or(0);
        let server = ServerFigures::together(outcomes.iter().filter_map(|one| one.server.as_ref()));
        let storms: Vec<StormFigures> = outcomes.iter().filter_map(|one| one.storm).collect();
        let tls = outcomes.iter().filter_map(|one| one.tls.as_ref());
        let tls = EncryptionReport::together(tls)?;
        let busy = outcomes.iter().map(|one| one.busy).fold(0.0, f64::max);
        let steal_share = outcomes.iter().filter_map(|one| one.steal_share).reduce(f64::max);
        let wanted = outcomes.iter().map(|one| one.wanted).sum();
        let is_whole = outcomes.iter().all(|one| one.is_whole);
        let mut tally = Tally::default();
        for outcome in outcomes {
            tally.merge(outcome.tally);
        }
        let mut report = Self::of_tally(plan, &tally, &storms, generators);
        let each = |sum: u64, of: u64| (of > 0).then(|| sum as f64 / of as f64);
        let received = report.received;
        report.server_cpu_ns_per_delivery =
            server.as_ref().and_then(|server| each(server.cpu_ns(), received));
        report.server_busy = server.as_ref().and_then(ServerFigures::busy);
        report.server_bytes_per_subscriber = server
            .as_ref()
            .and_then(ServerFigures::grown_bytes)
            .and_then(|bytes| each(bytes, report.subscribers));
        (report.begun_unix_s, report.wanted, report.generator_busy) = (begun_unix_s, wanted, busy);
        (report.tls, report.agents) = (tls, agents);
        report.conclude(plan, steal_share, is_whole);
        Ok(report)
    }

    fn of_tally(
        plan: &ChannelPlan,
        tally: &Tally,
        storms: &[StormFigures],
        generators: usize,
    ) -> Self {
        let opened = tally.opened();
        let [first, last] = ends(tally);
        let elapsed_ns = tally.elapsed_ns();
        let delivery = tally.times().together(|_| true);
        let together = |fits: fn(AddressPair) -> bool| {
            (plan.plan.peers.len() > 1).then(|| TimeDistribution::of(&tally.times().together(fits)))
        };
        let pairs = tally.times().each().map(|(pair, times)| PairReport::of(pair, times));
        let moves = plan.storm.is_some() || plan.churn_per_s.is_some();
        let mut report = Self {
            begun_unix_s: 0,
            subscribers: opened,
            wanted: 0,
            tls: None,
            tls_plan: plan.plan.encryption.as_ref().map(EncryptionPlanReport::of),
            published: tally.published(),
            message_bytes: plan.size as u64,
            received: tally.received(),
            reach: 0.0,
            fewest: tally.fewest(),
            most: tally.most(),
            disordered: 0,
            elapsed_ns,
            deliveries_per_s: ratio(tally.received(), elapsed_ns) * 1e9,
            delivery: TimeDistribution::of(&delivery),
            delivery_hdr_v2: delivery.to_text(),
            first: TimeDistribution::of(&first),
            last: TimeDistribution::of(&last),
            addresses: plan.plan.peers.iter().map(|peer| peer.address.to_string()).collect(),
            same_address: together(|pair| pair.from == pair.to),
            other_address: together(|pair| pair.from != pair.to),
            pairs: pairs.collect(),
            workload: moves.then(|| WorkloadReport::of(tally.workload(), storms, generators)),
            agents: Vec::new(),
            server_cpu_ns_per_delivery: None,
            server_busy: None,
            server_bytes_per_subscriber: None,
            generator_busy: 0.0,
            valid: false,
            reasons: Vec::new(),
            failed: tally.failed().clone(),
            ended: tally.lost().clone(),
            check: tally.check_report(plan.publishers(), plan.expected),
        };
        report.disordered = report.check.doubles + report.check.late;
        // Subscribers that come for others expect only what is published from then on.
        let expected = if plan.churn_per_s.is_some() {
            report.received + report.check.gaps + report.check.told + report.check.away
        } else {
            report.published.saturating_mul(opened)
        };
        report.reach = ratio(report.received, expected);
        report
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        to_pretty_json(self)
    }

    /// Why the figures may describe something other than the server, and what is wrong with its messages.
    fn conclude(&mut self, plan: &ChannelPlan, steal_share: Option<f64>, is_whole: bool) {
        let mut reasons: Vec<String> =
            self.agents.iter().filter_map(AgentReport::why_not).collect();
        if !is_whole {
            reasons.push("it was ended early".to_owned());
        }
        if self.subscribers < self.wanted {
            reasons.push(format!(
                "{} of {} subscribers were connected",
                self.subscribers, self.wanted
            ));
        }
        if self.received == 0 {
            reasons.push("nothing was received".to_owned());
        }
        reasons.extend(self.check.violations());
        if let Some(workload) = &self.workload {
            if workload.missing > 0 {
                let missing = count(workload.missing);
                reasons.push(format!("{missing} subscribers could not come back"));
            } else if plan.storm.is_some() && workload.cut == 0 {
                reasons.push("the storm cut no connection: only publishers were there".to_owned());
            }
        }
        let server_is_bound = self.server_busy.is_some_and(|busy| busy >= SERVER_BUSY_MINIMUM);
        let is_closed = matches!(plan.pace, ChannelPace::AtOnce(_));
        if self.generator_busy > GENERATOR_BUSY_MAXIMUM && !(is_closed && server_is_bound) {
            reasons.push(format!(
                "a thread of the generator was busy for {}: give it more threads and CPUs (-t)",
                percent(self.generator_busy)
            ));
        }
        if steal_share.is_some_and(|share| share > STEAL_SHARE_MAXIMUM) {
            let share = percent(steal_share.unwrap_or(0.0));
            reasons.push(format!("the hypervisor took {share} of the CPUs' time"));
        }
        self.valid = reasons.is_empty();
        self.reasons = reasons;
    }
}

/// The times of the first and the last subscriber of each message that all have received.
fn ends(tally: &Tally) -> [Latency; 2] {
    let (mut first, mut last) = (Latency::new(), Latency::new());
    let all = tally.opened().max(1);
    for arrivals in tally.messages().iter().filter(|arrivals| arrivals.count() >= all) {
        first.record(arrivals.first_ns());
        last.record(arrivals.last_ns());
    }
    [first, last]
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

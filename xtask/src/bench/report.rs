//! The result of a workload: as a table for the reader and as JSON for later comparison.
//!
//! Owns ratios and the judgement of targets. Never measures.

use serde_json::{Map, Value, json};

use crate::bench::contender::{Contender, OURS};
use crate::bench::sample::{Metric, Sample, interval, median, spread};
use crate::bench::target::{Against, Bound, Target};
use crate::bench::workload::Workload;

/// The result of one contender.
struct Entry {
    name: &'static str,
    /// One sample per round; empty if it did not take part.
    samples: Vec<Sample>,
    skipped: Option<String>,
    /// The command that started it; empty if it was not started.
    command: String,
}

impl Entry {
    fn values(&self, metric: Metric) -> Vec<f64> {
        self.samples.iter().filter_map(|sample| sample.get(&metric).copied()).collect()
    }

    fn median(&self, metric: Metric) -> f64 {
        median(&self.values(metric))
    }
}

/// The result of a workload.
pub(crate) struct Comparison {
    workload: &'static Workload,
    entries: Vec<Entry>,
    /// The command of the load for the last contender; for the others only the address differs.
    load: String,
}

/// A value of one contender divided by that of another.
struct Ratios {
    of_medians: f64,
    /// The median of the ratios within each round.
    of_rounds: f64,
    /// The 95 % confidence interval of that.
    interval: Option<(f64, f64)>,
}

impl Ratios {
    fn interval_text(&self) -> String {
        match self.interval {
            None => "too few rounds".to_owned(),
            Some((low, high)) if low <= 1.0 && 1.0 <= high => {
                format!("{low:.3}-{high:.3} not distinguishable")
            }
            Some((low, high)) => format!("{low:.3}-{high:.3}"),
        }
    }
}

/// The result of a target.
struct Judgement {
    text: String,
    /// `None` if one of the two did not take part.
    met: Option<bool>,
    value: f64,
}

impl Comparison {
    pub(crate) fn new(workload: &'static Workload) -> Comparison {
        Comparison::with_guests(workload, &[])
    }

    /// With contenders besides the workload's own.
    pub(crate) fn with_guests(workload: &'static Workload, guests: &[Contender]) -> Comparison {
        let entry =
            |name| Entry { name, samples: Vec::new(), skipped: None, command: String::new() };
        let contenders = workload.contenders.iter().chain(guests);
        let entries = contenders.map(|contender| entry(contender.name)).collect();
        Comparison { workload, entries, load: String::new() }
    }

    pub(crate) fn note_command(&mut self, name: &str, command: &str) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.name == name) {
            command.clone_into(&mut entry.command);
        }
    }

    pub(crate) fn note_load(&mut self, command: &str) {
        command.clone_into(&mut self.load);
    }

    pub(crate) fn add(&mut self, name: &str, sample: Sample) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.name == name) {
            entry.samples.push(sample);
        }
    }

    pub(crate) fn skip(&mut self, name: &str, reason: String) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.name == name) {
            entry.skipped = Some(reason);
        }
    }

    pub(crate) fn skip_all(&mut self, reason: &str) {
        for entry in &mut self.entries {
            entry.skipped = Some(reason.to_owned());
        }
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name && !entry.samples.is_empty())
    }

    /// The contender that ratios refer to.
    fn base(&self) -> &'static str {
        self.workload.contenders.first().map_or("", |contender| contender.name)
    }

    /// Contenders that did not take part or failed.
    pub(crate) fn skipped_count(&self) -> usize {
        self.entries.iter().filter(|entry| entry.skipped.is_some()).count()
    }

    /// The ratios of two contenders in a metric.
    fn ratios(ours: &Entry, theirs: &Entry, metric: Metric) -> Ratios {
        let of_rounds: Vec<f64> = ours
            .values(metric)
            .iter()
            .zip(theirs.values(metric))
            .map(|(our, their)| our / their)
            .collect();
        Ratios {
            of_medians: ours.median(metric) / theirs.median(metric),
            of_rounds: median(&of_rounds),
            interval: interval(&of_rounds),
        }
    }

    /// The metrics of all contenders, in their fixed order.
    fn metrics(&self) -> Vec<Metric> {
        let samples = self.entries.iter().flat_map(|entry| &entry.samples);
        let mut metrics: Vec<Metric> = samples.flat_map(|sample| sample.keys().copied()).collect();
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }

    /// The table, its skipped contenders and its targets.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("({}) {}\n", self.workload.name, self.workload.title);
        text.push_str(&aligned(&self.rows()));
        for entry in self.entries.iter().filter(|entry| !entry.command.is_empty()) {
            text.push_str(&format!("  {}: {}\n", entry.name, entry.command));
        }
        if !self.load.is_empty() {
            text.push_str(&format!("  load: {}\n", self.load));
        }
        for entry in &self.entries {
            if let Some(reason) = &entry.skipped {
                text.push_str(&format!("  {} left out: {reason}\n", entry.name));
            }
        }
        for judgement in self.judgements() {
            let mark = match judgement.met {
                Some(true) => "met",
                Some(false) => "FALLS SHORT",
                None => "not measured",
            };
            text.push_str(&format!("  target: {}: {mark}\n", judgement.text));
        }
        text
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let main = self.workload.main_metric;
        let metrics = self.metrics();
        let others = metrics.into_iter().filter(|metric| *metric != main);
        let metrics: Vec<Metric> = [main].into_iter().chain(others).collect();
        let mut heading = vec!["contender".to_owned()];
        heading.extend(metrics.iter().map(|metric| metric.heading().to_owned()));
        heading.extend(["ratio", "of rounds", "95 % interval"].map(str::to_owned));
        let mut rows = vec![heading];
        for entry in self.entries.iter().filter(|entry| !entry.samples.is_empty()) {
            let mut row = vec![entry.name.to_owned()];
            row.extend(metrics.iter().map(|metric| match entry.median(*metric) {
                // This contender does not have the metric.
                median if median.is_nan() => "-".to_owned(),
                median => metric.show(median),
            }));
            if let Some(base) = self.entry(self.base()) {
                let ratios = Self::ratios(entry, base, main);
                row.extend(
                    [ratios.of_medians, ratios.of_rounds].map(|ratio| format!("{ratio:.3}")),
                );
                if entry.name != base.name {
                    row.push(ratios.interval_text());
                }
            }
            rows.push(row);
            let mut below = vec!["min-max".to_owned()];
            below.extend(metrics.iter().map(|metric| match entry.values(*metric).as_slice() {
                [] => "-".to_owned(),
                values => {
                    let (least, most) = spread(values);
                    format!("{}-{}", metric.show(least), metric.show(most))
                }
            }));
            rows.push(below);
        }
        rows
    }

    fn judgements(&self) -> Vec<Judgement> {
        self.workload.targets.iter().map(|target| self.judge(target)).collect()
    }

    fn judge(&self, target: &Target) -> Judgement {
        let heading = target.metric.heading();
        let what = match target.against {
            Against::Contender(name) => format!("{heading} against {name}"),
            Against::Above(name) => format!("{heading} above {name}"),
            Against::Itself => heading.to_owned(),
        };
        let (sign, bound) = match target.bound {
            Bound::AtMost(bound) => ("<=", bound),
            Bound::AtLeast(bound) => (">=", bound),
        };
        let value = self.value(target);
        let met = value.map(|value| match target.bound {
            Bound::AtMost(bound) => value <= bound,
            Bound::AtLeast(bound) => value >= bound,
        });
        let shown = value.map_or(String::new(), |value| format!(" is {value:.3}"));
        Judgement {
            text: format!("{what} {sign} {bound}{shown}"),
            met,
            value: value.unwrap_or(f64::NAN),
        }
    }

    /// Our value, or its ratio of medians, depending on the target.
    fn value(&self, target: &Target) -> Option<f64> {
        let ours = self.entry(OURS)?;
        match target.against {
            Against::Itself => Some(ours.median(target.metric)),
            Against::Above(name) => {
                let theirs = self.entry(name)?.median(target.metric);
                Some(ours.median(target.metric) - theirs)
            }
            Against::Contender(name) => {
                Some(Self::ratios(ours, self.entry(name)?, target.metric).of_medians)
            }
        }
    }

    /// Everything, with the numbers of each round.
    pub(crate) fn to_json(&self) -> Value {
        let judgements = self.judgements().into_iter().map(|judgement| {
            json!({ "target": judgement.text, "value": judgement.value, "met": judgement.met })
        });
        json!({
            "name": self.workload.name,
            "title": self.workload.title,
            "load": self.load,
            "contenders": self.entries.iter().map(|entry| self.entry_json(entry)).collect::<Vec<_>>(),
            "targets": judgements.collect::<Vec<_>>(),
        })
    }

    fn entry_json(&self, entry: &Entry) -> Value {
        let mut metrics = Map::new();
        for metric in self.metrics() {
            let values = entry.values(metric);
            let (least, most) = spread(&values);
            if !values.is_empty() {
                let numbers = json!({
                    "median": median(&values), "min": least, "max": most, "rounds": values,
                });
                metrics.insert(metric.key().to_owned(), numbers);
            }
        }
        let ratios = self.entry(self.base()).filter(|_| !entry.samples.is_empty()).map(|base| {
            let ratios = Self::ratios(entry, base, self.workload.main_metric);
            json!({
                "metric": self.workload.main_metric.key(),
                "of_medians": ratios.of_medians,
                "median_of_rounds": ratios.of_rounds,
                "interval_95": ratios.interval.map(|(low, high)| [low, high]),
            })
        });
        let mut value = json!({
            "name": entry.name,
            "command": entry.command,
            "left_out": entry.skipped,
            "metrics": metrics,
        });
        value[format!("ratio_to_{}", self.base())] = json!(ratios);
        value
    }
}

/// Rows as lines, each column as wide as its widest cell.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::workloads::workloads;

    /// Workload (a) with these microseconds per request in each round.
    fn outcome(floor: &[f64], ours: &[f64]) -> Comparison {
        let mut outcome = Comparison::new(workloads().next().expect("a workload"));
        for (name, values) in [("floor", floor), (OURS, ours)] {
            for value in values {
                let numbers = [(Metric::CpuMicros, *value), (Metric::UserMicros, 0.2)];
                outcome.add(name, Sample::from(numbers));
            }
        }
        outcome.skip("nginx", "not installed".to_owned());
        outcome
    }

    #[test]
    fn both_ratios_are_made_within_the_run() {
        let outcome = outcome(&[4.0, 5.0, 4.0], &[4.4, 5.0, 4.0]);
        let entry = |name| outcome.entry(name).expect("took part");
        let ratios = Comparison::ratios(entry(OURS), entry("floor"), Metric::CpuMicros);
        assert!((ratios.of_medians - 1.1).abs() < 1e-9);
        assert!((ratios.of_rounds - 1.0).abs() < 1e-9);
        assert_eq!(ratios.interval_text(), "too few rounds");
    }

    #[test]
    fn a_difference_that_may_be_none_is_said_to_be_none() {
        let same = outcome(&[4.0; 6], &[3.9, 4.1, 4.0, 3.9, 4.1, 4.0]).table();
        assert!(same.contains("0.975-1.025 not distinguishable"), "{same}");
        let worse = outcome(&[4.0; 6], &[4.4; 6]).table();
        assert!(worse.contains("1.100-1.100\n"), "{worse}");
    }

    #[test]
    fn targets_are_judged_and_the_missing_are_named() {
        let good = outcome(&[4.0], &[4.1]).table();
        assert!(good.contains("us/req against floor <= 1.03 is 1.025: met"), "{good}");
        assert!(good.contains("nginx left out: not installed"), "{good}");
        let bad = outcome(&[4.0], &[4.4]).table();
        assert!(bad.contains("is 1.100: FALLS SHORT"), "{bad}");
        let none = outcome(&[4.0], &[]).table();
        assert!(none.contains("<= 1.03: not measured"), "{none}");
    }

    #[test]
    fn every_number_has_its_spread_below_it_and_every_server_its_command() {
        let mut outcome = outcome(&[4.0, 5.0], &[4.1, 5.3]);
        outcome.note_command("floor", "floor 127.0.0.1:1 kept 27");
        outcome.note_load("wrk -t1");
        let table = outcome.table();
        let rows: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[4][..5], ["velodrome", "4.700", "0.20", "1.044", "1.042"], "{table}");
        assert_eq!(rows[5], ["min-max", "4.100-5.300", "0.20-0.20"], "{table}");
        assert!(table.contains("  floor: floor 127.0.0.1:1 kept 27\n  load: wrk -t1\n"), "{table}");
    }

    #[test]
    fn missing_figure_is_printed_as_dash() {
        let mut outcome = outcome(&[4.0], &[4.1]);
        outcome.add(OURS, Sample::from([(Metric::Errors, 0.0)]));
        let table = outcome.table();
        let floor = table.lines().find(|line| line.trim_start().starts_with("floor ")).unwrap();
        let cells: Vec<&str> = floor.split_whitespace().collect();
        assert_eq!(cells, ["floor", "4.000", "0.20", "-", "1.000", "1.000"], "{table}");
        assert!(!table.contains("inf") && !table.contains("NaN"), "{table}");
    }

    #[test]
    fn the_report_keeps_every_round() {
        let report = outcome(&[4.0, 5.0], &[4.1, 5.1]).to_json();
        let floor = &report["contenders"][0]["metrics"]["cpu_us_per_request"];
        assert_eq!(floor["rounds"], json!([4.0, 5.0]));
        assert_eq!(floor["median"], json!(4.5));
        assert_eq!(report["contenders"][2]["left_out"], json!("not installed"));
    }
}

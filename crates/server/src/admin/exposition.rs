//! The lines of the Prometheus text format, version 0.0.4.
//!
//! Owns how a metric and its values are written. Knows no metric.

use std::fmt::Write;

use metric::MetricKind;

/// Begins a metric.
pub(super) fn head(out: &mut String, name: &str, kind: MetricKind, help: &str) {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {}", word(kind))
        .expect("a String takes every text");
}

pub(super) fn word(kind: MetricKind) -> &'static str {
    match kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
    }
}

/// Writes one of its values.
pub(super) fn line(out: &mut String, name: &str, labels: &str, value: f64) {
    let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    writeln!(out, "{name}{braces} {value}").expect("a String takes every text");
}

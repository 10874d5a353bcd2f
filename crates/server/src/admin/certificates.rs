//! Certificates in the status and in the metrics: those that listeners show, and those that the server orders.
//!
//! Owns their JSON, and which numbers there are. Never reads a file.

use std::sync::Arc;

use acme::{CertificateStatus, UtcSecond};
use metric::MetricKind;
use serde_json::{Value, json};

use super::exposition::{head, line};
use crate::shown_certificate::{CertificateSource, ShownCertificate};
use crate::site_tls::SiteTls;

/// The certificates of the server, as the control scheduler was told last.
#[derive(Debug, Default)]
pub(super) struct Certificates {
    tls: Arc<SiteTls>,
    orders: Arc<[CertificateStatus]>,
    /// Why changed files are not used.
    refused: Option<String>,
}

impl Certificates {
    /// Listeners show other ones.
    pub(super) fn on_shown(&mut self, tls: Arc<SiteTls>) {
        self.tls = tls;
    }

    /// Changed files are not used, or all of them are.
    pub(super) fn on_refused(&mut self, why: Option<String>) {
        self.refused = why;
    }

    /// Why changed files are not used.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// The certificates that listeners show.
    pub(super) fn tls(&self) -> &SiteTls {
        &self.tls
    }

    /// Orders have gone on.
    pub(super) fn on_orders(&mut self, orders: Arc<[CertificateStatus]>) {
        self.orders = orders;
    }

    /// The certificates that listeners show, at this time in seconds since 1970.
    pub(super) fn shown(&self, now: u64) -> Vec<Value> {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let one = |shown: &ShownCertificate| {
            let (origin, file) = match shown.origin() {
                CertificateSource::File(path) => ("file", Some(path.display().to_string())),
                CertificateSource::Start => ("start", None),
                CertificateSource::Order => ("order", None),
            };
            json!({
                "names": shown.names(),
                "issuer": shown.certificate().issuer,
                "days_left": shown.days_left(now),
                "origin": origin,
                "file": file,
                "fingerprint": shown.certificate().fingerprint_text(),
                "problems": shown.problems(now),
            })
        };
        self.tls.shown().iter().map(one).collect()
    }

    /// The certificates that the server orders, at this time.
    pub(super) fn orders(&self, now: u64) -> Vec<Value> {
        let now = UtcSecond::from_unix(i64::try_from(now).unwrap_or(i64::MAX));
        let one = |order: &CertificateStatus| {
            json!({
                "names": order.names.to_string(),
                "summary": summary(order, now),
                "days_left": order.days_left(now),
                "issuer": order.issuer,
                "next_attempt": order.next_attempt.map(|at| at.to_string()),
                "limit": order.limit.map(|limit| limit.to_string()),
                "failures": order.failures,
                "last_error": order.state_error.as_ref().or(order.last_error.as_ref()),
            })
        };
        self.orders.iter().map(one).collect()
    }

    /// Writes their metrics. Times are in seconds since 1970, as Prometheus has them.
    pub(super) fn write(&self, out: &mut String) {
        let one = |shown: &ShownCertificate| {
            let names = shown.names().join(",");
            let fingerprint = shown.certificate().fingerprint_text();
            let labels = format!("names=\"{names}\",fingerprint=\"{fingerprint}\"");
            (labels, shown.certificate().not_after as f64)
        };
        gauge(
            out,
            "velodrome_certificate_not_after_seconds",
            "When a certificate of a listener ends, in seconds since 1970.",
            self.tls.shown().iter().map(one),
        );
        let labels = |order: &CertificateStatus| format!("names=\"{}\"", order.names);
        gauge(
            out,
            "velodrome_certificate_order_failures",
            "Attempts to get a certificate that have failed since the last success.",
            self.orders.iter().map(|order| (labels(order), f64::from(order.failures))),
        );
        let next = |order: &CertificateStatus| {
            order.next_attempt.map(|at| (labels(order), at.unix() as f64))
        };
        gauge(
            out,
            "velodrome_certificate_next_order_seconds",
            "When a certificate is ordered next, in seconds since 1970.",
            self.orders.iter().filter_map(next),
        );
    }
}

/// The state of an order in one line.
fn summary(order: &CertificateStatus, now: UtcSecond) -> String {
    let mut line = format!("{}: ", order.names);
    line += &match order.not_after {
        Some(end) => tls::time_left(end.unix(), now.unix()),
        None => "no certificate yet".to_owned(),
    };
    if let (Some(_), Some(issuer)) = (order.not_after, &order.issuer) {
        line += &format!(", from {issuer}");
    }
    match (order.next_attempt, &order.state_error) {
        (Some(at), _) => line += &format!("; next attempt {at}"),
        (None, Some(error)) => line += &format!("; nothing is ordered: {error}"),
        (None, None) => line += "; another server orders",
    }
    if let Some(limit) = order.limit {
        line += &format!(", because authorities have a limit: {limit}");
    }
    if let Some(error) = &order.last_error {
        line += &format!("; last error: {error}");
    }
    line
}

fn gauge(out: &mut String, name: &str, help: &str, values: impl Iterator<Item = (String, f64)>) {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return;
    }
    head(out, name, MetricKind::Gauge, help);
    for (labels, value) in values {
        line(out, name, &labels, value);
    }
}

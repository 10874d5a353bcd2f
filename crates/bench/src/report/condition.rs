//! Conditions under which a measurement counts as failed: `p99>5ms`, `failed>1%`, `rate<10k`.
//!
//! Owns their notation, and which figure each is compared with. Never changes the verdict: a valid result may fail.

use std::str::FromStr;
use std::time::Duration;

use crate::plan::Ramp;
use crate::report::figures::{duration, percent, rate};
use crate::report::percentile::Percentile;
use crate::report::schema::{ConditionReport, Report};

/// A condition under which a measurement fails.
#[derive(Clone, Debug, PartialEq)]
pub struct FailCondition {
    text: String,
    figure: Figure,
    is: Than,
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// Response times.
    Time(Percentile),
    /// Answered requests a second.
    Rate,
    /// The share of outcomes that are failures.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Than {
    More,
    Less,
}

/// A text that is not a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no condition; write a percentile with a time as 'p99>5ms' (p50, p90, p95, p99, \
     p99.9, p99.99, max), 'failed>1%' or 'rate<10k'"
)]
pub struct NoCondition(String);

impl FailCondition {
    /// Parses a condition; `time` parses a duration.
    ///
    /// # Errors
    /// If it is not a condition.
    pub fn read(text: &str, time: impl Fn(&str) -> Option<Duration>) -> Result<Self, NoCondition> {
        let wrong = || NoCondition(text.to_owned());
        let place = text.find(['>', '<']).ok_or_else(wrong)?;
        let is = if text.as_bytes()[place] == b'>' { Than::More } else { Than::Less };
        let (name, bound) = (text[..place].trim(), text[place + 1..].trim());
        let (figure, bound) = match name {
            "rate" => (
                Figure::Rate,
                Ramp::from_str(bound).ok().filter(Ramp::is_steady).map(|rate| rate.from),
            ),
            "failed" => (Figure::Failed, bound.strip_suffix('%').and_then(share)),
            name => {
                let percentile = name.parse().map_err(|_| wrong())?;
                (Figure::Time(percentile), time(bound).map(|time| time.as_nanos() as f64))
            }
        };
        Ok(Self { text: text.to_owned(), figure, is, bound: bound.ok_or_else(wrong)? })
    }

    /// Evaluates it for a report.
    pub fn judge(&self, report: &Report) -> ConditionReport {
        let summary = report.summary.as_ref();
        let measured = match self.figure {
            Figure::Rate => summary.map(|summary| summary.rate_per_s.median),
            Figure::Time(percentile) => {
                summary.map(|summary| percentile.of_summary(&summary.response).median)
            }
            Figure::Failed => failed_share(report),
        };
        let met = measured.is_none_or(|measured| match self.is {
            Than::More => measured > self.bound,
            Than::Less => measured < self.bound,
        });
        ConditionReport { condition: self.text.clone(), measured, met, text: self.told(measured) }
    }

    fn told(&self, measured: Option<f64>) -> String {
        match (measured, self.figure) {
            (None, _) => "nothing was measured".to_owned(),
            (Some(measured), Figure::Time(percentile)) => {
                format!("the {percentile} of the response times is {}", duration(measured))
            }
            (Some(measured), Figure::Rate) => {
                format!("{} requests/s were answered", rate(measured))
            }
            (Some(measured), Figure::Failed) => {
                format!("{} of the requests failed", percent(measured))
            }
        }
    }
}

/// A percentage as a share.
fn share(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse::<f64>().ok().filter(|_| is_plain).map(|percent| percent / 100.0)
}

fn failed_share(report: &Report) -> Option<f64> {
    let sum = |of: fn(&crate::report::Requests) -> u64| {
        report.runs.iter().map(|run| of(&run.requests)).sum::<u64>()
    };
    let (answered, failed) = (sum(|requests| requests.answered), sum(|requests| requests.failed));
    (answered + failed > 0).then(|| failed as f64 / (answered + failed) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(text: &str) -> Option<Duration> {
        text.strip_suffix("ms")?.parse().ok().map(Duration::from_millis)
    }

    #[test]
    fn conditions_are_read() {
        let read = |text| FailCondition::read(text, milliseconds).unwrap();
        let time = read("p99.9 > 5ms");
        assert_eq!(
            (time.figure, time.is, time.bound),
            (Figure::Time(Percentile::P999), Than::More, 5e6)
        );
        let failed = read("failed>0.5%");
        assert_eq!((failed.figure, failed.bound), (Figure::Failed, 0.005));
        let rate = read("rate<10k");
        assert_eq!((rate.figure, rate.is, rate.bound), (Figure::Rate, Than::Less, 10_000.0));
    }

    #[test]
    fn invalid_condition_is_refused() {
        for text in
            ["", "p99", "p98>5ms", "p99>5", "failed>1", "failed>x%", "rate<1k:2k", "rate>", ">5ms"]
        {
            assert!(FailCondition::read(text, milliseconds).is_err(), "{text}");
        }
    }
}

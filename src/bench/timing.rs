//! Rate and duration: `--rate` and `-d`.
//!
//! Owns the notation of stages, `A:B@TIME,...`; the library parses a single rate.

use std::str::FromStr;
use std::time::Duration;

use bench::plan::{Arrivals, Ramp, RateStage, RequestPace, RequestRate};

use crate::Failure;
use crate::duration::duration;

/// When requests are due, and for how long.
pub(crate) struct Timing {
    pub(crate) pace: RequestPace,
    pub(crate) duration: Duration,
}

impl Timing {
    /// Combines `--rate` and `-d`; `otherwise` is the duration if neither sets one.
    pub(crate) fn of(
        rate: Option<&RateFlag>,
        arrivals: Arrivals,
        duration: Option<Duration>,
        otherwise: Duration,
    ) -> Result<Self, Failure> {
        let lasts = rate.and_then(RateFlag::lasts);
        if lasts.is_some() && duration.is_some() {
            let text = "-d: the stages of --rate have times; leave -d out, or their times";
            return Err(Failure::WrongUse(text.to_owned()));
        }
        let duration = lasts.or(duration).unwrap_or(otherwise);
        let open = |rate: &RateFlag| {
            RequestPace::Open(RequestRate { stages: rate.stages(duration), arrivals })
        };
        Ok(Self { pace: rate.map_or(RequestPace::Closed, open), duration })
    }
}

/// The value of `--rate`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RateFlag {
    /// A rate or a ramp over the whole run.
    Whole(Ramp),
    /// Consecutive stages, which together are the run.
    Stages(Vec<RateStage>),
}

impl RateFlag {
    /// The total duration of the stages; `None` if `-d` sets it.
    pub(crate) fn lasts(&self) -> Option<Duration> {
        match self {
            Self::Whole(_) => None,
            // Each lasts days at most, and their number is limited by the command line.
            Self::Stages(stages) => Some(stages.iter().map(|stage| stage.lasts).sum()),
        }
    }

    /// The rate of one of several generators, each with the same.
    pub(crate) fn shared(&self, generators: u32) -> Self {
        let of = |ramp: &Ramp| {
            let generators = f64::from(generators.max(1));
            Ramp { from: ramp.from / generators, to: ramp.to / generators }
        };
        let stage = |stage: &RateStage| RateStage { ramp: of(&stage.ramp), ..*stage };
        match self {
            Self::Whole(ramp) => Self::Whole(of(ramp)),
            Self::Stages(stages) => Self::Stages(stages.iter().map(stage).collect()),
        }
    }

    /// The stages of a run of this duration.
    pub(crate) fn stages(&self, lasts: Duration) -> Vec<RateStage> {
        match self {
            Self::Whole(ramp) => vec![RateStage { ramp: *ramp, lasts }],
            Self::Stages(stages) => stages.clone(),
        }
    }
}

/// `R`, `A:B`, or stages: `A:B@TIME,R@TIME,...`.
impl FromStr for RateFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains([',', '@']) {
            return ramp(text).map(Self::Whole);
        }
        text.split(',').map(stage).collect::<Result<_, _>>().map(Self::Stages)
    }
}

fn ramp(text: &str) -> Result<Ramp, String> {
    text.parse().map_err(|error: bench::plan::RateError| error.to_string())
}

fn stage(text: &str) -> Result<RateStage, String> {
    let (rate, lasts) = text
        .split_once('@')
        .ok_or_else(|| format!("the stage `{text}` has no time; write 0:5k@30s,5k@60s"))?;
    let ramp = ramp(rate)?;
    let lasts = duration(lasts).map_err(|error| format!("the stage `{text}`: {error}"))?;
    if lasts.is_zero() {
        return Err(format!("the stage `{text}` lasts no time; leave it out"));
    }
    Ok(RateStage { ramp, lasts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RateFlag {
        text.parse().unwrap()
    }

    #[test]
    fn stages_have_times_and_a_single_rate_has_none() {
        let whole = read("100:200");
        assert_eq!(whole.lasts(), None);
        let ten_s = Duration::from_secs(10);
        let ramp = Ramp { from: 100.0, to: 200.0 };
        assert_eq!(whole.stages(ten_s), [RateStage { ramp, lasts: ten_s }]);

        let stages = read("0:5k@30s,5k@1m,0@500ms");
        assert_eq!(stages.lasts(), Some(Duration::from_millis(90_500)));
        let told: Vec<_> = stages
            .stages(ten_s)
            .iter()
            .map(|stage| (stage.ramp.from, stage.ramp.to, stage.lasts.as_millis()))
            .collect();
        let expected = [(0.0, 5e3, 30_000), (5e3, 5e3, 60_000), (0.0, 0.0, 500)];
        assert_eq!(told, expected);
        for (text, millis) in [("5k@30", 30_000), ("5k@0.2", 200), ("5k@1.5m", 90_000)] {
            assert_eq!(read(text).lasts(), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn a_wrong_stage_is_named() {
        for (text, part) in [
            ("5k@30s,6k", "`6k` has no time"),
            ("5k@30s,", "`` has no time"),
            ("5k@", "`5k@`"),
            ("5k@10x", "`5k@10x`"),
            ("5k@0s", "lasts no time"),
            ("x@1s", "`x` is not a number"),
            ("1@1s@2s", "`1@1s@2s`"),
        ] {
            let error = text.parse::<RateFlag>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

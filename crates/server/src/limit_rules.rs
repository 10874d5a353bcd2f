//! From `[[limit]]` to the limits as they are counted.
//!
//! Owns the translation. Counts nothing.

use std::sync::Arc;

use config::{Config, LimitRate, LimitRule, Measure};
use quota::{Limit, QuotaPace, Rule};

/// The limits of clients, in the order of the configuration.
pub(crate) fn limits_of(config: &Config) -> Arc<[Limit]> {
    config.quotas.iter().map(limit_of).collect()
}

fn limit_of(quota: &LimitRule) -> Limit {
    let rule = match quota.measure {
        Measure::Requests(rate) => Rule::Uses(pace_of(rate)),
        Measure::Bytes(rate) => Rule::Amounts(pace_of(rate)),
        Measure::Open(most) => Rule::Open(most),
    };
    Limit { name: (*quota.name).into(), rule, patience: quota.delay }
}

fn pace_of(rate: LimitRate) -> QuotaPace {
    QuotaPace { units: rate.units, window: rate.window, burst: rate.burst() }
}

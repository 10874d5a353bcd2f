//! `[[limit]]`: how often, how much and how many at once, by client.
//!
//! Owns the keys of that section. Never counts.

use std::time::Duration;

use super::choice::choice;
use super::item::Item;
use super::key::{Absent, ChangeEffect, ConfigKey, SectionKeys, Value, show_duration, show_size};
use super::limit_rate::{LimitRate, rate_of_bytes, rate_of_requests};
use super::quantity::spoken_size;
use super::section::Section;
use super::value::{borrowed_text, cannot_be, duration_within, size, whole, word};
use super::{Config, Method, PathGlob, Problems};
use crate::limits;

/// One `[[limit]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitRule {
    /// Its name, for pages, metrics and fields of answers.
    pub name: String,
    /// The key that tells clients apart; each client has the limit for itself.
    pub by: QuotaKey,
    /// What is limited.
    pub measure: Measure,
    /// How long a request may wait instead of being refused.
    pub delay: Duration,
    /// The paths whose requests count; empty for all.
    pub paths: Vec<PathGlob>,
    /// The methods whose requests count; empty for all.
    pub methods: Vec<Method>,
}

/// The key of a client, as `by` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuotaKey {
    /// The address; of IPv6 its first 64 bits.
    Address,
    /// The user whom `access` has let in; those without one share theirs.
    User,
    /// The path, for all clients together.
    Path,
    /// The value of a header field, whose name is in lower case. Those without one are told apart by address.
    Field(String),
    /// The value of a cookie. Those without one are told apart by address.
    Cookie(String),
    /// A key that pages name; no request counts by itself.
    Pages,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Requests.
    Requests(LimitRate),
    /// Bytes of bodies in both directions.
    Bytes(LimitRate),
    /// Requests that are not answered yet.
    Open(u64),
}

const BY: [(&str, QuotaKey); 4] = [
    ("address", QuotaKey::Address),
    ("user", QuotaKey::User),
    ("path", QuotaKey::Path),
    ("pages", QuotaKey::Pages),
];

pub(super) static QUOTA: SectionKeys = SectionKeys {
    name: "[[limit]]",
    own: &[
        ConfigKey {
            name: "name",
            value: Value::Apart { takes: "text" },
            absent: Absent::Words("must be given"),
            change: ChangeEffect::Reload,
            text: "Its name in metrics, in the fields of refusals, and for `limit.take` of [pages](pages.md#limits-of-clients). What was used stays known over a reload as long as the name stays.",
        },
        ConfigKey {
            name: "by",
            value: Value::Apart {
                takes: "`\"address\"`, `\"user\"`, `\"path\"`, `\"pages\"`, `\"field:NAME\"` or \
                        `\"cookie:NAME\"`",
            },
            absent: Absent::Words("`\"address\"`"),
            change: ChangeEffect::Reload,
            text: "What tells clients apart. Of an IPv6 address its first 64 bits count. Clients without the field or cookie are told apart by address; a client can invent as many values as it wants, so use them only for values that something else checks. `\"pages\"`: only `limit.take` uses it.",
        },
        ConfigKey {
            name: "requests",
            value: Value::Own {
                takes: "rate such as `\"10/s\"`, `\"100/m\"`, `\"1000/h\"` or `\"5/d\"`",
                read: |config, item, _| {
                    set_measure(config, Measure::Requests(rate_of_requests(item)?));
                    Ok(())
                },
                show: |config| match first(config)?.measure {
                    Measure::Requests(rate) => Some(rate.show(rate.units)),
                    Measure::Bytes(_) | Measure::Open(_) => None,
                },
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Live,
            text: "Limits requests.",
        },
        ConfigKey {
            name: "bytes",
            value: Value::Own {
                takes: "rate such as `\"1 MiB/s\"` or `\"1 GiB/h\"`",
                read: |config, item, _| {
                    set_measure(config, Measure::Bytes(rate_of_bytes(item)?));
                    Ok(())
                },
                show: |config| match first(config)?.measure {
                    Measure::Bytes(rate) => Some(rate.show(spoken_size(rate.units))),
                    Measure::Requests(_) | Measure::Open(_) => None,
                },
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Live,
            text: "Limits bytes of bodies, in both directions together. They are counted at the end of a request, whatever that end is; a client that has used more than the burst is refused until that much time has passed.",
        },
        ConfigKey {
            name: "open",
            value: Value::Own {
                takes: "whole number, 1 to 1000000",
                read: |config, item, _| {
                    set_measure(config, Measure::Open(open(item)?));
                    Ok(())
                },
                show: |config| match first(config)?.measure {
                    Measure::Open(most) => Some(most.to_string()),
                    Measure::Requests(_) | Measure::Bytes(_) => None,
                },
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Live,
            text: "Limits requests that are not answered yet.",
        },
        ConfigKey {
            name: "burst",
            value: Value::Own {
                takes: "whole number; a size with `bytes`",
                read: |config, item, _| {
                    match config.quotas.first_mut().map(|limit| &mut limit.measure) {
                        Some(Measure::Requests(rate)) => {
                            rate.configured_burst = Some(burst_of_requests(item)?);
                        }
                        Some(Measure::Bytes(rate)) => rate.configured_burst = Some(size(item)?),
                        Some(Measure::Open(_)) | None => {}
                    }
                    Ok(())
                },
                show: |config| match first(config)?.measure {
                    Measure::Requests(rate) => Some(rate.burst().to_string()),
                    Measure::Bytes(rate) => Some(show_size(rate.burst())),
                    Measure::Open(_) => None,
                },
            },
            absent: Absent::Words("the rate's amount of one second, at least 1"),
            change: ChangeEffect::Live,
            text: "How many are allowed at once.",
        },
        ConfigKey {
            name: "delay",
            value: Value::Own {
                takes: "duration, up to 10 seconds",
                read: |config, item, _| {
                    let delay = delay(item)?;
                    if let Some(limit) = config.quotas.first_mut() {
                        limit.delay = delay;
                    }
                    Ok(())
                },
                show: |config| match first(config)? {
                    LimitRule { measure: Measure::Requests(_), delay, .. } => {
                        Some(show_duration(*delay))
                    }
                    _ => None,
                },
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Live,
            text: "A request that is too early waits for so long at most instead of being refused. Only with `requests`.",
        },
        ConfigKey {
            name: "paths",
            value: Value::Apart { takes: "list of patterns" },
            absent: Absent::Words("all"),
            change: ChangeEffect::Reload,
            text: "The paths whose requests count, as in `glob` of a [route](#route).",
        },
        ConfigKey {
            name: "methods",
            value: Value::Apart { takes: "list of methods" },
            absent: Absent::Words("all"),
            change: ChangeEffect::Reload,
            text: "The methods whose requests count.",
        },
    ],
    shared: &[],
    shared_in: "",
};

/// The limit that is set or shown while the server runs: the rows refer to a configuration, of which only the first is
/// used. Those of a file are read apart, because their keys depend on each other.
fn first(config: &Config) -> Option<&LimitRule> {
    config.quotas.first()
}

/// Sets the quantity and its number. A burst that is configured stays.
fn set_measure(config: &mut Config, mut measure: Measure) {
    let Some(limit) = config.quotas.first_mut() else { return };
    let before = match limit.measure {
        Measure::Requests(rate) | Measure::Bytes(rate) => rate.configured_burst,
        Measure::Open(_) => None,
    };
    if let Measure::Requests(rate) | Measure::Bytes(rate) = &mut measure {
        rate.configured_burst = before;
    }
    limit.measure = measure;
}

/// Reads every `[[limit]]`.
pub(super) fn read_all(top: &Section<'_>, problems: &mut Problems) -> Vec<LimitRule> {
    let sections = top.sections("limit", &QUOTA, problems);
    if let Some(section) = sections.get(limits::QUOTAS_MAX) {
        let most = limits::QUOTAS_MAX;
        problems.at(section.offset, format!("there are more than {most} [[limit]]"));
    }
    let mut quotas: Vec<LimitRule> = Vec::new();
    for section in &sections {
        let Some(quota) = read(section, problems) else { continue };
        if quotas.iter().any(|known| known.name == quota.name) {
            problems
                .at(section.offset, format!("another [[limit]] has the name \"{}\"", quota.name));
        }
        quotas.push(quota);
    }
    quotas
}

fn read(section: &Section<'_>, problems: &mut Problems) -> Option<LimitRule> {
    let before = problems.len();
    if !section.has("name") {
        problems.at(section.offset, "[[limit]] has no `name`");
    }
    let name = section.read("name", problems, name);
    let by = section.read("by", problems, key).unwrap_or(QuotaKey::Address);
    let measure = measure(section, problems);
    let delay = section.read("delay", problems, delay).unwrap_or_default();
    if let (Some(item), false) = (section.item("delay"), section.has("requests")) {
        problems.at(item.key_offset, "`delay` is for `requests` only");
    }
    let words = Method::ALL.map(|method| (method.as_str(), method));
    let methods =
        section.list("methods", problems, |item| choice(item, &words)).unwrap_or_default();
    let paths = section.list("paths", problems, glob).unwrap_or_default();
    let (name, measure) = (name?, measure?);
    (problems.len() == before).then_some(LimitRule { name, by, measure, delay, paths, methods })
}

/// A name that can be within quotes of a header field.
fn name(item: &Item<'_>) -> Result<String, String> {
    let name = word(item)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.bytes().all(is_plain) && name.len() <= limits::QUOTA_NAME_SIZE {
        return Ok(name);
    }
    let most = limits::QUOTA_NAME_SIZE;
    Err(cannot_be(item, &name, &format!("use letters, digits, `-`, `_` and `.`, at most {most}")))
}

fn key(item: &Item<'_>) -> Result<QuotaKey, String> {
    let text = borrowed_text(item, "a text in quotes such as \"address\"")?;
    let named = |kind: &str| {
        let name = text.strip_prefix(kind)?.strip_prefix(':')?;
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        (!name.is_empty() && name.bytes().all(is_token)).then(|| name.to_owned())
    };
    if let Some(name) = named("field") {
        return Ok(QuotaKey::Field(name.to_ascii_lowercase()));
    }
    if let Some(name) = named("cookie") {
        return Ok(QuotaKey::Cookie(name));
    }
    let known = BY.into_iter().find(|(word, _)| *word == text).map(|(_, key)| key);
    known.ok_or_else(|| {
        let why =
            "write \"address\", \"user\", \"path\", \"pages\", \"field:NAME\" or \"cookie:NAME\"";
        cannot_be(item, text, why)
    })
}

fn measure(section: &Section<'_>, problems: &mut Problems) -> Option<Measure> {
    let mut read = [None; 3];
    if section.has("requests") {
        let rate = section.read("requests", problems, rate_of_requests);
        read[0] = with_burst(section, rate, problems, burst_of_requests).map(Measure::Requests);
    }
    if section.has("bytes") {
        let rate = section.read("bytes", problems, rate_of_bytes);
        read[1] = with_burst(section, rate, problems, size).map(Measure::Bytes);
    }
    if section.has("open") {
        read[2] = section.read("open", problems, open).map(Measure::Open);
        if let Some(item) = section.item("burst") {
            problems.at(item.key_offset, "`burst` beside `open` has no effect");
        }
    }
    let keys = ["requests", "bytes", "open"].iter().filter(|key| section.has(key)).count();
    if keys != 1 {
        let why = "[[limit]] needs one of `requests`, `bytes` and `open`";
        problems.at(section.offset, why);
    }
    read.into_iter().flatten().next()
}

fn with_burst(
    section: &Section<'_>,
    rate: Option<LimitRate>,
    problems: &mut Problems,
    burst: impl FnOnce(&Item<'_>) -> Result<u64, String>,
) -> Option<LimitRate> {
    let burst = section.read("burst", problems, burst);
    rate.map(|rate| LimitRate { configured_burst: burst, ..rate })
}

fn burst_of_requests(item: &Item<'_>) -> Result<u64, String> {
    whole(item, 1..=limits::QUOTA_UNITS_MAX)
}

fn open(item: &Item<'_>) -> Result<u64, String> {
    whole(item, 1..=limits::QUOTA_OPEN_MAX)
}

fn delay(item: &Item<'_>) -> Result<Duration, String> {
    duration_within(item, Duration::ZERO..=limits::QUOTA_DELAY_MAX)
}

fn glob(item: &Item<'_>) -> Result<PathGlob, String> {
    let text = borrowed_text(item, "a pattern in quotes such as \"/login\"")?;
    PathGlob::parse(text).map_err(|error| cannot_be(item, text, &error.to_string()))
}

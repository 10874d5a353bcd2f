//! `[[limit]]`: how often, how much and how many at once, by client.
//!
//! Owns the keys of that section. Never counts.

use std::time::Duration;

use wire::http::method::Method;

use crate::choice::choice;
use crate::glob::PathGlob;
use crate::item::Item;
use crate::key::{Reading, SectionKeys, section, show_duration, show_size};
use crate::limit_rate::{rate_of_bytes, rate_of_requests};
use crate::limits;
use crate::model::config::Config;
use crate::model::quotas::{LimitRate, LimitRule, Measure, QuotaKey};
use crate::problem::Problems;
use crate::quantity::spoken_size;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be, duration_within, size, whole, word};

const BY: [(&str, QuotaKey); 4] = [
    ("address", QuotaKey::Address),
    ("user", QuotaKey::User),
    ("path", QuotaKey::Path),
    ("pages", QuotaKey::Pages),
];

pub(super) static QUOTA: SectionKeys = section! {
    "[[limit]]";
    "name": apart("text"), "must be given", Reload,
        "Its name in metrics, in the fields of refusals, and for `limit.take` of [pages](pages.md#limits-of-clients). What was used stays known over a reload as long as the name stays.";
    "by": apart("`\"address\"`, `\"user\"`, `\"path\"`, `\"pages\"`, `\"field:NAME\"` or \
                        `\"cookie:NAME\"`"), "`\"address\"`", Reload,
        "What tells clients apart. Of an IPv6 address its first 64 bits count. Clients without the field or cookie are told apart by address; a client can invent as many values as it wants, so use them only for values that something else checks. `\"pages\"`: only `limit.take` uses it.";
    "requests": own("rate such as `\"10/s\"`, `\"100/m\"`, `\"1000/h\"` or `\"5/d\"`", set_requests, show_requests), "none", Live,
        "Limits requests.";
    "bytes": own("rate such as `\"1 MiB/s\"` or `\"1 GiB/h\"`", set_bytes, show_bytes), "none", Live,
        "Limits bytes of bodies, in both directions together. They are counted at the end of a request, whatever that end is; a client that has used more than the burst is refused until that much time has passed.";
    "open": own("whole number, 1 to 1000000", set_open, show_open), "none", Live,
        "Limits requests that are not answered yet.";
    "burst": own("whole number; a size with `bytes`", set_burst, show_burst), "the rate's amount of one second, at least 1", Live,
        "How many are allowed at once.";
    "delay": own("duration, up to 10 seconds", set_delay, show_delay), "none", Live,
        "A request that is too early waits for so long at most instead of being refused. Only with `requests`.";
    "paths": apart("list of patterns"), "all", Reload,
        "The paths whose requests count, as in `glob` of a [route](#route).";
    "methods": apart("list of methods"), "all", Reload,
        "The methods whose requests count.";
};

/// The limit that is set or shown while the server runs: the rows refer to a configuration, of which only the first is
/// used. Those of a file are read apart, because their keys depend on each other.
fn first(config: &mut Config) -> Option<&mut LimitRule> {
    config.quotas.first_mut()
}

/// Sets the quantity and its number. A burst that is configured stays.
fn set_measure(config: &mut Config, mut measure: Measure) {
    let Some(limit) = first(config) else { return };
    let before = match limit.measure {
        Measure::Requests(rate) | Measure::Bytes(rate) => rate.configured_burst,
        Measure::Open(_) => None,
    };
    if let Measure::Requests(rate) | Measure::Bytes(rate) = &mut measure {
        rate.configured_burst = before;
    }
    limit.measure = measure;
}

type Outcome = Result<(), String>;

fn set_requests(config: &mut Config, item: &Item<'_>, _: &mut Reading<'_>) -> Outcome {
    set_measure(config, Measure::Requests(rate_of_requests(item)?));
    Ok(())
}

fn show_requests(config: &mut Config) -> Option<String> {
    match first(config)?.measure {
        Measure::Requests(rate) => Some(rate.show(rate.units)),
        Measure::Bytes(_) | Measure::Open(_) => None,
    }
}

fn set_bytes(config: &mut Config, item: &Item<'_>, _: &mut Reading<'_>) -> Outcome {
    set_measure(config, Measure::Bytes(rate_of_bytes(item)?));
    Ok(())
}

fn show_bytes(config: &mut Config) -> Option<String> {
    match first(config)?.measure {
        Measure::Bytes(rate) => Some(rate.show(spoken_size(rate.units))),
        Measure::Requests(_) | Measure::Open(_) => None,
    }
}

fn set_open(config: &mut Config, item: &Item<'_>, _: &mut Reading<'_>) -> Outcome {
    set_measure(config, Measure::Open(open(item)?));
    Ok(())
}

fn show_open(config: &mut Config) -> Option<String> {
    match first(config)?.measure {
        Measure::Open(most) => Some(most.to_string()),
        Measure::Requests(_) | Measure::Bytes(_) => None,
    }
}

fn set_burst(config: &mut Config, item: &Item<'_>, _: &mut Reading<'_>) -> Outcome {
    match first(config).map(|limit| &mut limit.measure) {
        Some(Measure::Requests(rate)) => rate.configured_burst = Some(burst_of_requests(item)?),
        Some(Measure::Bytes(rate)) => rate.configured_burst = Some(size(item)?),
        Some(Measure::Open(_)) | None => {}
    }
    Ok(())
}

fn show_burst(config: &mut Config) -> Option<String> {
    match first(config)?.measure {
        Measure::Requests(rate) => Some(rate.burst().to_string()),
        Measure::Bytes(rate) => Some(show_size(rate.burst())),
        Measure::Open(_) => None,
    }
}

fn set_delay(config: &mut Config, item: &Item<'_>, _: &mut Reading<'_>) -> Outcome {
    let delay = delay(item)?;
    if let Some(limit) = first(config) {
        limit.delay = delay;
    }
    Ok(())
}

fn show_delay(config: &mut Config) -> Option<String> {
    let LimitRule { measure: Measure::Requests(_), delay, .. } = first(config)? else {
        return None;
    };
    Some(show_duration(*delay))
}

pub(super) fn read_all(top: &Section<'_>, problems: &mut Problems) -> Vec<LimitRule> {
    let sections = top.sections("limit", &QUOTA, problems);
    if let Some(section) = sections.get(limits::QUOTAS_MAX) {
        let most = limits::QUOTAS_MAX;
        problems.at(section.offset(), format!("there are more than {most} [[limit]]"));
    }
    let mut quotas: Vec<LimitRule> = Vec::new();
    for section in &sections {
        let Some(quota) = read(section, problems) else { continue };
        if quotas.iter().any(|known| known.name == quota.name) {
            problems
                .at(section.offset(), format!("another [[limit]] has the name \"{}\"", quota.name));
        }
        quotas.push(quota);
    }
    quotas
}

fn read(section: &Section<'_>, problems: &mut Problems) -> Option<LimitRule> {
    let before = problems.len();
    if !section.has("name") {
        problems.at(section.offset(), "[[limit]] has no `name`");
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
    check_reach(section, &by, problems);
    let (name, measure) = (name?, measure?);
    (problems.len() == before).then_some(LimitRule { name, by, measure, delay, paths, methods })
}

/// What a limit does not count says nothing of it.
fn check_reach(section: &Section<'_>, by: &QuotaKey, problems: &mut Problems) {
    for key in ["paths", "methods"] {
        if let (Some(item), true) = (section.item(key), section.is_empty_list(key)) {
            problems.at(item.offset, format!("`{key}` is empty; leave it out for all {key}"));
        }
    }
    if *by != QuotaKey::Pages {
        return;
    }
    for item in
        ["open", "delay", "paths", "methods"].into_iter().filter_map(|key| section.item(key))
    {
        let why = "beside by = \"pages\" has no effect: only `limit.take` uses it";
        problems.at(item.key_offset, format!("`{}` {why}", item.key));
    }
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
        problems.at(section.offset(), why);
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

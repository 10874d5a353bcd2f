//! `[trace]`: a collector that is told of a part of the requests.
//!
//! Owns the keys of that section. Sends nothing.

use wire::http::url::{Origin, Scheme};

use crate::item::Item;
use crate::key::{SectionKeys, section, show_text};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be, word};

/// All requests.
const MILLION: u32 = 1_000_000;

fn collector(item: &Item<'_>) -> Result<String, String> {
    let example = "a URL in quotes such as \"http://127.0.0.1:4318\"";
    let text = borrowed_text(item, example)?;
    match Origin::parse(text.trim_end_matches('/').as_bytes()) {
        Some(origin) if origin.scheme == Scheme::Http => Ok(text.trim_end_matches('/').to_owned()),
        Some(_) => {
            let why = "spans are sent without encryption, to a collector on this host or behind a tunnel: \
                       write http://";
            Err(cannot_be(item, text, why))
        }
        None => Err(cannot_be(item, text, &format!("write {example}"))),
    }
}

fn part(item: &Item<'_>) -> Result<u32, String> {
    let example = "a part in quotes such as \"1 %\"";
    let text = borrowed_text(item, example)?;
    let number =
        text.strip_suffix('%').map(str::trim).and_then(|number| number.parse::<f64>().ok());
    match number.filter(|percent| (0.0..=100.0).contains(percent)) {
        Some(percent) => Ok((percent * f64::from(MILLION / 100)).round() as u32),
        None => Err(cannot_be(item, text, "write \"0 %\" to \"100 %\"")),
    }
}

fn show_part(per_million: u32) -> String {
    show_text(format_args!("{} %", f64::from(per_million) / f64::from(MILLION / 100)))
}

/// Refuses the settings of spans where no collector gets any.
pub(super) fn check_collector(section: &Section<'_>, problems: &mut Problems) {
    let idle = ["sample", "service"].into_iter().filter(|_| !section.has("otlp"));
    for (key, item) in idle.filter_map(|key| section.item(key).map(|item| (key, item))) {
        problems.at(item.key_offset, format!("`{key}` of [trace] needs `otlp`, a collector"));
    }
}

pub(super) static TRACE: SectionKeys = section! {
    "[trace]";
    "otlp": optional(trace.otlp, collector, "URL of a collector"), "none", Restart,
        "Where [spans](trace.md#spans-for-a-collector) of requests are sent, as OTLP over HTTP with JSON, to `/v1/traces`. A collector that does not answer delays nothing: what does not fit is dropped and counted.";
    "sample": set(
        trace.per_million, "part of all requests such as `\"1 %\"`",
        |item, _| part(item)?,
        |value| Some(show_part(*value)),
    ), default, Live,
        "How many of all requests the collector is told of. What a request says in `traceparent` does not change that.";
    "service": set(
        trace.service, "text",
        |item, _| word(item)?,
        |value| Some(show_text(value)),
    ), default, Restart,
        "The name of this server for the collector (`service.name`).";
};

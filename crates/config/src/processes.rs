//! `[[process]]`: background processes, which run without a request.
//!
//! Owns the keys of that section. Never looks up a time zone: the operating system knows them.

use crate::choice::choice;
use crate::item::Item;
use crate::key::{SectionKeys, section};
use crate::limits;
use crate::model::config::Config;
use crate::model::processes::{ProcessBegin, ProcessReach, SiteProcess};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be, duration_within, module_name, word};

const REACHES: [(&str, ProcessReach); 2] =
    [("server", ProcessReach::Server), ("cluster", ProcessReach::Cluster)];

/// Refuses a process of a cluster without one.
pub(super) fn check_reach(config: &Config, problems: &mut Problems) {
    let lost = config.processes.iter().find(|process| process.reach == ProcessReach::Cluster);
    if let Some(process) = lost.filter(|_| !config.cluster.is_configured()) {
        let why = "`where = \"cluster\"` in [[process]] needs a [cluster], whose servers agree on the one that runs \
                   it: add it with the `servers` of NATS";
        problems.add(Some(process.place), why.to_owned());
    }
}

/// Reads all `[[process]]`, in their order.
pub(super) fn read(top: &Section<'_>, problems: &mut Problems) -> Vec<SiteProcess> {
    let sections = top.sections("process", &PROCESS, problems);
    if let Some(section) = sections.get(limits::SITE_PROCESSES_MAX) {
        let most = limits::SITE_PROCESSES_MAX;
        problems.at(section.offset(), format!("there are more than {most} [[process]]"));
    }
    sections.iter().filter_map(|section| read_one(section, problems)).collect()
}

fn read_one(section: &Section<'_>, problems: &mut Problems) -> Option<SiteProcess> {
    if !section.has("module") {
        let why = "[[process]] has no `module`; write \"clock\" for `app/clock.lua`";
        problems.at(section.offset(), why);
        return None;
    }
    let before = problems.len();
    let module = section.read("module", problems, module_name);
    let within = |item: &Item<'_>| duration_within(item, limits::SITE_PROCESS_EVERY);
    let every = section.read("every", problems, within);
    let minute = section.read("at", problems, minute_of_day);
    let zone = section.read("zone", problems, word);
    let reach = section.read("where", problems, |item| choice(item, &REACHES)).unwrap_or_default();
    let mut refuse = |key, why| {
        let offset = section.item(key).map_or(section.offset(), |item| item.offset);
        problems.at(offset, why);
    };
    if section.has("every") && section.has("at") {
        refuse("every", "`every` and `at` exclude each other; set one");
    }
    if section.has("zone") && !section.has("at") {
        refuse("zone", "`zone` applies to `at`, which is not set");
    }
    let begins = match (every, minute) {
        (Some(every), _) => ProcessBegin::Every(every),
        (None, Some(minute)) => ProcessBegin::Daily { minute, zone },
        (None, None) => ProcessBegin::AtStart,
    };
    let module = module.filter(|_| problems.len() == before)?;
    Some(SiteProcess { module, begins, reach, place: problems.place(section.offset()) })
}

pub(super) static PROCESS: SectionKeys = section! {
    "[[process]]";
    "module": apart("name"), "must be given", Reload,
        "The [app module](modules.md#background-processes) whose function runs: `\"clock\"` is `app/clock.lua`.";
    "every": apart("duration, 1 second to 365 days"), "none", Reload,
        "Runs it repeatedly at this interval, for the first time one interval after the start of the server. A run that is due while the previous one is not finished is skipped.";
    "at": apart("time of day, `\"00:00\"` to `\"23:59\"`"), "none", Reload,
        "Runs it each day at that time. If daylight saving skips the time, it runs at the change; if the time occurs twice, at the first. With neither `every` nor `at` it runs from the start of the server.";
    "zone": apart("name of a time zone"), "that of the server", Reload,
        "The time zone of `at`: `\"Europe/Berlin\"`, `\"UTC\"`.";
    "where": apart("`\"server\"` or `\"cluster\"`"), "`\"server\"`", Reload,
        "Whether each server of a [cluster](cluster.md#processes) runs it, or one of them at a time.";
};

/// A time of day as minutes since midnight.
fn minute_of_day(item: &Item<'_>) -> Result<u16, String> {
    let text = borrowed_text(item, "a time of day in quotes such as \"03:00\"")?;
    let number = |digits: &str, most: u16| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|number| is_number && *number <= most)
    };
    let parts = text.split_once(':');
    let time = parts.and_then(|(hour, minute)| Some((number(hour, 23)?, number(minute, 59)?)));
    time.map(|(hour, minute): (u16, u16)| hour * 60 + minute)
        .ok_or_else(|| cannot_be(item, text, "a time is written as \"03:00\" or \"23:59\""))
}

//! The background processes of a site, as they are configured.
//!
//! Owns the look-up of their time zones, which reads files, so it belongs to the main thread. When a process starts is
//! decided by `actors`.

use std::fmt;

use actors::{ProcessPlace, ProcessPlan, ProcessSchedule};
use config::{ProcessBegin, ProcessReach, SiteProcess, TextPosition};
use jiff::tz::TimeZone;

/// The plans of all processes of a site.
///
/// # Errors
/// If a time zone is unknown.
pub fn process_plans(processes: &[SiteProcess]) -> Result<Vec<ProcessPlan>, UnknownZone> {
    processes.iter().map(plan_of).collect()
}

fn plan_of(process: &SiteProcess) -> Result<ProcessPlan, UnknownZone> {
    let schedule = match &process.begins {
        ProcessBegin::AtStart => ProcessSchedule::at_start(),
        ProcessBegin::Every(period) => ProcessSchedule::every(*period),
        ProcessBegin::Daily { minute, zone } => {
            let found = zone.as_deref().map_or_else(TimeZone::try_system, TimeZone::get);
            let unknown = |error: jiff::Error| UnknownZone {
                place: process.place,
                name: zone.clone(),
                why: error.to_string(),
            };
            ProcessSchedule::daily(*minute, found.map_err(unknown)?)
        }
    };
    let place = match process.reach {
        ProcessReach::Server => ProcessPlace::Server,
        ProcessReach::Cluster => ProcessPlace::Cluster,
    };
    Ok(ProcessPlan::new(&process.module, schedule, place))
}

/// A time zone that this machine does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownZone {
    /// The place in the configuration.
    pub place: TextPosition,
    name: Option<String>,
    why: String,
}

impl fmt::Display for UnknownZone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(
                out,
                "`zone` cannot be {name:?}: {}; zones are named as in /usr/share/zoneinfo (Debian's package \
                 tzdata), such as \"Europe/Berlin\"",
                self.why
            ),
            None => write!(
                out,
                "the time zone of this machine is unknown: {}; set it with `zone = \"UTC\"`",
                self.why
            ),
        }
    }
}

impl std::error::Error for UnknownZone {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_that_is_not_there_is_named() {
        let place = TextPosition { file: 0, line: 3, column: 1 };
        let begins = ProcessBegin::Daily { minute: 0, zone: Some("Mars/Olympus".to_owned()) };
        let process =
            SiteProcess { module: "clock".to_owned(), begins, reach: ProcessReach::Server, place };
        let unknown = process_plans(&[process]).unwrap_err();
        assert_eq!(unknown.place, place);
        assert!(
            unknown.to_string().starts_with("`zone` cannot be \"Mars/Olympus\": "),
            "{unknown}"
        );
    }
}

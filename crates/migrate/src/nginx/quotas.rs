//! `limit_req` and `limit_conn` as `[[limit]]`.
//!
//! Owns zones, what a block takes of them, and the sections. A `[[limit]]` counts its paths on every host and whatever
//! answers them, so it counts no fewer requests than the zone. Never closes a block.

use std::rc::Rc;

use crate::directive::Directive;
use crate::matcher::Matcher;
use crate::section::Section;
use crate::word::{list, quoted};

/// A request waits no longer than this, because `delay` of a `[[limit]]` has this bound.
const DELAY_MAX_MS: u64 = 10_000;

/// The zones of a configuration.
#[derive(Debug, Default)]
pub(super) struct Zones(Vec<Zone>);

/// `limit_req_zone` or `limit_conn_zone`.
#[derive(Debug)]
struct Zone {
    name: String,
    /// The key of a client, as `by` has it; `None`: it has no counterpart.
    by: Option<String>,
    rate: Option<Rate>,
}

#[derive(Debug, Clone, Copy)]
struct Rate {
    count: u64,
    /// `s` or `m`.
    unit: char,
}

/// The limit that a block takes of a zone: a `[[limit]]` without its name and paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quota {
    zone: String,
    settings: Vec<(&'static str, String)>,
    notes: Vec<String>,
}

/// The quotas in force in a block. Each of the two directives replaces those of its name outside of the block.
#[derive(Debug, Clone, Default)]
pub(super) struct InForce {
    zones: Rc<Zones>,
    requests: Vec<Quota>,
    connections: Vec<Quota>,
}

/// A quota and where it counts.
#[derive(Debug)]
struct Counted {
    quota: Quota,
    /// Empty: everywhere.
    paths: Vec<String>,
}

/// The quotas of all servers.
#[derive(Debug, Default)]
pub(super) struct Quotas(Vec<Counted>);

impl Zones {
    /// The zones that these directives define.
    pub(super) fn read(directives: &[Directive]) -> Rc<Self> {
        let is_zone = |one: &&Directive| matches!(one.name(), "limit_req_zone" | "limit_conn_zone");
        Rc::new(Self(directives.iter().filter(is_zone).filter_map(Zone::read).collect()))
    }

    /// The quota that `limit_req` or `limit_conn` takes.
    ///
    /// # Errors
    /// Why it has no counterpart.
    pub(super) fn quota(&self, directive: &Directive) -> Result<Quota, &'static str> {
        let first = directive.argument(0);
        let name = first.strip_prefix("zone=").unwrap_or(first);
        let zone = self.0.iter().find(|zone| zone.name == name).ok_or("its zone is not known")?;
        let by = zone.by.as_deref().ok_or("the key of its zone has no counterpart")?;
        let mut quota = Quota { zone: name.to_owned(), settings: Vec::new(), notes: Vec::new() };
        if by != "address" {
            quota.set("by", quoted(by));
        }
        match (directive.name(), zone.rate) {
            ("limit_req", Some(rate)) => quota.requests(directive, rate)?,
            ("limit_conn", None) => {
                let open = directive.argument(1).parse::<u32>().ok().filter(|open| *open > 0);
                quota.set("open", open.ok_or("no number of connections")?.to_string());
            }
            _ => return Err("its zone is of another kind"),
        }
        quota.notes.push(directive.told("refused requests are answered 429, on every host"));
        Ok(quota)
    }
}

impl InForce {
    /// With these zones, outside of every block.
    pub(super) fn of(zones: Rc<Zones>) -> Self {
        Self { zones, ..Self::default() }
    }

    /// Forgets those of this directive.
    pub(super) fn clear(&mut self, name: &str) {
        self.list(name).clear();
    }

    /// Reads a directive.
    ///
    /// # Errors
    /// Why it has no counterpart.
    pub(super) fn take(&mut self, directive: &Directive) -> Result<(), &'static str> {
        let quota = self.zones.quota(directive)?;
        self.list(directive.name()).push(quota);
        Ok(())
    }

    fn list(&mut self, name: &str) -> &mut Vec<Quota> {
        if name == "limit_req" { &mut self.requests } else { &mut self.connections }
    }

    pub(super) fn all(&self) -> Vec<Quota> {
        self.requests.iter().chain(&self.connections).cloned().collect()
    }
}

impl Zone {
    fn read(directive: &Directive) -> Option<Self> {
        let option = |name: &str| {
            directive.arguments().iter().find_map(|argument| argument.strip_prefix(name))
        };
        let name = option("zone=")?.split(':').next()?.to_owned();
        Some(Self {
            name,
            by: by(directive.argument(0)),
            rate: option("rate=").and_then(Rate::read),
        })
    }
}

/// The key of a client, as `by` has it.
fn by(key: &str) -> Option<String> {
    let of = |kind: &str, name: &str| format!("{kind}:{}", name.replace('_', "-"));
    match key {
        "$binary_remote_addr" | "$remote_addr" => Some("address".to_owned()),
        "$remote_user" => Some("user".to_owned()),
        "$uri" | "$request_uri" => Some("path".to_owned()),
        key => match (key.strip_prefix("$http_"), key.strip_prefix("$cookie_")) {
            (Some(name), _) => Some(of("field", name)),
            (_, Some(name)) => Some(format!("cookie:{name}")),
            _ => None,
        },
    }
}

impl Rate {
    fn read(text: &str) -> Option<Self> {
        let (count, unit) = text
            .strip_suffix("r/s")
            .map(|count| (count, 's'))
            .or_else(|| text.strip_suffix("r/m").map(|count| (count, 'm')))?;
        Some(Self { count: count.parse().ok().filter(|count| *count > 0)?, unit })
    }

    /// Milliseconds until so many requests are due, rounded up.
    fn wait_ms(self, requests: u64) -> u64 {
        let unit_ms = if self.unit == 's' { 1_000 } else { 60_000 };
        requests.saturating_mul(unit_ms).div_ceil(self.count)
    }
}

impl Quota {
    fn set(&mut self, key: &'static str, value: String) {
        self.settings.push((key, value));
    }

    pub(super) fn is_in(&self, list: &[Self]) -> bool {
        list.iter().any(|one| one.counts_as(self))
    }

    /// Whether both are one: the requests of one count for the other.
    fn counts_as(&self, other: &Self) -> bool {
        self.zone == other.zone && self.settings == other.settings
    }

    /// `limit_req zone=NAME [burst=N] [nodelay | delay=N]`: the first excess requests pass at once, the others of the
    /// burst wait.
    fn requests(&mut self, directive: &Directive, rate: Rate) -> Result<(), &'static str> {
        let (mut burst, mut at_once) = (0, Some(0));
        for option in directive.arguments().iter().skip(1) {
            match option.split_once('=') {
                Some(("burst", number)) => burst = number.parse::<u64>().map_err(|_| "no burst")?,
                Some(("delay", number)) => {
                    at_once = Some(number.parse::<u64>().map_err(|_| "no delay")?);
                }
                None if option == "nodelay" => at_once = None,
                _ => return Err("one of its options has no counterpart"),
            }
        }
        let at_once = at_once.unwrap_or(burst).min(burst);
        self.set("requests", quoted(&format!("{}/{}", rate.count, rate.unit)));
        self.set("burst", (at_once + 1).to_string());
        let wait_ms = rate.wait_ms(burst - at_once);
        if wait_ms > 0 {
            self.set("delay", quoted(&format!("{}ms", wait_ms.min(DELAY_MAX_MS))));
        }
        if wait_ms > DELAY_MAX_MS {
            self.notes.push(directive.told("a request waits for 10 seconds at most"));
        }
        Ok(())
    }
}

impl Quotas {
    /// Counts what these matchers take; `None`: every path.
    pub(super) fn add<'m>(
        &mut self,
        quota: &Quota,
        matchers: Option<impl Iterator<Item = &'m Matcher>>,
    ) {
        let paths: Option<Vec<String>> =
            matchers.map(|matchers| matchers.flat_map(patterns).collect());
        if paths.as_ref().is_none_or(|paths| !paths.is_empty()) {
            self.count(quota, paths.unwrap_or_default());
        }
    }

    fn count(&mut self, quota: &Quota, paths: Vec<String>) {
        let Some(counted) = self.0.iter_mut().find(|one| one.quota.counts_as(quota)) else {
            return self.0.push(Counted { quota: quota.clone(), paths });
        };
        counted.quota.notes.extend_from_slice(&quota.notes);
        if counted.paths.is_empty() || paths.is_empty() {
            counted.paths.clear();
        } else {
            counted.paths.extend(paths);
        }
    }

    pub(super) fn sections(self) -> impl Iterator<Item = Section> {
        let mut names: Vec<String> = Vec::new();
        self.0.into_iter().map(move |Counted { quota, paths }| {
            let times = names.iter().filter(|name| **name == quota.zone).count();
            let name = if times == 0 {
                quota.zone.clone()
            } else {
                format!("{}-{}", quota.zone, times + 1)
            };
            names.push(quota.zone.clone());
            let mut section = Section::new("[[limit]]");
            quota.notes.iter().for_each(|note| section.note(note));
            section.set("name", quoted(&name));
            quota.settings.iter().for_each(|(key, value)| section.set(key, value));
            if !paths.is_empty() {
                section.set("paths", list(paths));
            }
            section
        })
    }
}

/// The paths of a matcher as patterns.
fn patterns(matcher: &Matcher) -> Vec<String> {
    match matcher {
        Matcher::Path(text) | Matcher::Glob(text) => vec![text.clone()],
        Matcher::Prefix(text) => {
            let folder = text.trim_end_matches('/');
            let whole = (!text.ends_with('/')).then(|| text.clone());
            whole.into_iter().chain([format!("{folder}/"), format!("{folder}/**")]).collect()
        }
    }
}

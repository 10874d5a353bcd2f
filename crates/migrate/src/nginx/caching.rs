//! The answers of a server that nginx keeps: `proxy_cache` and the directives around it, as a cache of ours.
//!
//! Owns what has a counterpart. A cache is left out wherever ours could give one client what was made for another: that
//! changes no more than speed. Never knows locations.

use std::rc::Rc;

use super::variables::variable;
use crate::condition::Condition;
use crate::directive::Directive;
use crate::upstreams::Cache;
use crate::word::{is_in, list, quoted, seconds, size};

/// The directories of caches, by their zones.
#[derive(Debug, Default)]
pub(super) struct CacheZones {
    zones: Vec<Zone>,
}

#[derive(Debug)]
struct Zone {
    name: String,
    directory: String,
    /// As printed.
    size: Option<String>,
    inactive_s: u64,
}

/// The time of nginx without `inactive`: 10 minutes.
const INACTIVE_S: u64 = 600;

impl CacheZones {
    /// Those of `http`.
    pub(super) fn read(directives: &[Directive]) -> Self {
        let all = directives.iter().filter(|one| one.name() == "proxy_cache_path");
        Self { zones: all.filter_map(Zone::read).collect() }
    }

    fn find(&self, name: &str) -> Option<&Zone> {
        self.zones.iter().find(|zone| zone.name == name)
    }
}

impl Zone {
    fn read(directive: &Directive) -> Option<Self> {
        let options = directive.arguments().get(1..).unwrap_or_default();
        let option =
            |name: &str| options.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        Some(Self {
            name: option("keys_zone")?.split(':').next()?.to_owned(),
            directory: directive.argument(0).trim_end_matches('/').to_owned(),
            size: option("max_size").and_then(size),
            inactive_s: option("inactive").and_then(seconds).unwrap_or(INACTIVE_S),
        })
    }
}

/// The directives in force in a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Caching {
    zones: Rc<CacheZones>,
    zone: Option<Directive>,
    times: Vec<Directive>,
    stale: Option<Directive>,
    key: Option<Directive>,
    /// The requests whose answers are neither taken from the cache nor put there.
    passing: Vec<Directive>,
    unstored: Vec<Directive>,
    wait: Option<Directive>,
    ignored: Option<Directive>,
    /// The lists that were begun in this block.
    begun: Vec<String>,
}

/// The result of taking a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is about something else.
    Not,
    Read,
    /// It was read, and the operator is told this.
    Told(String),
}

/// A cache of a location.
#[derive(Debug)]
pub(super) struct Cached {
    cache: Cache,
    passing: Vec<Condition>,
}

impl Cached {
    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The requests that pass it by.
    pub(super) fn into_passing(self) -> Vec<Condition> {
        self.passing
    }
}

/// Directives for what our cache always does, or for what changes no more than how often a server is asked.
const SILENT: &str = "
    proxy_cache_path proxy_cache_lock proxy_cache_lock_age proxy_cache_revalidate
    proxy_cache_background_update proxy_cache_convert_head
";

/// The statuses that a cache may assume to be fresh (RFC 9110 section 15.1), as nginx names them.
const USUAL: &str = "any 200 203 204 300 301 308";
const ERRORS: &str = "any 404 405 410 414 501";

/// Variables that our key has too, or that no server gets from a client.
const IN_KEY: &str = "
    scheme https host http_host proxy_host proxy_port server_name server_port request_method is_args
    http_x_forwarded_proto
";

impl Caching {
    pub(super) fn of(zones: CacheZones) -> Self {
        Self { zones: Rc::new(zones), ..Self::default() }
    }

    /// Those in force in a block within, before its own.
    pub(super) fn inner(&self) -> Self {
        Self { begun: Vec::new(), ..self.clone() }
    }

    /// Reads a directive.
    pub(super) fn take(&mut self, directive: &Directive) -> Taken {
        let value = directive.argument(0);
        match directive.name() {
            "proxy_cache" => self.zone = (value != "off").then(|| directive.clone()),
            "proxy_cache_key" => self.key = Some(directive.clone()),
            "proxy_cache_use_stale" => self.stale = Some(directive.clone()),
            "proxy_cache_lock_timeout" => self.wait = Some(directive.clone()),
            "proxy_ignore_headers" => self.ignored = Some(directive.clone()),
            name @ ("proxy_cache_valid" | "proxy_cache_bypass" | "proxy_no_cache") => {
                self.add(name, directive);
            }
            "proxy_cache_min_uses" if value == "1" => {}
            "proxy_cache_min_uses" => return Taken::Told(directive.unknown()),
            "proxy_cache_methods" if !directive.arguments().contains(&"POST".to_owned()) => {}
            "proxy_cache_methods" => {
                return Taken::Told(directive.told("answers to POST are never stored"));
            }
            "proxy_cache_max_range_offset" => {
                let why = "a range of what is not stored goes to the server as it is";
                return Taken::Told(directive.told(why));
            }
            // With the name of a zone it answers by itself, as a module of others does.
            "proxy_cache_purge" if value.starts_with('$') => {
                let why = "nothing is purged by requests: use `velodrome ctl cache purge`";
                return Taken::Told(directive.told(why));
            }
            name if is_in(SILENT, name) => {}
            _ => return Taken::Not,
        }
        Taken::Read
    }

    fn add(&mut self, name: &str, directive: &Directive) {
        let list = match name {
            "proxy_cache_valid" => &mut self.times,
            "proxy_cache_bypass" => &mut self.passing,
            _ => &mut self.unstored,
        };
        if !self.begun.iter().any(|known| known == name) {
            self.begun.push(name.to_owned());
            list.clear();
        }
        list.push(directive.clone());
    }

    /// The cache of a location that passes requests on; `hidden` are the fields that clients do not get.
    ///
    /// # Errors
    /// Why it is left out, with the line.
    pub(super) fn cached(&self, hidden: &[String]) -> Result<Option<Cached>, String> {
        let Some(directive) = &self.zone else { return Ok(None) };
        let name = directive.argument(0);
        let zone = self.zones.find(name);
        let zone = zone.ok_or_else(|| directive.told("left out: its zone is not known"))?;
        let mut cache = Cache::new(&zone.directory);
        cache.set("disk_size", zone.size.clone());
        let has_query = self.set_key(&mut cache)?;
        let passing = self.passing(has_query, &mut cache)?;
        self.set_times(&mut cache);
        self.set_stale(zone, &mut cache);
        self.set_cookies(hidden, &mut cache);
        if let Some(wait) = &self.wait {
            match seconds(wait.argument(0)).filter(|seconds| *seconds > 0) {
                Some(seconds) => cache.set("wait", Some(quoted(&format!("{seconds}s")))),
                None => cache.note(wait.unknown()),
            }
        }
        Ok(Some(Cached { cache, passing }))
    }

    /// Whether the query is a part of the key.
    fn set_key(&self, cache: &mut Cache) -> Result<bool, String> {
        let Some(directive) = &self.key else { return Ok(true) };
        let (mut has_path, mut has_query) = (false, false);
        for name in variables(directive.argument(0)) {
            match name {
                "request_uri" => (has_path, has_query) = (true, true),
                "uri" | "document_uri" => has_path = true,
                "args" | "query_string" => has_query = true,
                // All of the query is more than a part of it.
                name if name.starts_with("arg_") => has_query = true,
                name if is_in(IN_KEY, name) => {}
                name => {
                    let why = format!("no cache: ours does not tell requests apart by `${name}`");
                    return Err(directive.told(&why));
                }
            }
        }
        if !has_path {
            return Err(directive.told("no cache: ours tells paths apart"));
        }
        if !has_query {
            cache.set("key", Some(list(["scheme", "host", "path"])));
        }
        Ok(has_query)
    }

    /// The requests that pass the cache by.
    fn passing(&self, has_query: bool, cache: &mut Cache) -> Result<Vec<Condition>, String> {
        let mut conditions = Vec::new();
        for directive in self.passing.iter().chain(&self.unstored) {
            for text in directive.arguments().iter().filter(|text| !text.is_empty()) {
                if has_literal(text) && text != "0" {
                    return Err(directive.told("no cache, because this is for all requests"));
                }
                for name in variables(text) {
                    let condition = passing(name, has_query).ok_or_else(|| {
                        directive.told(&format!("no cache, because `${name}` has no counterpart"))
                    })?;
                    if conditions.contains(&condition) {
                        continue;
                    }
                    if name.starts_with("cookie_") {
                        let why = "requests with any cookie pass the cache by, because nginx reads names of \
                                   cookies without case";
                        cache.note(directive.told(why));
                    }
                    conditions.push(condition);
                }
            }
        }
        let is_unstored = |text: &String| {
            self.unstored.iter().any(|directive| directive.arguments().contains(text))
        };
        for directive in &self.passing {
            if !directive.arguments().iter().all(is_unstored) {
                cache.note(directive.told("what such a request fetches is not stored here"));
            }
        }
        Ok(conditions)
    }

    /// How long answers are fresh that do not say it themselves.
    fn set_times(&self, cache: &mut Cache) {
        let (time, error) = (self.time_of(USUAL, cache), self.time_of(ERRORS, cache));
        let printed = |seconds: u64| quoted(&format!("{seconds}s"));
        cache.set("default_ttl", time.map(printed));
        if time != error {
            cache.set("error_ttl", Some(printed(error.unwrap_or_default())));
        }
    }

    /// The time of answers with one of these statuses. Ours is the same for all of them: the shortest.
    fn time_of(&self, statuses: &str, cache: &mut Cache) -> Option<u64> {
        let mut found: Option<u64> = None;
        for directive in &self.times {
            let (time, said) = directive.arguments().split_last()?;
            let is_of = match said {
                // Without statuses these are meant.
                [] => is_in(statuses, "200"),
                said => said.iter().any(|status| is_in(statuses, status)),
            };
            let Some(time) = seconds(time) else {
                cache.note(directive.unknown());
                continue;
            };
            if is_of && found.is_some_and(|found| found != time) {
                cache.note(directive.told("one time for all of these statuses: the shortest"));
            }
            if is_of && time > 0 {
                found = Some(found.map_or(time, |found| found.min(time)));
            }
        }
        found
    }

    /// How long stale answers are used: as long as nginx keeps one that nobody asks for.
    fn set_stale(&self, zone: &Zone, cache: &mut Cache) {
        let Some(directive) = &self.stale else { return };
        let time = quoted(&format!("{}s", zone.inactive_s));
        for word in directive.arguments() {
            match word.as_str() {
                "off" => {}
                "updating" => cache.set("stale_while_revalidate", Some(time.clone())),
                "error" | "timeout" | "invalid_header" | "http_500" | "http_502" | "http_503"
                | "http_504" => cache.set("stale_if_error", Some(time.clone())),
                word => cache.note(directive.told(&format!("`{word}` has no counterpart"))),
            }
        }
    }

    /// The fields that are ignored.
    fn set_cookies(&self, hidden: &[String], cache: &mut Cache) {
        let Some(directive) = &self.ignored else { return };
        let is_hidden = hidden.iter().any(|name| name.eq_ignore_ascii_case("set-cookie"));
        for name in directive.arguments() {
            match &*name.to_ascii_lowercase() {
                "set-cookie" if is_hidden => {
                    cache.set("remove_set_cookie", Some("true".to_owned()))
                }
                "set-cookie" => {
                    let why =
                        "answers with cookies are not stored unless `remove_set_cookie` is set";
                    cache.note(directive.told(why));
                }
                "cache-control" | "expires" | "vary" => {
                    cache.note(directive.told(&format!("`{name}` of an answer is obeyed")));
                }
                _ => {}
            }
        }
    }
}

/// The names of the variables of a text.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('$').skip(1);
    // A dollar sign without a name is none that we know.
    parts.map(|part| variable(part).map_or("", |(name, _)| name))
}

/// Whether a text is never empty.
fn has_literal(text: &str) -> bool {
    let mut parts = text.split('$');
    let has_first = parts.next().is_some_and(|part| !part.is_empty());
    has_first || parts.any(|part| variable(part).is_none_or(|(_, rest)| !rest.is_empty()))
}

/// The requests for which a variable has a value, and perhaps others.
fn passing(name: &str, has_query: bool) -> Option<Condition> {
    match name.split_once('_')? {
        ("cookie", _) => Some(Condition::has_header("cookie", "true")),
        ("http", field) if !field.is_empty() => {
            Some(Condition::has_header(&field.replace('_', "-"), "true"))
        }
        // nginx compares names of parameters without case: those in another one have a key of their own.
        ("arg", name) if has_query && !name.is_empty() => {
            Some(Condition::query(name, "true".to_owned()))
        }
        _ => None,
    }
}

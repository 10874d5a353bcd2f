//! `cache` of an upstream: which of its answers are kept, and for how long.
//!
//! Owns the keys of that table. The crate `cache` does what they say.

use std::path::Path;

use crate::key::{SectionKeys, section};
use crate::model::upstream::{CacheDisk, CacheKey, CacheReport, UpstreamCache};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{boolean, deadline, duration, path, size_within, whole};
use crate::{choice, limits};

pub(super) fn read(
    upstream: &Section<'_>,
    base: &Path,
    problems: &mut Problems,
) -> Option<UpstreamCache> {
    let table = upstream.section("cache", &CACHE, problems)?;
    let default_ttl = table.read("default_ttl", problems, deadline);
    let mut cache = UpstreamCache {
        memory: limits::CACHE_MEMORY,
        object: limits::CACHE_OBJECT,
        disk: disk(&table, base, problems),
        key: CacheKey { scheme: true, host: true, query: true },
        default_ttl,
        error_ttl: table.read("error_ttl", problems, duration).or(default_ttl),
        heuristic: table.read("heuristic", problems, boolean).unwrap_or_default(),
        stale_while_revalidate: std::time::Duration::ZERO,
        stale_if_error: std::time::Duration::ZERO,
        remove_set_cookie: table.read("remove_set_cookie", problems, boolean).unwrap_or_default(),
        obey_requests: table.read("obey_requests", problems, boolean).unwrap_or_default(),
        wait: limits::CACHE_WAIT,
        report: CacheReport::Short,
    };
    for (key, place, range) in [
        ("memory", &mut cache.memory, limits::CACHE_MEMORIES),
        ("object", &mut cache.object, limits::CACHE_OBJECTS),
    ] {
        table.read_into(key, place, problems, |item| size_within(item, range));
    }
    for (key, place) in [
        ("stale_while_revalidate", &mut cache.stale_while_revalidate),
        ("stale_if_error", &mut cache.stale_if_error),
    ] {
        table.read_into(key, place, problems, duration);
    }
    table.read_into("wait", &mut cache.wait, problems, deadline);
    table.read_into("report", &mut cache.report, problems, |item| choice::choice(item, REPORTS));
    if let Some(parts) = table.list("key", problems, |item| choice::choice(item, PARTS)) {
        let has = |part| parts.contains(&part);
        cache.key =
            CacheKey { scheme: has(Part::Scheme), host: has(Part::Host), query: has(Part::Query) };
    }
    if let (Some(item), true) = (table.item("object"), cache.object > cache.memory) {
        problems.at(item.key_offset, "`object` must not be larger than `memory`");
    }
    Some(cache)
}

fn disk(table: &Section<'_>, base: &Path, problems: &mut Problems) -> Option<CacheDisk> {
    let directory = table.read("directory", problems, |item| path(item, base));
    let (mut size, mut object) = (limits::CACHE_DISK_SIZE, limits::CACHE_DISK_OBJECT);
    let mut files = limits::CACHE_DISK_FILES;
    for (key, place, range) in [
        ("disk_size", &mut size, limits::CACHE_DISK_SIZES),
        ("disk_object", &mut object, limits::CACHE_DISK_OBJECTS),
    ] {
        table.read_into(key, place, problems, |item| size_within(item, range));
    }
    table.read_into("disk_files", &mut files, problems, |item| {
        whole(item, limits::CACHE_DISK_FILE_COUNTS)
    });
    for key in ["disk_size", "disk_files", "disk_object"] {
        if let (Some(item), false) = (table.item(key), table.has("directory")) {
            let why = format!("`{key}` needs `directory`, where the files are");
            problems.at(item.key_offset, why);
        }
    }
    if let (Some(item), true) = (table.item("disk_object"), object > size) {
        problems.at(item.key_offset, "`disk_object` must not be larger than `disk_size`");
    }
    directory.map(|directory| CacheDisk { directory, size, files, object: object.min(size) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Scheme,
    Host,
    Path,
    Query,
}

const PARTS: &[(&str, Part)] =
    &[("scheme", Part::Scheme), ("host", Part::Host), ("path", Part::Path), ("query", Part::Query)];

const REPORTS: &[(&str, CacheReport)] =
    &[("off", CacheReport::Off), ("short", CacheReport::Short), ("full", CacheReport::Full)];

pub(super) static CACHE: SectionKeys = section! {
    "upstream.cache";
    "memory": apart("size, 64 KiB to 1 TiB"), "`\"64 MiB\"`", Reload,
        "The memory for stored answers, of all schedulers together; each has its part.";
    "object": apart("size, 0 B to 1 GiB"), "`\"1 MiB\"`", Reload,
        "The longest body that is held in memory, at most an eighth of a scheduler's part of `memory`. \
        A longer one is only stored in `directory`, if there is one.";
    "directory": apart("path"), "none", Restart,
        "A directory of the cache alone: stored answers are written there too, so that they are \
        found again when they have left the memory and after a restart. Bodies that are too long \
        for the memory are sent from there. It is made if it is missing.";
    "disk_size": apart("size, 1 MiB to 1 PiB"), "`\"10 GiB\"`", Reload,
        "What the files in `directory` may use. Answers that were not used recently leave.";
    "disk_files": apart("16 to 100000000"), "`1000000`", Reload,
        "How many files there may be. The server keeps the name of each in memory.";
    "disk_object": apart("size, 0 B to 1 TiB"), "`\"1 GiB\"`, at most `disk_size`", Reload,
        "The longest body that is stored in a file.";
    "key": apart("list of `\"scheme\"`, `\"host\"`, `\"path\"`, `\"query\"`"), "all of them", Reload,
        "What distinguishes requests, besides the fields that `Vary` of the answer names. The path \
        always does. Leave out only what never changes an answer: otherwise a client can have others \
        get what was answered to it.";
    "default_ttl": apart("duration above zero"), "none", Reload,
        "How long an answer is fresh that says nothing of it, if its status allows it and nobody is \
        known by a cookie. Without it such an answer is not stored.";
    "error_ttl": apart("duration"), "that of `default_ttl`", Reload,
        "The same for an answer with an error (404, 405, 410, 414, 501); `\"0s\"`: it is not stored.";
    "heuristic": apart("true or false"), "`false`", Reload,
        "Whether such an answer is fresh for a tenth of the time since its `Last-Modified`, at most a \
        day.";
    "stale_while_revalidate": apart("duration"), "`\"0s\"`", Reload,
        "How long after its freshness an answer is still used while a server is asked for a new one. \
        `stale-while-revalidate` of the answer takes precedence.";
    "stale_if_error": apart("duration"), "`\"0s\"`", Reload,
        "How long after its freshness an answer is still used if no server answers, or one answers with \
        500, 502, 503 or 504. `stale-if-error` of the answer takes precedence.";
    "remove_set_cookie": apart("true or false"), "`false`", Reload,
        "Stores answers with `Set-Cookie` too, and no client gets that field. Otherwise they are not \
        stored.";
    "obey_requests": apart("true or false"), "`false`", Reload,
        "Whether `Cache-Control` of a request counts (`no-cache`, `max-age`, `only-if-cached` ...). \
        Then a client can have each of its requests reach a server.";
    "wait": apart("duration above zero"), "`\"5s\"`", Reload,
        "How long a request waits for the answer to another one for the same URI; then it goes to a \
        server by itself.";
    "report": apart("`\"off\"`, `\"short\"` or `\"full\"`"), "`\"short\"`", Reload,
        "Whether answers say in `Cache-Status` what the cache did, and in full also for which key.";
};

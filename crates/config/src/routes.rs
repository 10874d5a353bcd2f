//! `[[route]]` and `[[host.route]]`: which requests a route matches, and its action.
//!
//! Owns the rows of these sections and how they combine. Never compares a request: `route` does.

use std::path::Path;
use std::sync::Arc;

use crate::access::ACCESS_OF_PART;
use crate::choice::choice;
use crate::glob::PathGlob;
use crate::item::Item;
use crate::key::{ConfigKey, SectionKeys, rows, section};
use crate::limits::WILDCARDS_MAX;
use crate::model::file_settings::{CacheRule, FileSettings};
use crate::model::header::Header;
use crate::model::log::Logging;
use crate::model::redirect_map::MapRule;
use crate::model::route::{PathMatcher, Respond, Route, RouteAction};
use crate::problem::Problems;
use crate::section::Section;
use crate::target::TargetTemplate;
use crate::value::{boolean, borrowed_text, cannot_be, module_name, path, size, text, whole};
use crate::{
    Method, access, early_hints, field, files, forward_auth, host_name, json, proxy_route,
    request_path, when,
};

const MATCHERS: [&str; 3] = ["path", "prefix", "glob"];
const ACTIONS: [&str; 9] =
    ["files", "redirect", "rewrite", "respond", "json", "module", "map", "drop", "proxy"];

/// Reads the routes of a host whose file rules are `files`.
pub(super) fn read_all(
    sections: &[Section<'_>],
    files: &FileSettings,
    base: &Path,
    problems: &mut Problems,
) -> Vec<Route> {
    sections.iter().filter_map(|section| read(section, files, base, problems)).collect()
}

/// Every key is read before an invalid one ends the route, so that all problems are reported.
fn read(
    section: &Section<'_>,
    files: &FileSettings,
    base: &Path,
    problems: &mut Problems,
) -> Option<Route> {
    let matcher =
        only(section, &MATCHERS, problems).and_then(|key| matcher(section, key, problems));
    let captures = matcher.as_ref().map_or(WILDCARDS_MAX, captures);
    let action_key = only(section, &ACTIONS, problems);
    let action = action_key.and_then(|key| match key {
        "files" => read_files(section, files, base, problems),
        "redirect" => redirect(section, captures, problems),
        "rewrite" => rewrite(section, captures, problems),
        "respond" => respond(section, problems),
        "module" => section.read("module", problems, module_name).map(RouteAction::Module),
        "map" => map(section, base, problems),
        "drop" => drop_connection(section, problems),
        "proxy" => {
            proxy_route::read(section, problems).map(|proxy| RouteAction::Proxy(Box::new(proxy)))
        }
        _ => {
            if let Some(item) = section.item("json") {
                json::look_for_settings(&item, problems);
            }
            section.read("json", problems, json::text).map(RouteAction::Json)
        }
    });
    if action_key == Some("rewrite") {
        check_rewrite_alone(section, problems);
    }
    let methods = methods(section, problems);
    let host = section
        .spoken()
        .eq(ROUTE.name)
        .then(|| section.read("host", problems, host_name::read))
        .flatten();
    let conditions = when::read(section, problems);
    let headers: Vec<Header> = field::headers(section, problems);
    let body_size = section.read("body_size", problems, size);
    let mut cache_control = section.read("cache_control", problems, field::cache_control);
    let early_hints = early_hints::read(section, action_key, problems);
    let access = access::read(section, base, problems);
    let forward_auth = forward_auth::read(section, problems);
    let log = match section.read("log", problems, boolean) {
        Some(false) => Logging::Off,
        Some(true) | None => Logging::On,
    };
    let mut action = action?;
    if let RouteAction::Files { rules, .. } = &mut action {
        rules.cache_control.splice(0..0, cache_control.take().map(CacheRule::of_all));
    }
    Some(Route {
        place: problems.place(section.offset()),
        matcher: matcher?,
        methods,
        host,
        conditions,
        action,
        headers,
        body_size,
        cache_control,
        early_hints,
        access,
        forward_auth,
        log,
    })
}

/// The one key of `keys` that the section has; none or several are problems.
fn only(
    section: &Section<'_>,
    keys: &[&'static str],
    problems: &mut Problems,
) -> Option<&'static str> {
    let mut present = keys.iter().copied().filter(|key| section.has(key));
    let Some(first) = present.next() else {
        let choices = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        problems.at(section.offset(), format!("{} needs one of {choices}", section.spoken()));
        return None;
    };
    for other in present {
        if let Some(item) = section.item(other) {
            problems.at(
                item.key_offset,
                format!("`{other}` beside `{first}`; a route has one of them only"),
            );
        }
    }
    Some(first)
}

fn matcher(
    section: &Section<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> Option<PathMatcher> {
    section.read(key, problems, |item| {
        let text = borrowed_text(item, "a path in quotes that begins with \"/\"")?;
        if key == "glob" {
            let glob = PathGlob::parse(text);
            return glob
                .map(PathMatcher::Glob)
                .map_err(|error| cannot_be(item, text, &error.to_string()));
        }
        request_path::check(text).map_err(|why| cannot_be(item, text, why))?;
        if text.contains('*') {
            return Err(cannot_be(item, text, "`*` has a meaning in `glob` only"));
        }
        let text = text.to_owned();
        Ok(if key == "path" { PathMatcher::Path(text) } else { PathMatcher::Prefix(text) })
    })
}

/// How many of `$1` to `$9` there are.
fn captures(matcher: &PathMatcher) -> usize {
    match matcher {
        PathMatcher::Path(_) => 0,
        PathMatcher::Prefix(_) => 1,
        PathMatcher::Glob(glob) => glob.wildcards(),
    }
}

fn read_files(
    section: &Section<'_>,
    host: &FileSettings,
    base: &Path,
    problems: &mut Problems,
) -> Option<RouteAction> {
    let files = section.section("files", &files::ROUTE_FILES, problems)?;
    if let (Some(item), true) = (section.item("cache_control"), files.has("cache_control")) {
        problems.at(item.key_offset, "`cache_control` is in `files` already");
    }
    let action = files::read_of_route(&files, host, base, problems);
    if action.leads_on() {
        check_open(section, problems);
    }
    Some(action)
}

/// The file is read when all sections were.
fn map(section: &Section<'_>, base: &Path, problems: &mut Problems) -> Option<RouteAction> {
    let file = section.read("map", problems, |item| path(item, base))?;
    let place = problems.place(section.item("map")?.offset);
    Some(RouteAction::Map(MapRule { file, place, rows: Arc::default() }))
}

fn drop_connection(section: &Section<'_>, problems: &mut Problems) -> Option<RouteAction> {
    for key in ["headers", "cache_control"] {
        if let Some(item) = section.item(key) {
            problems.at(item.key_offset, format!("`{key}` beside `drop` has no effect"));
        }
    }
    let is_wanted = section.read("drop", problems, boolean)?;
    if let (Some(item), false) = (section.item("drop"), is_wanted) {
        problems.at(item.offset, "`drop` can only be true; leave the route out otherwise");
    }
    is_wanted.then_some(RouteAction::Drop)
}

fn target(
    section: &Section<'_>,
    problems: &mut Problems,
    parse: impl Fn(&str) -> Result<TargetTemplate, String>,
) -> Option<TargetTemplate> {
    if !section.has("to") {
        problems.at(section.offset(), format!("{} has no `to`", section.spoken()));
    }
    section.read("to", problems, |item| {
        let text = borrowed_text(item, "a text in quotes such as \"/new$path\"")?;
        parse(text).map_err(|why| cannot_be(item, text, &why))
    })
}

fn redirect(
    section: &Section<'_>,
    captures: usize,
    problems: &mut Problems,
) -> Option<RouteAction> {
    /// 302: caches do not keep it, so a mistake can be fixed.
    const STATUS: u16 = 302;
    let table = section.section("redirect", &REDIRECT, problems)?;
    let to = target(&table, problems, |text| TargetTemplate::redirect(text, captures));
    let mut status = STATUS;
    table.read_into("status", &mut status, problems, |item| {
        let status = whole(item, 300..=399).ok().and_then(|status| u16::try_from(status).ok());
        status
            .filter(|status| matches!(status, 301 | 302 | 303 | 307 | 308))
            .ok_or_else(|| "`status` of a redirect must be 301, 302, 303, 307 or 308".to_owned())
    });
    Some(RouteAction::Redirect { to: to?, status })
}

fn rewrite(section: &Section<'_>, captures: usize, problems: &mut Problems) -> Option<RouteAction> {
    let table = section.section("rewrite", &REWRITE, problems)?;
    let to = target(&table, problems, |text| TargetTemplate::rewrite(text, captures));
    Some(RouteAction::Rewrite { to: to? })
}

/// A rewrite gives no answer, so keys about answers would have no effect.
fn check_rewrite_alone(section: &Section<'_>, problems: &mut Problems) {
    for key in
        ["headers", "body_size", "cache_control", "early_hints", "access", "forward_auth", "log"]
    {
        if let Some(item) = section.item(key) {
            problems.at(
                item.key_offset,
                format!(
                    "`{key}` beside `rewrite` has no effect; put it into the route that answers"
                ),
            );
        }
    }
}

/// Refuses a guard on a route that leads on: a request that passes it by at once reaches the routes after it unguarded.
fn check_open(section: &Section<'_>, problems: &mut Problems) {
    for key in ["access", "forward_auth"] {
        if let Some(item) = section.item(key) {
            problems.at(
                item.key_offset,
                format!(
                    "`{key}` does not guard the routes after a `try` with `\"next\"`; give `access` to the whole host, \
                     or leave `\"next\"` out"
                ),
            );
        }
    }
}

fn respond(section: &Section<'_>, problems: &mut Problems) -> Option<RouteAction> {
    let table = section.section("respond", &RESPOND, problems)?;
    let mut status = 200;
    table.read_into("status", &mut status, problems, respond_status);
    let body = table.read("body", problems, text).unwrap_or_default();
    let has_content = !matches!(status, 204 | 205);
    for key in ["body", "content_type"] {
        if let (Some(item), false) = (table.item(key), has_content) {
            problems.at(item.key_offset, format!("an answer with status {status} has no `{key}`"));
        }
    }
    let content_type = table.read("content_type", problems, field::media_type);
    let content_type = match content_type {
        Some(content_type) => content_type,
        None if has_content => "text/plain; charset=utf-8".to_owned(),
        None => String::new(),
    };
    Some(RouteAction::Respond(Respond { status, content_type, body }))
}

fn respond_status(item: &Item<'_>) -> Result<u16, String> {
    let status = whole(item, 200..=599)?;
    match u16::try_from(status) {
        Ok(300..=399) => Err(format!("`status` cannot be {status}; write a `redirect`")),
        Ok(206 | 416) => Err(format!("`status` cannot be {status}; it is for parts of files")),
        Ok(status) => Ok(status),
        Err(_) => Err("`status` must be from 200 to 599".to_owned()),
    }
}

/// As `require` takes it: `api`, `shop.basket`.
fn methods(section: &Section<'_>, problems: &mut Problems) -> Vec<Method> {
    let words = Method::ALL.map(|method| (method.as_str(), method));
    let methods = section.list("methods", problems, |item| choice(item, &words));
    let Some(mut methods) = methods else { return Vec::new() };
    if let (Some(item), true) = (section.item("methods"), section.is_empty_list("methods")) {
        problems.at(item.offset, "`methods` is empty; leave it out for all methods");
    }
    methods.sort_unstable();
    methods.dedup();
    methods
}

static SHARED: &[ConfigKey] = rows! {
    "path": apart("path of a request"), "none", Reload,
        "Matches only this path.";
    "prefix": apart("path of a request"), "none", Reload,
        "Matches this path and everything below it. `/a/` matches `/a/` and `/a/b`; `/a` matches `/a`, `/a/` and `/a/b`, but not `/ab`.";
    "glob": apart("pattern"), "none", Reload,
        "Matches a pattern: `*` matches any characters within a segment, including none; `**` matches any number of whole segments, at the end at least one. `/img/*.png`, `/docs/**`, `/**/*.css`. At most 9 wildcards.";
    "methods": apart("list of methods"), "all", Reload,
        "Matches only these methods; GET includes HEAD. If routes match the path but none the method, the answer is 405 with the methods they match.";
    "when": section("table, see below"), "always", Reload,
        "Matches only requests that meet all of these conditions.";
    "files": section("table, see below"), "none", Reload,
        "Serves files.";
    "redirect": section("table, see below"), "none", Reload,
        "Redirects the client.";
    "rewrite": section("table, see below"), "none", Reload,
        "Continues with another path and the routes after this one. At most 8 times per request, then 500.";
    "respond": section("table, see below"), "none", Reload,
        "Answers with fixed text.";
    "json": apart("any value"), "none", Reload,
        "Answers 200 with the value as JSON, keys in the order of the file.";
    "module": apart("name"), "none", Reload,
        "Answers with an [app module](modules.md): `\"api\"` is `app/api.lua`, `\"shop.basket\"` is `app/shop/basket.lua`. Its own routes match the part of the path after `prefix`.";
    "map": apart("path of a file"), "none", Reload,
        "Redirects the paths of a file: rows `from,to` or `from,to,status`, up to 1,000,000, of which any number takes the same time. `from` is a path, perhaps with a query, which is compared first; `to` a path or a URL; the status is 302 unless it is given. Paths that the file does not have go on to the routes after this one. It is read at the start and with each reload.";
    "drop": apart("true"), "none", Reload,
        "Closes the connection without an answer, as nginx does for its status 444, which the access log has.";
    "proxy": section("name of an upstream, or table, see below"), "none", Reload,
        "Lets a server of an [`[[upstream]]`](proxy.md) answer: `\"api\"` is the one with `name = \"api\"`.";
    "headers": section("table of fields"), "none", Reload,
        "Header fields added to the answers.";
    "body_size": apart("size"), "that of `[limits]`", Reload,
        "The largest request body, that of a form with files included; 413 above.";
    "cache_control": apart("text"), "none", Reload,
        "The Cache-Control of the answers. For files it takes precedence over `[[files.cache_control]]`. Neither applies to pages, which set their own.";
    "early_hints": apart("list of links"), "none", Reload,
        "Links such as `\"</style.css>; rel=preload; as=style\"` that browsers get with [`103 Early Hints`](#early-hints) while a page, a module or an upstream makes the answer. At most 32.";
    const ACCESS_OF_PART;
    "forward_auth": section("table, see below"), "none", Reload,
        "Asks a [server](proxy.md#asking-a-server-first) whether the request may pass, before anything answers it.";
    "log": apart("true or false"), "`true`", Reload,
        "Whether requests are in the access log.";
};

pub(super) static ROUTE: SectionKeys = section! {
    "[[route]]", SHARED of "[[route]]";
    "host": apart("name"), "all", Reload,
        "Matches only requests for this host name; `*.` as for a host. Only for names without a `[[host]]`.";
};

pub(super) static HOST_ROUTE: SectionKeys = section! {
    "[[host.route]]", SHARED of "[[route]]";
};

pub(super) static REDIRECT: SectionKeys = section! {
    "route.redirect";
    "to": apart("text"), "must be given", Reload,
        "The target: a path, or `https://` and a host. Variables: `$path` is the path of the request, `$query` its query with the `?` (empty without a query), `$host` its host without the port, `$scheme` is `http` or `https`, `$1` to `$9` are the matches of the wildcards of `glob`, `$1` is the part after `prefix`, `$$` is a dollar sign. Values from the request are percent-encoded and cannot lead to another host; `$host` leads to the one that the client named, so routes with it belong into a `[[host]]`. Without a usable `Host` the answer is 400.";
    "status": apart("301, 302, 303, 307 or 308"), "`302`", Reload,
        "Clients cache 301 and 308 permanently; 307 and 308 keep the method.";
};

pub(super) static REWRITE: SectionKeys = section! {
    "route.rewrite";
    "to": apart("text"), "must be given", Reload,
        "The new path, with `$path` and `$1` to `$9` as in a redirect. The query is kept.";
};

pub(super) static RESPOND: SectionKeys = section! {
    "route.respond";
    "status": apart("200 to 299 but 206, 400 to 599 but 416"), "`200`", Reload,
        "The status.";
    "body": apart("text"), "`\"\"`", Reload,
        "The body.";
    "content_type": apart("media type"), "`\"text/plain; charset=utf-8\"`", Reload,
        "The Content-Type.";
};

//! The default host and `[[host]]`: names, root, routes, header fields, error pages.
//!
//! Owns the keys that the top level and `[[host]]` share. Never decides which host a request is
//! for.

use std::path::Path;

use crate::access::ACCESS_OF_PART;
use crate::host_name::HostName;
use crate::item::Item;
use crate::key::{ConfigKey, SectionKeys, row, section};
use crate::model::config::{Config, ErrorPage, Host, ListenerSettings, Protocol};
use crate::model::encryption::Https;
use crate::model::file_settings::FileSettings;
use crate::overrides::Overrides;
use crate::page_name::PageName;
use crate::problem::Problems;
use crate::routes::{HOST_ROUTE, ROUTE};
use crate::section::Section;
use crate::value::{boolean, borrowed_text, cannot_be, duration, path};
use crate::wording::shown;
use crate::{access, field, host_name, request_path, routes};

/// A key of the top level and of `[[host]]`.
pub(super) const REDIRECT_TO_HTTPS: ConfigKey = row! {
    "redirect_to_https": apart("true or false"), "`false`; for a `[[host]]` that of the top level", Reload,
        "Redirects requests over plain connections to the same address with `https:` (308), at the \
         port of the first listener with `tls`. Paths below `/.well-known/acme-challenge/` are not redirected. It \
         needs such a listener, or `trusted_proxies`."
};

/// A key of the top level and of `[[host]]`.
pub(super) const HSTS: ConfigKey = row! {
    "hsts": apart("duration"), "none; for a `[[host]]` that of the top level", Reload,
        "For how long browsers shall use encrypted connections only: a `Strict-Transport-Security` field (RFC 6797) in answers over such connections. Browsers keep to it even if you change your mind; begin with `\"1h\"`."
};

pub(super) static HOST: SectionKeys = section! {
    "[[host]]";
    "names": apart("list of names"), "must be given", Reload,
        "`\"example.org\"`; `\"*.example.org\"` for all names with at least one more label. Ports and case are ignored.";
    "root": apart("path of a directory"), "the default host's", Reload,
        "The directory that the host serves.";
    "route": section("sections `[[host.route]]`"), "none", Reload,
        "Its routes.";
    "headers": section("table of fields"), "none", Reload,
        "Header fields added to its answers: `[host.headers]`.";
    "error_pages": section("table of paths"), "built-in texts", Reload,
        "Its error pages: `[host.error_pages]`.";
    const REDIRECT_TO_HTTPS;
    const HSTS;
    const ACCESS_OF_PART;
};

/// Reads the default host, whose keys are at the top level.
pub(super) fn read_default(
    top: &Section<'_>,
    files: FileSettings,
    base: &Path,
    problems: &mut Problems,
) -> Host {
    let sections = top.sections("route", &ROUTE, problems);
    Host {
        place: None,
        names: Vec::new(),
        routes: routes::read_all(&sections, &files, base, problems),
        files,
        headers: Vec::new(),
        error_pages: error_pages(top, problems),
        https: https(top, Https::default(), problems),
        access: access::read(top, base, problems),
    }
}

/// The settings of encrypted connections, or else the usual ones.
fn https(section: &Section<'_>, usual: Https, problems: &mut Problems) -> Https {
    let mut https = usual;
    section.read_into("redirect_to_https", &mut https.redirect, problems, boolean);
    section.read_into("hsts", &mut https.strict_for, problems, |item| duration(item).map(Some));
    https
}

const LEADS_NOWHERE: &str = "`redirect_to_https` leads nowhere: no listener has `tls`; add it to a [[listener]], or \
                             name the proxy that encrypts in `trusted_proxies`";

/// Ensures that a redirect to encrypted connections leads to one: of a listener, or of a proxy that is trusted to say
/// that its client's is. Listeners of the command line replace those of the file.
pub(super) fn check_redirects(
    top: &Section<'_>,
    config: &Config,
    overrides: &Overrides,
    problems: &mut Problems,
) {
    let is_encrypted = |one: &ListenerSettings| one.tls.is_some() && one.protocol == Protocol::Http;
    if config.listeners.iter().any(is_encrypted)
        || !config.trusted_proxies.is_empty()
        || !overrides.listen.is_empty()
    {
        return;
    }
    if config.default_host.https.redirect {
        let place = top.item("redirect_to_https").map_or(0, |item| item.key_offset);
        problems.at(place, LEADS_NOWHERE);
    } else if let Some(host) = config.hosts.iter().find(|host| host.https.redirect) {
        problems.add(host.place, LEADS_NOWHERE.to_owned());
    }
}

/// Reads every `[[host]]`. What it does not say of files and encrypted connections is as for the default host.
pub(super) fn read_all(
    top: &Section<'_>,
    default: &Host,
    base: &Path,
    problems: &mut Problems,
) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for section in top.sections("host", &HOST, problems) {
        let names = names(&section, &hosts, problems);
        let mut files = default.files.clone();
        section.read_into("root", &mut files.root, problems, |item| path(item, base));
        let routes = section.sections("route", &HOST_ROUTE, problems);
        hosts.push(Host {
            place: Some(problems.place(section.offset())),
            names,
            routes: routes::read_all(&routes, &files, base, problems),
            files,
            headers: field::headers(&section, problems),
            error_pages: error_pages(&section, problems),
            https: https(&section, default.https.clone(), problems),
            access: access::read(&section, base, problems),
        });
    }
    hosts
}

fn names(section: &Section<'_>, earlier: &[Host], problems: &mut Problems) -> Vec<HostName> {
    let mut seen: Vec<HostName> = earlier.iter().flat_map(|host| host.names.clone()).collect();
    let names = section.list("names", problems, |item| {
        let name = host_name::read(item)?;
        if seen.contains(&name) {
            return Err(cannot_be(item, &name.to_string(), "a host has this name already"));
        }
        seen.push(name.clone());
        Ok(name)
    });
    let is_empty = !section.has("names") || section.is_empty_list("names");
    if is_empty {
        problems.at(section.offset(), "[[host]] has no `names`; write `names = [\"example.org\"]`");
    }
    names.unwrap_or_default()
}

fn error_pages(section: &Section<'_>, problems: &mut Problems) -> Vec<ErrorPage> {
    let mut pages: Vec<ErrorPage> = Vec::new();
    for item in section.entries("error_pages", problems) {
        let status = item.key.parse().ok().filter(|status| (400..=599).contains(status));
        let Some(status) = status.filter(|_| item.key.len() == 3) else {
            let message = problems.misplaced("error_pages", item.key).unwrap_or_else(|| {
                format!("`{}` is not an error status; write one from 400 to 599", shown(item.key))
            });
            problems.at(item.key_offset, message);
            continue;
        };
        match page(&item) {
            Ok(path) => pages.push(ErrorPage { status, path }),
            Err(message) => problems.at(item.offset, message),
        }
    }
    pages.sort_by_key(|page| page.status);
    pages
}

fn page(item: &Item<'_>) -> Result<String, String> {
    let text = borrowed_text(item, "a path in quotes such as \"/404.html\"")?;
    request_path::check(text).map_err(|why| cannot_be(item, text, why))?;
    if PageName::of(text).is_some() {
        let why = "it is a page, and no code is run for an error; name a file without code";
        return Err(cannot_be(item, text, why));
    }
    Ok(text.to_owned())
}

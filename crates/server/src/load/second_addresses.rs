//! Pages that one of their addresses protects and another does not.
//!
//! Owns this check of a configuration. Never refuses one: the difference may be meant.

use config::HostId;
use config::RouteAction;
use config::route::{FoundRoute, RouteRequest};

use crate::site_data::SiteData;

/// The remarks of `check` and a start on pages whose addresses have different rules of access or different limits.
pub(super) fn second_addresses(data: &SiteData) -> Vec<String> {
    let mut told = Vec::new();
    let hosts = std::iter::once(&data.config.default_host).chain(&data.config.hosts);
    for (number, host) in (0..).zip(hosts) {
        let name = data.config.site_name(HostId(number)).map(ToString::to_string);
        let set = data.root_of(&host.files).and_then(|root| data.set_of(root));
        let Some(set) = set.map(|set| usize::from(set.0)) else { continue };
        let Some(pages) = data.pages.get(set) else { continue };
        for page in pages.pages.iter().filter(|page| !page.name.is_part()) {
            let paths = page.name.paths(&host.files.index).map(|path| format!("/{path}"));
            let paths: Vec<String> = paths.collect();
            let known = paths.iter().filter_map(|path| rules_of(data, name.as_deref(), path));
            let known: Vec<Rules<'_>> = known.collect();
            let Some((first, others)) = known.split_first() else { continue };
            let say = |other: &Rules<'_>, what: &str| {
                let (first, other) = (first.path, other.path);
                format!(
                    "`{other}` and `{first}` are the same page, and {what} holds for one of them only; name \
                     both, or what is common to both"
                )
            };
            let access =
                others.iter().find(|one| one.found.terms.access != first.found.terms.access);
            let limits = others.iter().find(|one| one.limits != first.limits);
            told.extend(access.map(|other| say(other, "a rule of `access`")));
            told.extend(limits.map(|other| say(other, "a [[limit]]")));
        }
    }
    told
}

/// The decisions about a path that leads to files.
struct Rules<'d> {
    path: &'d str,
    found: FoundRoute<'d>,
    /// Whether each limit counts it.
    limits: Vec<bool>,
}

fn rules_of<'d>(data: &'d SiteData, host: Option<&'d str>, path: &'d str) -> Option<Rules<'d>> {
    let found = data.table.find(&RouteRequest::new(host, "GET", path, None));
    let counts = |quota: &config::LimitRule| {
        quota.paths.is_empty() || quota.paths.iter().any(|glob| glob.is_match(path))
    };
    let limits = data.config.quotas.iter().map(counts).collect();
    let is_files = matches!(found.action, Ok(RouteAction::Files { .. }));
    is_files.then_some(Rules { path, found, limits })
}

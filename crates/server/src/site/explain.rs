//! The answer that a request would get, explained without a server: the matching rules, and their result.
//!
//! Owns the result of `velodrome check --explain`, as `answer` owns the real one. Waits for the
//! disk; runs no page.

use std::borrow::Cow;

use sys::clock;
use wire::http::target;

use super::Site;
use super::channel::channel_in;
use super::next_route::leads_on;
use super::outgoing::target_of;
use crate::limits::APP_MAIN;
use crate::site_data::SiteData;
use config::route::{Circumstances, Explanation, FoundRoute, RouteRequest, RuleId};
use config::{self, FILE_NAME, PageName, ProxyRoute, RouteAction};
use files::absence::Absence;
use files::rules::FileRules;
use files::{Disk, EntryKey, Errand, Job, LookupResult as Looked, PathContent, RootIndex};
use pages::{PageSet, SetIndex};

impl SiteData {
    /// Explains step by step which rule handles a request, and what answers it.
    pub fn explain(
        &self,
        host: Option<&str>,
        method: &str,
        target: &str,
        circumstances: Circumstances<'_>,
    ) -> Explanation {
        let (path, query) = target::split(target.as_bytes());
        let query = query.and_then(|query| str::from_utf8(query).ok());
        let raw = str::from_utf8(path).unwrap_or_default();
        let mut scratch = Vec::new();
        let wanted = || RouteRequest { host, method, path: "/", query, circumstances };
        let resolved = self.resolve(path, wanted, &mut scratch);
        let path = match &resolved {
            Ok(path) => &**path,
            Err(error) => {
                let result = format!("{}: the {error}", error.status());
                return Explanation { steps: Vec::new(), result, rule: RuleId::default() };
            }
        };
        let request = RouteRequest { host, method, path, query, circumstances };
        let mut explanation = self.table.explain(&request);
        let mut found = self.table.find(&request);
        let is_for_server = matches!(resolved, Ok(Cow::Owned(_)));
        let first_of = |found: &FoundRoute<'_>, steps: &mut Vec<String>| {
            if is_for_server { None } else { self.first_of(found, method, steps) }
        };
        let mut tried = first_of(&found, &mut explanation.steps);
        while leads_on(&found) && tried.is_none() {
            let next = self.table.explain_after(&request, found.rule);
            explanation.steps.extend(next.steps);
            (explanation.result, explanation.rule) = (next.result, next.rule);
            found = self.table.find_after(&request, found.rule);
            tried = first_of(&found, &mut explanation.steps);
        }
        let result = match &found.action {
            _ if Site::leads_to_https(path, &found, circumstances.scheme) => {
                let text =
                    "308: `redirect_to_https`; --https shows the answer to an encrypted request";
                Some(text.to_owned())
            }
            Ok(RouteAction::Files { rules, tries, .. }) if tries.is_empty() => {
                self.below_root(rules, &found.path, method, &found)
            }
            Ok(RouteAction::Files { rules, .. }) => match tried {
                Some(path) => self.below_root(rules, &path, method, &found),
                None => Some("404: nothing of `try` is there".to_owned()),
            },
            Ok(RouteAction::Module(name)) => self.app_set().and_then(|set| {
                Some(format!("{}: {}", explanation.result, self.state_of(set, name)?))
            }),
            Ok(RouteAction::Channels) => Some(self.channel_at(path)),
            Ok(RouteAction::Proxy(proxy)) => Some(server_of(proxy, raw, &found)),
            _ => None,
        };
        explanation.result = result.unwrap_or(explanation.result);
        let hide = |text: &mut String| *text = self.config.secrets.hidden_in(text);
        explanation.steps.iter_mut().for_each(hide);
        hide(&mut explanation.result);
        explanation
    }

    /// The channel that answers a path.
    fn channel_at(&self, path: &str) -> String {
        let name = channel_in(path);
        match (name, self.rulebook.pattern_of(name)) {
            ("", _) => "426: it is for a WebSocket that speaks of any channels".to_owned(),
            (name, "") => format!("404: no [[channel]] has a pattern for `{name}`"),
            (name, _) => format!("the channel `{name}`"),
        }
    }

    /// The search of `try`: a step for each path. Returns the first that has an answer.
    fn first_of(
        &self,
        found: &FoundRoute<'_>,
        method: &str,
        steps: &mut Vec<String>,
    ) -> Option<String> {
        let Ok(RouteAction::Files { rules, tries, .. }) = &found.action else { return None };
        let root = self.root_of(rules)?;
        let set = self.set_of(root)?;
        let asks_for_files = matches!(method, "GET" | "HEAD") || !leads_on(found);
        for target in tries {
            let mut step = |what: &str| steps.push(format!("try `{}`: {what}", target.as_str()));
            let Some(path) = target.path_from(&found.path) else {
                step("this is no path");
                continue;
            };
            let is_page = self.state_of(set, path.trim_start_matches('/')).is_some();
            let is_there = is_page
                || asks_for_files
                    && matches!(
                        self.content_of(root, &path)?,
                        PathContent::File(_) | PathContent::Listing(_) | PathContent::Failed(_)
                    );
            if is_there {
                step(&format!("`{path}` is there"));
                return Some(path);
            }
            let what = if asks_for_files { "is not there" } else { "is no page" };
            step(&format!("`{path}` {what}"));
        }
        None
    }

    /// The result of a rule that serves files for a path: a page, a file, or the reason why there is neither.
    fn below_root(
        &self,
        rules: &config::FileSettings,
        path: &str,
        method: &str,
        found: &FoundRoute<'_>,
    ) -> Option<String> {
        let root = self.root_of(rules)?;
        let set = self.set_of(root)?;
        let relative = path.trim_start_matches('/');
        if let Some(page) = self.state_of(set, relative) {
            return Some(format!("the page {page}"));
        }
        let main = self.main_of(found);
        if !matches!(method, "GET" | "HEAD") {
            let status = if method == "OPTIONS" { 204 } else { 405 };
            let own = || format!("{status}, allowed are GET, HEAD, OPTIONS");
            return Some(main.unwrap_or_else(own));
        }
        let missing = match self.content_of(root, path)? {
            PathContent::File(file) => {
                let directory = rules.root.display();
                return Some(format!("the file `/{}` below {directory}", file.known.relative));
            }
            PathContent::Listing(_) => {
                return Some(format!("the listing of `{path}` below {}", rules.root.display()));
            }
            PathContent::Redirect => {
                return Some(format!("redirected to `{path}/`: it is a directory"));
            }
            PathContent::Failed(failure) => return Some(failure.status().to_string()),
            PathContent::Missing(absence) => absence,
        };
        let rules = self.rules.get(usize::from(root.0))?;
        let why = why_missing(missing, relative, rules, self.pages.get(usize::from(set.0))?);
        Some(match main {
            Some(main) => format!("{main}, because there is no file: {why}"),
            None => format!("404: {why}"),
        })
    }

    /// The main module, if it answers paths without a file.
    fn main_of(&self, found: &FoundRoute<'_>) -> Option<String> {
        // As in `script.rs`: a route that serves files means that files answer below it.
        let set = self.app_set().filter(|_| self.table.place_of(found.rule).is_none())?;
        Some(format!("the module `{APP_MAIN}`: {}", self.state_of(set, APP_MAIN)?))
    }

    /// The file of the page or module that answers, and whether it is usable.
    fn state_of(&self, set: SetIndex, path: &str) -> Option<String> {
        let index = usize::from(set.0);
        let (place, pages) = (self.page_roots.get(index)?, self.pages.get(index)?);
        let page = pages.pages.get(pages.find(path)?)?;
        let file = place.root.path.join(&*page.name.file);
        let broken = if page.lua.is_some() { "" } else { ", which is broken: 500" };
        Some(format!("`{}`{broken}", file.display()))
    }

    fn content_of(&self, root: RootIndex, path: &str) -> Option<PathContent> {
        let rules = self.rules.get(usize::from(root.0))?;
        let errand = Errand { known: None, wanted: wire::http::encoding::Available::default() };
        let job = Job::new(EntryKey { root, path }, rules, errand, clock::realtime().0 * 1000);
        match Disk::open(&self.roots).ok()?.look_up(&job) {
            Looked::Content(content) => Some(content),
            Looked::Unchanged => None,
        }
    }
}

/// Why a client does not get the file.
fn why_missing(absence: Absence, relative: &str, rules: &FileRules, pages: &PageSet) -> String {
    let part = pages.pages.iter().find(|page| {
        let name = &page.name;
        name.is_part() && [&name.full, &name.short].iter().any(|path| ***path == *relative)
    });
    match absence {
        Absence::NotFound => match part {
            Some(part) => format!("`{}` is a part, which pages include", part.name.file),
            None => "there is nothing of that name".to_owned(),
        },
        Absence::Hidden => why_hidden(relative, rules).to_owned(),
        Absence::Outside => "it is a link out of the root, or `symlinks` is false".to_owned(),
        Absence::Forbidden => "this user may not read it".to_owned(),
        Absence::NotRegular => {
            "it is not a file, or it is a directory without index and listing".to_owned()
        }
    }
}

fn why_hidden(relative: &str, rules: &FileRules) -> &'static str {
    let is_any = |is: fn(&str) -> bool| relative.split('/').any(is);
    if rules.is_app(relative) {
        "the directory of app modules is not served"
    } else if is_any(PageName::is_source) {
        "the source of a page is not served"
    } else if is_any(|name| name.trim_start_matches('#').starts_with(FILE_NAME)) {
        "the configuration is not served"
    } else if is_any(|name| name.starts_with('.')) {
        "names that begin with a dot are hidden"
    } else {
        "`hide` names it"
    }
}

/// The upstream that answers, and the path that its server is asked for, as it is in the request line.
fn server_of(route: &ProxyRoute, raw: &str, found: &FoundRoute<'_>) -> String {
    let asked = target_of(raw, None, &found.path, found.rest);
    format!("a server of the upstream `{}`, asked for `{asked}`", route.upstream)
}

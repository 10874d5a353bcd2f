//! The verb `check`: whether the configuration is valid, and which route serves a path.

use config::Overrides;
use config::route::Circumstances;
use http::FieldList;
use pages::{Before, PageProblem};
use server::load::{ConfigSource, missing_error_pages, remarks};
use server::site_data::SiteData;
use wire::http::url::Scheme;

use crate::Failure;
use crate::cluster_trial;
use crate::flags;
use crate::migration;
use crate::output;

/// Definitions of the page functions, for the Lua language server.
const DEFINITIONS: &str = include_str!("../docs/velodrome.d.lua");

/// Validates, and explains a path if requested.
pub(crate) fn run(flags: &flags::Check) -> Result<(), Failure> {
    if flags.definitions {
        return output::print(DEFINITIONS);
    }
    if flags.defaults {
        return output::print(&config::defaults());
    }
    if let Some(file) = &flags.from_nginx {
        return migration::print(file, migrate::from_nginx);
    }
    if let Some(file) = &flags.from_caddy {
        return migration::print(file, migrate::from_caddy);
    }
    let source = ConfigSource {
        directory: flags.source.directory.clone(),
        config: flags.source.config.clone(),
        overrides: Overrides::default(),
    };
    if let Some(target) = &flags.explain {
        let loaded = source.load(1, Before::default());
        let data = loaded.map_err(Failure::failed)?;
        return explain(&data, flags, target);
    }
    let data = server::serve::check(&source).map_err(Failure::failed)?;
    let config = match source.config_path() {
        Some(path) => path.display().to_string(),
        None => "the defaults (no velodrome.toml)".to_owned(),
    };
    let hosts = data.config.hosts.len();
    let routes = data.config.default_host.routes.len()
        + data.config.hosts.iter().map(|host| host.routes.len()).sum::<usize>();
    let problems = pages::problems(&data.page_roots, &data.pages);
    // The first line of the output is about all checks, so they run before it.
    let missing = missing_error_pages(&data);
    let flaws = data.tls.problems();
    let tried = cluster_trial::of(&data).unwrap_or_default();
    let is_sound = missing.is_empty() && flaws.is_empty() && tried.problems.is_empty();
    let state =
        if problems.is_empty() && is_sound { "valid" } else { "valid, with the problems below" };
    let (routes, hosts) = (count(routes, "route"), count(hosts, "virtual host"));
    let mut text = format!("{config}: {state} ({routes}, {hosts})\n");
    text += &served(&data);
    for shown in data.tls.shown() {
        text += &format!("  certificate of {}\n", shown.summary());
    }
    for line in &tried.lines {
        text += &format!("  {line}\n");
    }
    let no_profile = server::serve::without_profile(&data.config);
    for warning in remarks(&data).into_iter().chain(no_profile) {
        text += &format!("  warning: {warning}\n");
    }
    output::print(&text)?;
    if !missing.is_empty() {
        return Err(Failure::Failed(missing.join("\n")));
    }
    if !flaws.is_empty() {
        return Err(Failure::Failed(flaws.join("\n")));
    }
    if !tried.problems.is_empty() {
        return Err(Failure::Failed(tried.problems.join("\n")));
    }
    tell(&problems)
}

/// The directories that are served, and the app that is run.
fn served(data: &SiteData) -> String {
    let mut text = String::new();
    let mut roots: Vec<_> = data.roots.iter().map(|root| root.path.as_path()).collect();
    roots.sort_unstable();
    roots.dedup();
    for root in roots {
        text += &format!("  serves {}\n", root.display());
    }
    let app = data.app_set().and_then(|set| data.page_roots.get(usize::from(set.0)));
    if let Some(app) = app {
        text += &format!("  runs the app modules of {}\n", app.root.path.display());
    }
    text
}

/// Broken pages and undefined names are errors, although a server would start with them.
fn tell(problems: &[PageProblem]) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    let mut text = format!("{} in pages:", count(problems.len(), "problem"));
    for problem in problems {
        text.push_str(&format!("\n{problem}"));
    }
    Err(Failure::Failed(text))
}

fn count(number: usize, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Prints which route serves a path.
fn explain(data: &SiteData, flags: &flags::Check, target: &str) -> Result<(), Failure> {
    if !target.starts_with('/') {
        let text = format!("--explain {target}: a path begins with `/`: --explain /{target}");
        return Err(Failure::WrongUse(text));
    }
    let mut fields = FieldList::new();
    for text in &flags.header {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        if fields.add(name.trim(), value.trim().as_bytes()).is_err() {
            let told = format!("--header {text}: write it as `Name: value`");
            return Err(Failure::WrongUse(told));
        }
    }
    let circumstances = Circumstances {
        scheme: if flags.https { Scheme::Https } else { Scheme::Http },
        fields: Some(&fields.fields()),
        address: flags.address,
        listener: flags.listener.as_ref(),
    };
    let explanation = data.explain(flags.host.as_deref(), &flags.method, target, circumstances);
    output::print_line(&explanation.to_string())
}

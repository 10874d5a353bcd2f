//! The files of maps and countries that a configuration names, read once all sections were.
//!
//! Owns which of them are read, each once. Never knows their form.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahash::HashMap;

use crate::countries::Countries;
use crate::limits::MAP_SIZE_MAX;
use crate::model::config::{Config, Route, RouteAction};
use crate::model::redirect_map::RedirectMap;
use crate::model::when::RouteCondition;
use crate::outside::Outside;
use crate::problem::Problems;
use crate::section::Section;

/// Reads the files, and gives each route what it needs of them.
pub(super) fn load(
    top: &Section<'_>,
    config: &mut Config,
    outside: &dyn Outside,
    problems: &mut Problems,
) {
    let countries = countries(top, config, outside, problems);
    let mut maps: HashMap<PathBuf, Arc<RedirectMap>> = HashMap::default();
    let hosts = std::iter::once(&mut config.default_host).chain(&mut config.hosts);
    for route in hosts.flat_map(|host| &mut host.routes) {
        give_countries(route, countries.as_ref(), problems);
        let RouteAction::Map(rule) = &mut route.action else { continue };
        if let Some(known) = maps.get(&rule.file) {
            rule.rows = Arc::clone(known);
            continue;
        }
        let read = outside
            .text(&rule.file, MAP_SIZE_MAX)
            .map_err(|why| vec![why])
            .and_then(|text| RedirectMap::parse(&text));
        match read {
            Ok(rows) => rule.rows = Arc::new(rows),
            Err(whys) => {
                for why in whys {
                    let message = format!("the map `{}`: {why}", rule.file.display());
                    problems.add(Some(rule.place), message);
                }
            }
        }
        maps.insert(rule.file.clone(), Arc::clone(&rule.rows));
    }
}

impl Config {
    /// The files that a reload reads again, besides the main one: included ones, secrets, maps and countries.
    pub fn outside_files(&self) -> impl Iterator<Item = &Path> {
        let routes = std::iter::once(&self.default_host).chain(&self.hosts);
        let maps = routes.flat_map(|host| &host.routes).filter_map(|route| match &route.action {
            RouteAction::Map(map) => Some(map.file.as_path()),
            _ => None,
        });
        let parts = self.parts.iter().map(|part| part.path.as_path());
        parts.chain(self.countries.as_deref()).chain(maps)
    }
}

/// The file of countries. `None`: there is none.
fn countries(
    top: &Section<'_>,
    config: &Config,
    outside: &dyn Outside,
    problems: &mut Problems,
) -> Option<Arc<Countries>> {
    let file = config.countries.as_ref()?;
    match outside
        .text(file, MAP_SIZE_MAX)
        .map_err(|why| vec![why])
        .and_then(|text| Countries::parse(&text))
    {
        Ok(countries) => Some(Arc::new(countries)),
        Err(whys) => {
            let place = top.item("countries").map(|item| problems.place(item.offset));
            for why in whys {
                problems.add(place, format!("`countries` `{}`: {why}", file.display()));
            }
            // The routes that ask for it have no other problem.
            Some(Arc::default())
        }
    }
}

fn give_countries(route: &mut Route, countries: Option<&Arc<Countries>>, problems: &mut Problems) {
    for condition in &mut route.conditions {
        let RouteCondition::Country { map, .. } = condition else { continue };
        match countries {
            Some(countries) => *map = Arc::clone(countries),
            None => {
                let why = "`country` in `when` needs a file of networks; name it with `countries` at the \
                           top level";
                problems.add(Some(route.place), why);
            }
        }
    }
}

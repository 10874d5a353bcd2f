//! The app modules that a configuration names, and their uses.
//!
//! Owns that list, and what naming one requires of the rest of the configuration. Never searches
//! for a module.

use crate::model::config::{AppPresence, Config};
use crate::model::route::RouteAction;
use crate::problem::{Problems, TextPosition};

/// An app module that a configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedModule {
    /// Its name.
    pub name: String,
    /// The user that names it.
    pub by: ModuleUser,
}

/// A user that names an app module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleUser {
    /// A route: the module answers requests.
    Route,
    /// A `[[process]]`: the module is one.
    Process,
    /// A `[[channel]]`: the module decides what clients may do.
    Channel,
}

impl ModuleUser {
    /// The text in a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Route => "a route",
            Self::Process => "[[process]]",
            Self::Channel => "[[channel]]",
        }
    }
}

impl Config {
    /// Each named module, once for each use.
    pub fn named_modules(&self) -> Vec<NamedModule> {
        let mut named = Vec::new();
        for (name, by, _) in places(self) {
            let module = NamedModule { name: name.to_owned(), by };
            if !named.contains(&module) {
                named.push(module);
            }
        }
        named
    }
}

fn places(config: &Config) -> impl Iterator<Item = (&str, ModuleUser, TextPosition)> {
    let hosts = std::iter::once(&config.default_host).chain(&config.hosts);
    let of_routes = hosts.flat_map(|host| &host.routes).filter_map(|route| match &route.action {
        RouteAction::Module(name) => Some((&**name, ModuleUser::Route, route.place)),
        _ => None,
    });
    let processes = config.processes.iter();
    let of_processes =
        processes.map(|process| (&*process.module, ModuleUser::Process, process.place));
    let of_channels = config.channels.iter().filter_map(|channel| {
        Some((&**channel.module.as_ref()?, ModuleUser::Channel, channel.place))
    });
    of_routes.chain(of_processes).chain(of_channels)
}

/// Naming a module requires the directory of app modules, and enabled pages.
pub(super) fn check(config: &mut Config, problems: &mut Problems) {
    if places(config).next().is_some() {
        config.app.presence = AppPresence::Required;
    }
    for (name, _, place) in places(config).filter(|_| !config.pages.enabled) {
        let told = format!("the module `{name}` cannot run: `enabled` of [pages] is false");
        problems.add(Some(place), told);
    }
}

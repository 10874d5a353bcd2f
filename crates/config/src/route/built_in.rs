//! Routes that the configuration does not write: those of channels and of the store.
//!
//! Owns their paths, and that they come before the routes of every host. The route that the path has otherwise still
//! gives what guards a request and what is added to its answer: access, limits of bodies, fields, the log.

use std::borrow::Cow;

use super::rule::Paths;
use super::{FoundRoute, RouteTable};
use crate::{Config, RouteAction};

/// The path prefix of channels.
const CHANNELS: &str = "/channels";

/// The files of the client for browsers.
const BROWSER_CLIENT: [&str; 2] = ["/velodrome.js", "/velodrome.d.ts"];

/// The path prefix of databases.
const STORE: &str = "/store";

/// A route of the server itself. Plain data.
#[derive(Debug, Clone)]
pub(super) struct BuiltIn {
    pub(crate) paths: Paths,
    pub(crate) action: RouteAction,
}

impl BuiltIn {
    /// All that a configuration has use for.
    pub(super) fn all(config: &Config) -> Vec<Self> {
        let mut all = Vec::new();
        if !config.channels.is_empty() {
            let paths = Paths::Prefix(CHANNELS.to_owned());
            all.push(Self { paths, action: RouteAction::Channels });
            all.extend(BROWSER_CLIENT.map(|path| Self {
                paths: Paths::Exact(path.to_owned()),
                action: RouteAction::BrowserClient,
            }));
        }
        let has_store = config.store.path.is_some();
        let of_http = config.databases.iter().filter(|rules| has_store && rules.http);
        all.extend(of_http.map(|rules| Self {
            paths: Paths::Prefix(format!("{STORE}/{}", rules.name)),
            action: RouteAction::Database(rules.name.clone()),
        }));
        all
    }
}

impl RouteTable {
    /// The built-in route of a path.
    pub(super) fn built_in_of(&self, path: &str) -> Option<&BuiltIn> {
        self.built_in().iter().find(|route| route.paths.take(path))
    }

    /// The same route, or that of the server itself for this path, which is the one of the request.
    #[inline]
    pub(super) fn or_built_in<'a>(
        &'a self,
        mut found: FoundRoute<'a>,
        path: &'a str,
    ) -> FoundRoute<'a> {
        let Some(route) = self.built_in_of(path) else { return found };
        if found.action.is_err() {
            // Its fields and its access are those of the files of the host.
            found.rule = self.host(found.host).files;
        }
        found.action = Ok(&route.action);
        (found.path, found.rest, found.location) = (Cow::Borrowed(path), 0, Cow::Borrowed(""));
        found
    }
}

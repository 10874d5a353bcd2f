//! Which directories cannot be the upload directory.
//!
//! Owns the rule that files saved by pages never replace anything that the server reads. Inspects
//! the disk before anything is served.

use std::fmt;
use std::path::{Path, PathBuf};

use config::{Config, RouteAction};

use crate::site_data::SiteData;

/// Why a directory cannot be used for uploads.
#[derive(Debug)]
pub enum Taken {
    /// It contains, at any depth, a file that the server uses: the configuration, or the keys.
    Own(PathBuf),
    /// It is a served directory with pages, or contains one; with the place in the configuration that serves it.
    Root(PathBuf, String),
    /// It contains a page.
    Page(PathBuf),
    /// It is, is in, or contains the directory of app modules.
    App(PathBuf),
}

impl fmt::Display for Taken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Own(path) | Self::Root(path, _) | Self::Page(path) | Self::App(path)) = self;
        let path = path.display();
        match self {
            Self::Own(_) => write!(formatter, "the server reads `{path}`"),
            Self::Root(_, by) => write!(formatter, "`{path}` is served by {by}"),
            Self::Page(_) => write!(formatter, "`{path}` is a page"),
            Self::App(_) => write!(formatter, "`{path}` has the app modules"),
        }
    }
}

impl Taken {
    /// The reason why this directory cannot be used, if any. A directory inside a served one is allowed if it contains no page.
    pub(super) fn of(uploads: &Path, config: Option<&Path>, data: &SiteData) -> Option<Self> {
        // A file that does not exist cannot be replaced.
        let place = uploads.canonicalize().ok()?;
        let below = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&place));
        let own = [config, data.config.pages.secret_file.as_deref()];
        // For a link, the directory of the link counts too, because the link could be replaced there.
        let lies_below = |path: &Path| below(path) || path.parent().is_some_and(below);
        if let Some(file) = own.into_iter().flatten().find(|path| lies_below(path)) {
            return Some(Self::Own(file.to_path_buf()));
        }
        let app = &data.config.app.path;
        let within = app.canonicalize().is_ok_and(|app| place.starts_with(app));
        if within || below(app) {
            return Some(Self::App(app.clone()));
        }
        for root in data.roots.iter().map(|root| &root.path) {
            if lies_below(root) {
                return Some(Self::Root(root.clone(), served_by(root, &data.config)));
            }
        }
        for (place, pages) in data.page_roots.iter().zip(&data.pages) {
            let root = &place.root.path;
            let mut files = pages.pages.iter().map(|page| root.join(&*page.name.file));
            if let Some(page) = files.find(|file| lies_below(file)) {
                return Some(Self::Page(page));
            }
        }
        None
    }
}

/// The part of the configuration that serves a directory.
fn served_by(root: &Path, config: &Config) -> String {
    for host in std::iter::once(&config.default_host).chain(&config.hosts) {
        if host.files.root == root {
            let of_host = |place| format!("the [[host]] at {}:{place}", config.file_name);
            return host.place.map_or("the default host".to_owned(), of_host);
        }
        let route = host.routes.iter().find(
            |route| matches!(&route.action, RouteAction::Files { rules, .. } if rules.root == root),
        );
        if let Some(route) = route {
            return format!("the [[route]] at {}:{}", config.file_name, route.place);
        }
    }
    "the configuration".to_owned()
}

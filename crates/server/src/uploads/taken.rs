//! Which directory cannot be the one for uploads.
//!
//! Owns the rule: what pages save never takes the place of what the server reads. Looks at the disk, before anything is
//! served.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::site::SiteData;

/// What makes a directory unfit for uploads.
#[derive(Debug)]
pub enum Taken {
    /// A file that the server goes by lies in it or further down: the configuration, or the keys.
    Own(PathBuf),
    /// It is a served directory with its pages, or one such lies in it.
    Root(PathBuf),
    /// A page lies in it.
    Page(PathBuf),
    /// It is the directory of app modules, lies in it, or has it in it.
    App(PathBuf),
}

impl fmt::Display for Taken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Own(path) | Self::Root(path) | Self::Page(path) | Self::App(path)) = self;
        let path = path.display();
        match self {
            Self::Own(_) => write!(formatter, "the server reads `{path}`"),
            Self::Root(_) => write!(formatter, "`{path}` is served"),
            Self::Page(_) => write!(formatter, "`{path}` is a page"),
            Self::App(_) => write!(formatter, "`{path}` has the app modules"),
        }
    }
}

impl Taken {
    /// What takes this directory, if anything does. A directory within a served one is free when no page lies in it.
    pub(crate) fn of(uploads: &Path, config: Option<&Path>, data: &SiteData) -> Option<Self> {
        // What is not there takes nothing.
        let place = uploads.canonicalize().ok()?;
        let below = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&place));
        let own = [config, data.config.pages.secret_file.as_deref()];
        // Of a link its own place counts, too: it could be replaced there.
        let lies_below = |path: &Path| below(path) || path.parent().is_some_and(below);
        if let Some(file) = own.into_iter().flatten().find(|path| lies_below(path)) {
            return Some(Self::Own(file.to_path_buf()));
        }
        let app = &data.config.app.path;
        let within = app.canonicalize().is_ok_and(|app| place.starts_with(app));
        if within || below(app) {
            return Some(Self::App(app.clone()));
        }
        for (root, pages) in data.roots.iter().zip(&data.pages) {
            if lies_below(&root.path) {
                return Some(Self::Root(root.path.clone()));
            }
            let mut files = pages.pages.iter().map(|page| root.path.join(&*page.name.file));
            if let Some(page) = files.find(|file| lies_below(file)) {
                return Some(Self::Page(page));
            }
        }
        None
    }
}

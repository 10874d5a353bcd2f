//! Which directories cannot be the upload directory.
//!
//! Owns the rule that files saved by pages never replace anything that the server uses. Inspects
//! the disk before anything is served.

use std::path::{Path, PathBuf};

use config::{AccessLogTarget, Config, ListenerAddress, RouteAction};

use super::place_of;
use crate::access::paths_of;
use crate::certificate_files::files_of;
use crate::control_path::control_path;
use crate::site_data::SiteData;

/// Why a directory cannot be used for uploads.
#[derive(Debug, thiserror::Error)]
pub enum UploadsTaken {
    /// It contains, at any depth, something that the server uses: the configuration, keys, the log or a socket.
    #[error("the server uses `{0}`")]
    Own(PathBuf),
    /// It is, is in, or contains the directory of the store.
    #[error("`{0}` is the store")]
    Store(PathBuf),
    /// It is, is in, or contains the directory of certificates that the server orders.
    #[error("`{0}` has the keys of certificates")]
    Orders(PathBuf),
    /// It is, is in, or contains the directory of a cache.
    #[error("`{0}` is of a cache")]
    Cache(PathBuf),
    /// It is a served directory with pages, or contains one; with the place in the configuration that serves it.
    #[error("`{0}` is served by {1}")]
    Root(PathBuf, String),
    /// It contains a page.
    #[error("`{0}` is a page")]
    Page(PathBuf),
    /// It is, is in, or contains the directory of app modules.
    #[error("`{0}` has the app modules")]
    App(PathBuf),
}

impl UploadsTaken {
    /// The reason why this directory cannot be used, if any. A directory inside a served one is allowed if it contains
    /// no page.
    pub(super) fn of(uploads: &Path, config: Option<&Path>, data: &SiteData) -> Option<Self> {
        let place = uploads.canonicalize().ok()?;
        let below = |path: &Path| place_of(path).starts_with(&place);
        // For a link, the directory of the link counts too, because the link could be replaced there.
        let lies_below = |path: &Path| below(path) || path.parent().is_some_and(below);
        let control = control_path(&data.config);
        let mut own = config.into_iter().chain(own_files(&data.config)).chain([&*control]);
        if let Some(file) = own.find(|path| lies_below(path)) {
            return Some(Self::Own(file.to_path_buf()));
        }
        let directories = [
            (Some(&*data.config.app.path), Self::App as fn(PathBuf) -> Self),
            (data.config.store.path.as_deref(), Self::Store),
            (data.orders.as_ref().and_then(|settings| settings.state.directory()), Self::Orders),
        ];
        let caches = data.cache_directories.iter();
        let caches = caches.map(|path| (Some(path.as_path()), Self::Cache as fn(PathBuf) -> Self));
        for (path, taken) in directories.into_iter().chain(caches) {
            let Some(path) = path else { continue };
            if place.starts_with(place_of(path)) || lies_below(path) {
                return Some(taken(path.to_path_buf()));
            }
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

/// Every file and socket that the configuration names for the server itself, except the control socket.
fn own_files(config: &Config) -> impl Iterator<Item = &Path> {
    let keys = &config.channel_settings.keys;
    let files = [
        config.pages.secret_file.as_deref(),
        config.pages.fetch_ca.as_deref(),
        config.pages.fetch_certificate.as_deref(),
        config.pages.fetch_key.as_deref(),
        keys.token_keys.as_deref(),
        keys.api_keys.as_deref(),
        config.admin.keys.as_deref(),
        match &config.log.access {
            AccessLogTarget::File(path) => Some(path.as_path()),
            AccessLogTarget::Off | AccessLogTarget::Stdout | AccessLogTarget::Stderr => None,
        },
    ];
    let accounts = config.acme.issuers.iter().filter_map(|issuer| issuer.account.as_ref());
    let of_orders = accounts.map(|account| &*account.key_file).chain(config.acme.ca.as_deref());
    let sockets = config.listeners.iter().filter_map(|listener| match &listener.address {
        ListenerAddress::Unix(path) => Some(path.as_path()),
        ListenerAddress::Tcp(_) | ListenerAddress::Systemd(_) => None,
    });
    let upstreams = config.upstreams.iter().filter_map(|upstream| upstream.tls.as_ref());
    let of_listeners = files_of(config).into_iter().chain(paths_of(config));
    files
        .into_iter()
        .flatten()
        .chain(of_listeners)
        .chain(of_orders)
        .chain(upstreams.flat_map(|tls| tls.files()))
        .chain(sockets)
}

/// The part of the configuration that serves a directory.
fn served_by(root: &Path, config: &Config) -> String {
    for host in std::iter::once(&config.default_host).chain(&config.hosts) {
        if host.files.root == root {
            let of_host = |place| format!("the [[host]] at {}", config.files.at(place));
            return host.place.map_or("the default host".to_owned(), of_host);
        }
        let route = host.routes.iter().find(
            |route| matches!(&route.action, RouteAction::Files { rules, .. } if rules.root == root),
        );
        if let Some(route) = route {
            return format!("the [[route]] at {}", config.files.at(route.place));
        }
    }
    "the configuration".to_owned()
}

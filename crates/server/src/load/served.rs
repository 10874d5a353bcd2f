//! Files and directories of the server itself are not served.
//!
//! Owns that rule, and where a path leads. Reads no content.

use std::path::{Path, PathBuf};

use config::AccessLogTarget;

use super::{LoadError, absolute};
use crate::site_data::SiteData;

/// The directories that are never served, whatever is hidden of them.
const STORE: &str = "store";
const ORDERS: &str = "`state` of [acme]";
const CACHE: &str = "`directory` of `cache`";

/// Ensures that neither the store, the keys of certificates, stored answers, the access log nor a part of the
/// configuration is served.
pub(super) fn look_at_served(data: &SiteData) -> Result<(), LoadError> {
    let log = match &data.config.log.access {
        AccessLogTarget::File(path) => Some(path.as_path()),
        AccessLogTarget::Off | AccessLogTarget::Stdout | AccessLogTarget::Stderr => None,
    };
    let store = data.config.store.path.as_deref();
    let orders = data.orders.as_ref().and_then(|settings| settings.state.directory());
    let own = [(STORE, store), (ORDERS, orders), ("access log", log)];
    let own = own.into_iter().filter_map(|(what, path)| Some((what, path?)));
    let caches = data.cache_directories.iter().map(|path| (CACHE, path.as_path()));
    let parts = data.config.parts.iter().map(|part| (part.what, part.path.as_path()));
    for (what, path) in own.chain(caches).chain(parts) {
        let place = place_of(path);
        for (root, rules) in data.whole_roots().map(|(root, rules)| (&root.path, rules)) {
            let Ok(served) = root.canonicalize() else { continue };
            let Ok(inner) = place.strip_prefix(&served) else { continue };
            // These are directories, and what is hidden of them may be a part.
            let is_directory = [STORE, ORDERS, CACHE].contains(&what);
            let is_hidden = !is_directory && rules.hides(&inner.to_string_lossy());
            if !is_hidden {
                let (path, root) = (path.to_path_buf(), root.clone());
                return Err(LoadError::OwnServed { what, path, root });
            }
        }
    }
    Ok(())
}

/// Where a file or directory is or will be, without links: if it does not exist yet, its nearest existing parent tells.
pub(super) fn place_of(path: &Path) -> PathBuf {
    let absolute = absolute(path);
    let found = absolute.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, place)) = found else { return absolute };
    match absolute.strip_prefix(part) {
        Ok(rest) if !rest.as_os_str().is_empty() => place.join(rest),
        _ => place,
    }
}

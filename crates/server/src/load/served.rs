//! What the server keeps for itself is not served.
//!
//! Owns that rule, and where a path leads. Reads no content.

use std::path::{Path, PathBuf};

use config::AccessLog;

use super::{LoadError, absolute};
use crate::site_data::SiteData;

/// Ensures that neither the store, the keys of certificates nor the access log is served.
pub(super) fn look_at_served(data: &SiteData) -> Result<(), LoadError> {
    let log = match &data.config.log.access {
        AccessLog::File(path) => Some(path.as_path()),
        AccessLog::Off | AccessLog::Stdout | AccessLog::Stderr => None,
    };
    let store = data.config.store.path.as_deref();
    let orders = data.orders.as_ref().map(|settings| settings.state.as_path());
    let log = ("access log", log);
    for (what, path) in [("store", store), ("`state` of [acme]", orders), log] {
        let Some(path) = path else { continue };
        let place = place_of(path);
        for (root, rules) in data.roots.iter().map(|root| &root.path).zip(&data.rules) {
            let Ok(served) = root.canonicalize() else { continue };
            let Ok(inner) = place.strip_prefix(&served) else { continue };
            // The others are directories, and what is hidden of them may be a part.
            let is_hidden = what == log.0 && rules.hides(&inner.to_string_lossy());
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

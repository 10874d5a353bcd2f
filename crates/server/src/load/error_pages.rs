//! The configured error pages: whether the files are there, and are files.
//!
//! Owns this check of a configuration. Never sends one.

use super::LoadError;
use crate::site_data::SiteData;

/// An error page is a file. A page in its place would never be sent, without any visible reason.
pub(super) fn look_at_error_pages(data: &SiteData) -> Result<(), LoadError> {
    for host in std::iter::once(&data.config.default_host).chain(&data.config.hosts) {
        let set = data.root_of(&host.files).and_then(|root| data.set_of(root));
        let Some(index) = set.map(|set| usize::from(set.0)) else { continue };
        let (Some(place), Some(pages)) = (data.page_roots.get(index), data.pages.get(index)) else {
            continue;
        };
        let root = &place.root;
        for error_page in &host.error_pages {
            let path = error_page.path.trim_start_matches('/');
            let page = pages.find(path).and_then(|page| pages.pages.get(page));
            if let Some(page) = page.filter(|_| !root.path.join(path).is_file()) {
                return Err(LoadError::ErrorPage {
                    status: error_page.status,
                    path: error_page.path.clone(),
                    page: root.path.join(&*page.name.file),
                });
            }
        }
    }
    Ok(())
}

/// Configured error pages whose file is missing, so that the server would send its own.
pub fn missing_error_pages(data: &SiteData) -> Vec<String> {
    let hosts = std::iter::once(&data.config.default_host).chain(&data.config.hosts);
    let pages = hosts.flat_map(|host| host.error_pages.iter().map(move |page| (host, page)));
    let missing = pages.filter_map(|(host, page)| {
        let file = host.files.root.join(page.path.trim_start_matches('/'));
        let (status, path) = (page.status, &page.path);
        (!file.is_file()).then(|| {
            format!(
                "`error_pages`: {status} is \"{path}\", but there is no file {}: create it, or remove \
                 {status}",
                file.display()
            )
        })
    });
    missing.collect()
}

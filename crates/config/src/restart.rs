//! Which keys a reload cannot change.
//!
//! Owns the comparison of two configurations, row by row. Each row says whether a reload can change
//! it.

use std::path::{Path, PathBuf};

use crate::key::{ChangeEffect, ConfigKey, SectionKeys};
use crate::keys::SECTIONS;
use crate::model::config::Config;
use crate::model::upstream::UpstreamSettings;
use crate::tunables::full_name;

/// The keys whose values differ and take effect only with a restart, as `section.key`.
pub fn needs_restart(old: &Config, new: &Config) -> Vec<String> {
    // Copied once, because a row gives mutable access to its value.
    let (mut old, mut new) = (old.clone(), new.clone());
    let mut names = Vec::new();
    for section in SECTIONS {
        for key in section.keys().filter(|key| key.change == ChangeEffect::Restart) {
            if values(section, key, &mut old) != values(section, key, &mut new) {
                names.push(full_name(section, key));
            }
        }
    }
    // A directory that is not used any more stays as it is.
    let directories = |config: &Config| -> Vec<PathBuf> {
        let all = config.upstreams.iter().filter_map(UpstreamSettings::cache_directory);
        all.map(Path::to_path_buf).collect()
    };
    let known = directories(&old);
    if directories(&new).iter().any(|directory| !known.contains(directory)) {
        names.push("upstream.cache.directory".to_owned());
    }
    names
}

/// The values of a key: one for each section with that name.
fn values(section: &SectionKeys, key: &ConfigKey, config: &mut Config) -> Vec<Option<String>> {
    if section.name != super::listener::LISTENER.name {
        return vec![key.show(config)];
    }
    let listeners = std::mem::take(&mut config.listeners);
    let values = listeners.iter().map(|listener| {
        config.listeners = vec![listener.clone()];
        key.show(config)
    });
    let values = values.collect();
    config.listeners = listeners;
    values
}

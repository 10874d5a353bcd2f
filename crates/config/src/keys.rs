//! The list of all sections, and the error for a key that its section does not have.
//!
//! Owns the order of the sections and the search for the intended key. Each section's rows are in
//! its file.

use crate::access::ACCESS;
use crate::acme::ACME;
use crate::channel_settings::CHANNELS;
use crate::channels::CHANNEL;
use crate::cluster::CLUSTER;
use crate::files::{CACHE_CONTROL, FILES, ROUTE_FILES};
use crate::forward_auth::FORWARD_AUTH;
use crate::host::HOST;
use crate::key::SectionKeys;
use crate::limit_keys::LIMITS;
use crate::listener::LISTENER;
use crate::log::{ADMIN, LOG};
use crate::maintenance::MAINTENANCE;
use crate::pages::PAGES;
use crate::problem::{Rank, SettingPlace};
use crate::processes::PROCESS;
use crate::proxy_route::PROXY;
use crate::quotas::QUOTA;
use crate::routes::{HOST_ROUTE, REDIRECT, RESPOND, REWRITE, ROUTE};
use crate::store::{DATABASE, STORE};
use crate::top_keys::TOP;
use crate::trace::TRACE;
use crate::upstream::UPSTREAM;
use crate::upstream_cache::CACHE;
use crate::when::WHEN;
use crate::wording::{enumerate, nearest, shown};

/// Every section with keys of its own, in the order of the documentation.
pub static SECTIONS: [&SectionKeys; 31] = [
    &TOP,
    &LISTENER,
    &ACME,
    &HOST,
    &ROUTE,
    &HOST_ROUTE,
    &WHEN,
    &ROUTE_FILES,
    &REDIRECT,
    &REWRITE,
    &RESPOND,
    &PROXY,
    &FORWARD_AUTH,
    &UPSTREAM,
    &CACHE,
    &ACCESS,
    &QUOTA,
    &FILES,
    &CACHE_CONTROL,
    &PAGES,
    &CHANNEL,
    &CHANNELS,
    &CLUSTER,
    &STORE,
    &DATABASE,
    &PROCESS,
    &MAINTENANCE,
    &LIMITS,
    &LOG,
    &TRACE,
    &ADMIN,
];

/// The message for an unknown key: what it is, and what was probably meant.
pub(super) fn unknown(section: &SectionKeys, key: &str) -> String {
    let place = if section.name.is_empty() { "at" } else { "in" };
    let hint = hint(section, key);
    format!("unknown key `{}` {place} {}; {hint}", shown(key), section.spoken())
}

fn hint(section: &SectionKeys, key: &str) -> String {
    if section.name == HOST_ROUTE.name && key == "host" {
        return "the names are those of its [[host]]".to_owned();
    }
    match (nearest(key, &section.names()), place_of(key)) {
        // A word that is nearly a setting of this section may as well be one of another.
        (Some(meant), Some(place)) => format!("did you mean `{meant}`? Otherwise {place}"),
        (Some(meant), None) => format!("did you mean `{meant}`?"),
        (None, Some(place)) => place,
        (None, None) => format!("known are {}", enumerate(&section.names(), '`')),
    }
}

/// Where a setting of this name belongs; `None` if there is none.
fn place_of(key: &str) -> Option<String> {
    // A key of the top level below the header of a section is a common mistake in TOML.
    if let Some(known) = TOP.keys().find(|known| known.name == key) {
        return Some(if known.is_section() {
            format!("`{key}` is a section of the top level")
        } else {
            "it belongs at the top of the file, before the first section".to_owned()
        });
    }
    let others: Vec<&str> = SECTIONS
        .iter()
        .filter(|section| section.contains(key))
        .map(|section| section.spoken())
        .collect();
    match &*others {
        [] => None,
        [only] => Some(format!("it belongs in {only}")),
        [all @ .., last] => Some(format!("it belongs in {} or {last}", all.join(", "))),
    }
}

/// Where a setting of this name belongs, for those in a table whose keys the user chooses; `None` if there is none.
pub(super) fn setting(key: &str) -> Option<SettingPlace> {
    let is_of_top = TOP.keys().any(|known| known.name == key && !known.is_section());
    let rank = if is_of_top { Rank::OfTop } else { Rank::OfSection };
    place_of(key).map(|words| SettingPlace { words, rank })
}

//! The access of clients to the databases of the store, as a configuration says.
//!
//! Owns that translation. Never looks at a store.

use std::sync::Arc;

use config::{Config, DatabaseAccess};
use local::{DatabaseRequirements, Requirement};

/// The access rules of each database, by number.
pub(super) fn database_rules(config: &Config) -> Arc<[DatabaseRequirements]> {
    let required = |access: DatabaseAccess| match access {
        DatabaseAccess::Open => Requirement::Nothing,
        DatabaseAccess::Token => Requirement::Token,
        DatabaseAccess::Key => Requirement::Key,
        DatabaseAccess::None => Requirement::Unmet,
    };
    let of = |name: String| {
        let rules = config.databases.iter().find(|rules| rules.name == name);
        let rules = rules.map(|rules| (rules.read, rules.write)).unwrap_or_default();
        DatabaseRequirements { read: required(rules.0), write: required(rules.1) }
    };
    config.store.all_databases().into_iter().map(of).collect()
}

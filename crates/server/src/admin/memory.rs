//! The answer to `GET /memory`: the memory of the process by owner, and what nobody owns up to.
//!
//! Owns the list of owners. What a part holds, it counts itself; what is left of the resident memory has no owner here:
//! code, stacks, tables of the kernel's making, and what the allocator keeps.

use serde_json::{Map, Value, json};

use super::facts::StartFacts;
use super::round::Round;
use crate::message::SchedulerReport;

/// An owner: its name, and its bytes on one scheduler.
struct Owner {
    name: &'static str,
    bytes: fn(&StartFacts, &SchedulerReport) -> u64,
}

const OWNERS: &[Owner] = &[
    Owner {
        name: "slots of connections",
        bytes: |facts, report| (facts.slot_bytes as u64) * report.runtime.processes_max,
    },
    Owner { name: "input and output", bytes: |_, report| report.runtime.buffered_bytes },
    Owner { name: "cached files", bytes: |_, report| report.cache.bytes as u64 },
    Owner { name: "answers of upstreams", bytes: |_, report| report.upstream_caches.bytes as u64 },
    Owner {
        name: "pages",
        bytes: |_, report| report.pages.as_ref().map_or(0, |pages| pages.memory.bytes as u64),
    },
    Owner {
        name: "processes of pages",
        bytes: |_, report| {
            report.pages.as_ref().map_or(0, |pages| pages.memory.process_bytes as u64)
        },
    },
    Owner { name: "histories of channels", bytes: |_, report| report.channels.history_bytes },
    Owner { name: "members of channels", bytes: |_, report| report.channels.members_bytes },
    Owner {
        name: "orders and replies of the store",
        bytes: |_, report| report.store.under_way + report.store.kept + report.store.held,
    },
];

/// The memory of the process.
pub(super) fn shown(facts: &StartFacts, round: &Round) -> Value {
    let sum =
        |owner: &Owner| round.answered().map(|report| (owner.bytes)(facts, report)).sum::<u64>();
    let owners: Vec<(&str, u64)> = OWNERS.iter().map(|owner| (owner.name, sum(owner))).collect();
    let owned: u64 = owners.iter().map(|(_, bytes)| bytes).sum();
    let resident = sys::accounting::resident_bytes().unwrap_or(0);
    let by_owner: Map<String, Value> =
        owners.into_iter().map(|(name, bytes)| (name.to_owned(), json!(bytes))).collect();
    json!({
        "resident_bytes": resident,
        "by_owner_bytes": by_owner,
        "without_owner_bytes": resident.saturating_sub(owned),
    })
}

//! The report of a scheduler on its link to the cluster, and all of them together.
//!
//! Owns the shape of `cluster` in `ctl status`. Never asks a link.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::{LinkStats, NodeView};
use serde_json::{Value, json};

/// The report of a scheduler on its link.
#[derive(Clone, Debug, Default)]
pub struct LinkReport {
    /// The name of this node.
    pub node: Arc<str>,
    /// Whether it is connected.
    pub is_up: bool,
    /// For how long it has been so.
    pub for_ms: u64,
    /// The server that it is connected to, or tries next.
    pub server: String,
    /// The fault, if there is one.
    pub problem: Option<String>,
    /// The other nodes.
    pub nodes: Vec<NodeView>,
    /// The counters.
    pub stats: LinkStats,
}

/// All links of a node. `null`: there is no cluster.
pub(crate) fn together<'r>(reports: impl Iterator<Item = &'r LinkReport>) -> Value {
    let reports: Vec<&LinkReport> = reports.collect();
    let Some(first) = reports.first() else { return Value::Null };
    let up = reports.iter().filter(|report| report.is_up).count();
    let state = match up {
        0 => "away",
        up if up < reports.len() => "partly away",
        _ => "connected",
    };
    let mut nodes: BTreeMap<u64, &NodeView> = BTreeMap::new();
    for view in reports.iter().flat_map(|report| &report.nodes) {
        nodes.insert(view.node.0, view);
    }
    let sum = |read: fn(&LinkStats) -> u64| reports.iter().map(|of| read(&of.stats)).sum::<u64>();
    // The link that has changed last says since when all are as they are.
    let for_s = reports.iter().map(|report| report.for_ms / 1_000).min();
    let one = |view: &&NodeView| {
        let NodeView { node, name, version, schedulers } = *view;
        json!({
            "name": name,
            "node": format!("{:x}", node.0),
            "version": version,
            "schedulers": schedulers,
        })
    };
    json!({
        "name": *first.node,
        "state": state,
        "for_s": for_s,
        "server": first.server,
        "problem": reports.iter().find_map(|report| report.problem.as_deref()),
        "reconnects": sum(|stats| stats.connections).saturating_sub(reports.len() as u64),
        "committing": sum(|stats| stats.committing),
        "reading": sum(|stats| stats.reading),
        "dropped": sum(|stats| stats.dropped),
        "nodes": nodes.values().map(one).collect::<Vec<Value>>(),
    })
}

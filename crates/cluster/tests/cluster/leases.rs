//! Leases of nodes with a real server of NATS between them. Skipped where `nats-server` is not on the path.

#![expect(clippy::disallowed_methods, reason = "the tests have no turn")]

use std::time::{Duration, Instant};

use cluster::{LeaseHolder, limits};

use crate::plan::plan;
use crate::real::{Node, Server};

/// Runs the nodes, except a paused one, until this one holds the lease. No two hold it, whenever one looks.
fn until_held(nodes: &mut [Node; 2], holder: Option<usize>, paused: Option<usize>) -> usize {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        assert!(Instant::now() < until, "no node takes the lease");
        for (which, node) in nodes.iter_mut().enumerate() {
            if paused != Some(which) {
                node.turn();
            }
        }
        let now_ms = nodes[0].now_ms().max(nodes[1].now_ms());
        let held = [0, 1]
            .map(|which| nodes[which].link.lease_holder("clock", now_ms) == LeaseHolder::ThisLink);
        assert_ne!(held, [true, true]);
        match held.iter().position(|held| *held) {
            Some(which) if holder.is_none_or(|holder| holder == which) => return which,
            _ => std::thread::yield_now(),
        }
    }
}

#[test]
fn one_node_at_a_time_holds_a_lease() {
    let Some(server) = Server::start(&[]) else { return };
    let mut nodes = [1, 2].map(|node| Node::new(plan(node, server.port, "v")));
    nodes[1].begun = nodes[0].begun;
    for node in &mut nodes {
        node.pace = 20;
        node.link.want_leases(&["clock".to_owned()], 0);
    }
    let first = until_held(&mut nodes, None, None);
    let second = 1 - first;
    // It is renewed for as long as others would wait for it.
    let held_ms = nodes[first].now_ms();
    while nodes[first].now_ms() < held_ms + 2 * limits::LEASE_FREE_MS {
        until_held(&mut nodes, Some(first), None);
        nodes.iter_mut().for_each(Node::turn);
    }
    // A node that stands still loses it, also where its connection does not.
    until_held(&mut nodes, Some(second), Some(first));
    let held_ms = nodes[second].now_ms();
    while nodes[second].now_ms() < held_ms + 2 * limits::LEASE_FREE_MS {
        until_held(&mut nodes, Some(second), None);
    }
    // One that ends gives it back.
    let now_ms = nodes[second].now_ms();
    nodes[second].link.want_leases(&[], now_ms);
    until_held(&mut nodes, Some(first), None);
}

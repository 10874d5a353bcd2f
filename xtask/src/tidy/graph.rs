//! The import graph between our crates, held against the list of allowed edges.
//!
//! A new edge is a decision: a line here and its reason in docs/decisions/edges.md, in one commit.

use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;
use crate::tidy::Finding;
use crate::workspace;

/// For what an edge may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Always,
    TestsOnly,
}

/// The allowed edges. A crate without a line imports none of ours.
const EDGES: &[(&str, &str, Use)] = &[
    ("velodrome", "velodrome-runtime", Use::Always),
    // The report of a running server on itself: written by the server, drawn by `velodrome top`.
    ("velodrome-server", "velodrome-live", Use::Always),
    ("velodrome-observe", "velodrome-live", Use::Always),
    ("velodrome", "velodrome-observe", Use::Always),
    ("velodrome", "velodrome-live", Use::Always),
    // The library has channels for services in Rust.
    ("velodrome", "velodrome-channels", Use::Always),
    ("velodrome", "velodrome-server", Use::Always),
    // The command line lays its words over the file's.
    ("velodrome", "velodrome-config", Use::Always),
    // `velodrome check` prints the problems of pages.
    ("velodrome", "velodrome-pages", Use::Always),
    // Channels: bytes are queued to processes, and written as each protocol has them.
    ("velodrome-channels", "velodrome-runtime", Use::Always),
    ("velodrome-channels", "velodrome-wire", Use::Always),
    ("velodrome-channels", "velodrome-metric", Use::Always),
    ("velodrome-channels", "velodrome-world", Use::TestsOnly),
    ("velodrome-server", "velodrome-channels", Use::Always),
    // Links to NATS: orders and news of channels become operations, and back.
    ("velodrome-cluster", "velodrome-channels", Use::Always),
    ("velodrome-cluster", "velodrome-wire", Use::Always),
    ("velodrome-cluster", "velodrome-metric", Use::Always),
    ("velodrome-server", "velodrome-cluster", Use::Always),
    // `velodrome check` tries the connection.
    ("velodrome", "velodrome-cluster", Use::Always),
    // The counters of a mailbox, which the model compiles.
    ("velodrome-model", "velodrome-metric", Use::Always),
    // `velodrome store import` reads commands of Redis.
    ("velodrome", "velodrome-wire", Use::Always),
    // `velodrome store` works on a store without a server.
    ("velodrome", "velodrome-store", Use::Always),
    // A ladder is measured by the generator, and judged as its comparisons are.
    ("velodrome-tune", "velodrome-bench", Use::Always),
    // A ladder ends the servers it has started.
    ("velodrome-tune", "velodrome-sys", Use::Always),
    // `velodrome tune` prints what it costs.
    ("velodrome", "velodrome-tune", Use::Always),
    // `velodrome profile` prints and draws where time goes; the kernel's samples are read by sys.
    ("velodrome", "velodrome-profile", Use::Always),
    ("velodrome-profile", "velodrome-sys", Use::Always),
    // The continuous profile of a server.
    ("velodrome-server", "velodrome-profile", Use::Always),
    // Requests of `https`: the transport of their connections.
    ("velodrome-client", "velodrome-tls", Use::Always),
    // The certificates that fetches trust and show are read from files; pages see that of a client.
    ("velodrome-pages", "velodrome-tls", Use::Always),
    // Encryption is a transport of the runtime.
    ("velodrome-tls", "velodrome-runtime", Use::Always),
    // Certificates and keys are regular files of a bounded length.
    ("velodrome-tls", "velodrome-sys", Use::Always),
    // Which server of an upstream gets a request.
    ("velodrome-server", "velodrome-proxy", Use::Always),
    ("velodrome-server", "velodrome-cache", Use::Always),
    ("velodrome-cache", "velodrome-metric", Use::Always),
    ("velodrome-cache", "velodrome-wire", Use::Always),
    // Listeners that encrypt.
    ("velodrome-server", "velodrome-tls", Use::Always),
    ("velodrome-server", "velodrome-acme", Use::Always),
    // `bench conformance` over TLS.
    ("velodrome", "velodrome-tls", Use::Always),
    // Encrypted connections of the generator, and the facts of certificates in its reports.
    ("velodrome-bench", "velodrome-tls", Use::Always),
    // HTTP reads and writes the store; one of its threads is the writer.
    ("velodrome-server", "velodrome-store", Use::Always),
    // Things that the protocols of a scheduler share.
    ("velodrome-local", "velodrome-channels", Use::Always),
    ("velodrome-local", "velodrome-metric", Use::Always),
    ("velodrome-local", "velodrome-runtime", Use::Always),
    ("velodrome-local", "velodrome-store", Use::Always),
    ("velodrome-server", "velodrome-local", Use::Always),
    // Clients of Redis read and write the store, publish and subscribe.
    ("velodrome-resp", "velodrome-channels", Use::Always),
    ("velodrome-resp", "velodrome-local", Use::Always),
    ("velodrome-resp", "velodrome-metric", Use::Always),
    ("velodrome-resp", "velodrome-runtime", Use::Always),
    ("velodrome-resp", "velodrome-store", Use::Always),
    // The time of `TIME`, the memory of `INFO`, the counter by which their turns are measured.
    ("velodrome-resp", "velodrome-sys", Use::Always),
    ("velodrome-resp", "velodrome-wire", Use::Always),
    ("velodrome-server", "velodrome-resp", Use::Always),
    // The library: services written by others.
    ("velodrome", "velodrome-http", Use::Always),
    // `bench conformance` plays the suite against any server.
    ("velodrome", "velodrome-conformance", Use::Always),
    // Authorities of tests, for the certificates of other servers.
    ("velodrome", "velodrome-tls", Use::TestsOnly),
    // A test with a thousand clients raises its own descriptor limit.
    ("velodrome", "velodrome-sys", Use::TestsOnly),
    ("velodrome-server", "velodrome-config", Use::Always),
    ("velodrome-server", "velodrome-files", Use::Always),
    ("velodrome-server", "velodrome-http", Use::Always),
    ("velodrome-server", "velodrome-pages", Use::Always),
    ("velodrome-server", "velodrome-runtime", Use::Always),
    ("velodrome-server", "velodrome-wire", Use::Always),
    ("velodrome-server", "velodrome-script", Use::Always),
    // Listeners and users are named by the configuration.
    ("velodrome-server", "velodrome-sys", Use::Always),
    // Networks as they are written, and bounds of heads.
    // `velodrome check` prints the configuration of another server as ours, which `config` has found valid.
    ("velodrome", "velodrome-migrate", Use::Always),
    ("velodrome-migrate", "velodrome-config", Use::Always),
    ("velodrome-config", "velodrome-wire", Use::Always),
    // The texts that pages can read as JSON are compared with those that the server takes.
    ("velodrome-script", "velodrome-wire", Use::TestsOnly),
    // Processes of pages, apart from what runs them.
    ("velodrome-pages", "velodrome-actors", Use::Always),
    // A mailbox is a slot, and a letter goes to an endpoint.
    ("velodrome-actors", "velodrome-runtime", Use::Always),
    // Letters cross threads as messages, and what is configured becomes plans.
    ("velodrome-server", "velodrome-actors", Use::Always),
    // The messages that pages publish.
    ("velodrome-pages", "velodrome-channels", Use::Always),
    ("velodrome-pages", "velodrome-config", Use::Always),
    // The files that are pages, and their media type.
    ("velodrome-pages", "velodrome-files", Use::Always),
    // The request that a page sees, and the body it comes with.
    ("velodrome-pages", "velodrome-http", Use::Always),
    ("velodrome-pages", "velodrome-runtime", Use::Always),
    ("velodrome-pages", "velodrome-script", Use::Always),
    // The data that pages read and order.
    ("velodrome-pages", "velodrome-store", Use::Always),
    // Directories are watched, and files of forms written.
    ("velodrome-pages", "velodrome-sys", Use::Always),
    ("velodrome-pages", "velodrome-wire", Use::Always),
    // How authorities answer.
    ("velodrome-acme", "velodrome-tls", Use::Always),
    ("velodrome-acme", "velodrome-wire", Use::Always),
    // `limit.take` counts in its table.
    ("velodrome-pages", "velodrome-quota", Use::Always),
    ("velodrome-server", "velodrome-quota", Use::Always),
    // The resources that pages fetch.
    ("velodrome-pages", "velodrome-client", Use::Always),
    // Its connections are processes of a scheduler.
    ("velodrome-server", "velodrome-client", Use::Always),
    ("velodrome-client", "velodrome-runtime", Use::Always),
    ("velodrome-client", "velodrome-wire", Use::Always),
    // The addresses that are connected to, and the size of one receive.
    ("velodrome-client", "velodrome-sys", Use::Always),
    // The counts of its connections.
    ("velodrome-client", "velodrome-metric", Use::Always),
    ("velodrome-client", "velodrome-world", Use::TestsOnly),
    ("velodrome-http", "velodrome-runtime", Use::Always),
    ("velodrome-http", "velodrome-wire", Use::Always),
    // The peer's address, and the side that speaks first.
    ("velodrome-http", "velodrome-sys", Use::Always),
    ("velodrome-files", "velodrome-wire", Use::Always),
    // Files are opened beneath a root.
    ("velodrome-files", "velodrome-sys", Use::Always),
    ("velodrome-runtime", "velodrome-sys", Use::Always),
    // The name of a number stands where it is counted.
    ("velodrome-runtime", "velodrome-metric", Use::Always),
    ("velodrome-http", "velodrome-metric", Use::Always),
    ("velodrome-files", "velodrome-metric", Use::Always),
    ("velodrome-pages", "velodrome-metric", Use::Always),
    ("velodrome-server", "velodrome-metric", Use::Always),
    ("velodrome-world", "velodrome-sys", Use::Always),
    // The simulated world is for tests, and for nothing else.
    ("velodrome", "velodrome-world", Use::TestsOnly),
    ("velodrome-world", "velodrome-runtime", Use::Always),
    ("velodrome-world", "velodrome-http", Use::TestsOnly),
    // A service of somebody else: the library, and nothing behind it.
    ("outside", "velodrome", Use::Always),
    ("velodrome-sys", "velodrome-world", Use::TestsOnly),
    ("velodrome-runtime", "velodrome-world", Use::TestsOnly),
    ("velodrome-http", "velodrome-world", Use::TestsOnly),
    ("velodrome-server", "velodrome-world", Use::TestsOnly),
    ("velodrome-fuzz", "velodrome-world", Use::Always),
    ("velodrome-bench", "velodrome-runtime", Use::Always),
    ("velodrome-bench", "velodrome-wire", Use::Always),
    // Answers over HTTP/2 are compressed with HPACK.
    ("velodrome-conformance", "velodrome-wire", Use::Always),
    // Threads are pinned, and what they used of their core is read from the kernel.
    ("velodrome-bench", "velodrome-sys", Use::Always),
    ("velodrome", "velodrome-bench", Use::Always),
    // The yardstick: the kernel's face, and nothing of what it measures.
    ("velodrome-floor", "velodrome-sys", Use::Always),
    // The fuzz workspace calls the codecs directly.
    ("velodrome-fuzz", "velodrome-wire", Use::Always),
    // Pages are text with a grammar, too.
    ("velodrome-fuzz", "velodrome-script", Use::Always),
    ("velodrome-fuzz", "velodrome-server", Use::Always),
    ("velodrome-fuzz", "velodrome-store", Use::Always),
    // So are configurations.
    ("velodrome-fuzz", "velodrome-config", Use::Always),
    // Certificates are what authorities send.
    ("velodrome-fuzz", "velodrome-tls", Use::Always),
    // And tokens are what strangers send.
    ("velodrome-fuzz", "velodrome-channels", Use::Always),
    // Files of a cache, as they are read from a disk.
    ("velodrome-fuzz", "velodrome-cache", Use::Always),
    ("velodrome-fuzz", "velodrome-http", Use::Always),
    // And answers are what other servers send.
    ("velodrome-fuzz", "velodrome-client", Use::Always),
    // A whole connection needs a scheduler, a simulated world, and a reader of answers that is not ours to please.
    ("velodrome-fuzz", "velodrome-runtime", Use::Always),
    ("velodrome-fuzz", "velodrome-sys", Use::Always),
    ("velodrome-fuzz", "velodrome-conformance", Use::Always),
];

/// One dependency of one of our crates on another of ours.
#[derive(Debug)]
pub(crate) struct Edge {
    from: String,
    to: String,
    tests_only: bool,
    manifest: String,
    line: usize,
}

/// Reads the edges that exist.
pub(crate) fn read() -> Result<Vec<Edge>, Failure> {
    let root = workspace::root();
    Ok(edges_in(&workspace::metadata(&root.join("Cargo.toml"))?, &root))
}

fn edges_in(metadata: &Value, root: &Path) -> Vec<Edge> {
    let mut edges = Vec::new();
    for package in list(&metadata["packages"]) {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let text = std::fs::read_to_string(manifest).unwrap_or_default();
        let shown = Path::new(manifest).strip_prefix(root).unwrap_or(Path::new(manifest));
        for dependency in list(&package["dependencies"]) {
            // Ours are those that lie in a folder.
            if dependency["path"].is_null() {
                continue;
            }
            let name = dependency["name"].as_str().unwrap_or_default();
            let key = dependency["rename"].as_str().unwrap_or(name);
            edges.push(Edge {
                from: package["name"].as_str().unwrap_or_default().to_owned(),
                to: name.to_owned(),
                // An optional one is there with a feature that tests of services switch on.
                tests_only: dependency["kind"].as_str() == Some("dev")
                    || dependency["optional"].as_bool() == Some(true),
                manifest: shown.display().to_string(),
                line: line_of(&text, key),
            });
        }
    }
    edges
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn line_of(manifest: &str, key: &str) -> usize {
    let names =
        |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    manifest.lines().position(names).map_or(1, |index| index + 1)
}

/// Holds the edges against the list.
pub(crate) fn check(edges: &[Edge]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for edge in edges {
        let allowed = EDGES.iter().find(|(from, to, _)| *from == edge.from && *to == edge.to);
        let reason = match allowed {
            Some((_, _, Use::Always)) => continue,
            Some((_, _, Use::TestsOnly)) if edge.tests_only => continue,
            Some(_) => format!("{} may import {} for tests only", edge.from, edge.to),
            None => format!("{} must not import {}", edge.from, edge.to),
        };
        findings.push(Finding::new(
            &edge.manifest,
            edge.line,
            reason,
            "drop the edge, or add it to xtask/src/tidy/graph.rs with its reason in docs/decisions/edges.md",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, tests_only: bool) -> Edge {
        let manifest = "crates/a/Cargo.toml".to_owned();
        Edge { from: from.to_owned(), to: to.to_owned(), tests_only, manifest, line: 3 }
    }

    #[test]
    fn allowed_edges_pass_and_others_are_found() {
        let findings = check(&[
            edge("velodrome-server", "velodrome-wire", false),
            edge("velodrome", "velodrome-sys", true),
            edge("velodrome", "velodrome-sys", false),
            edge("velodrome-wire", "velodrome-sys", true),
        ]);
        let reasons: Vec<_> = findings.iter().map(|finding| finding.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "velodrome may import velodrome-sys for tests only",
                "velodrome-wire must not import velodrome-sys"
            ]
        );
    }

    #[test]
    fn edges_are_read_from_metadata() {
        let metadata = serde_json::json!({ "packages": [{
            "name": "velodrome-wire",
            "manifest_path": "/nowhere/crates/wire/Cargo.toml",
            "dependencies": [
                { "name": "memchr", "path": null, "kind": null, "rename": null },
                { "name": "velodrome-sys", "path": "/nowhere/crates/sys", "kind": "dev", "rename": "sys" }
            ]
        }]});
        let edges = edges_in(&metadata, Path::new("/nowhere"));
        assert_eq!(edges.len(), 1);
        assert!(edges[0].tests_only);
        assert_eq!(edges[0].manifest, "crates/wire/Cargo.toml");
        assert_eq!(line_of("[dependencies]\nsystem = \"1\"\nsys.workspace = true\n", "sys"), 3);
    }
}

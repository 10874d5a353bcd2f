//! The key/value store from outside: Redis clients, HTTP, pages, files, kills and power failures.
//!
//! One module per feature, in one program, because each program links the whole product.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod power;
mod redis_libraries;
mod rough_times;
#[path = "../server/mod.rs"]
#[allow(dead_code, reason = "each program uses a part of it")]
mod server;
mod store;
mod store_against_redis;
mod store_cluster;
mod store_cluster_failures;
mod store_commands;
mod store_described;
mod store_disk;
mod store_files;
mod store_freshness;
mod store_hostile;
mod store_http;
mod store_kills;
mod store_pages;
mod store_partitions;
mod store_pipelines;
mod store_power;
mod store_refusals;
mod store_roles;
mod store_scans;
mod store_session_nodes;
mod store_sessions;
mod store_texts;
mod texts;

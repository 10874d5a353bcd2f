//! The tools from outside: the load generator, the tuner, the profiler, the conformance suite.
//!
//! One module per feature, in one program, because each program links the whole product.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod bench;
mod bench_agents;
mod bench_channel;
mod bench_hold;
mod bench_http;
mod bench_store;
mod bench_tls;
mod conformance;
mod descriptors;
mod help;
mod level;
mod profile;
mod profile_causes;
mod profile_files;
#[path = "../server/mod.rs"]
#[allow(dead_code, reason = "each program uses a part of it")]
mod server;
mod top;
mod tune;
mod tune_devices;
mod tune_ladder;

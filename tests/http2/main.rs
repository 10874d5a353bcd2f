//! HTTP/2 of the built server from outside: requirements, real clients, every feature of the server, attacks.
//!
//! One module per subject, in one program, because each program links the whole product.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod attacks;
mod browser;
mod clients;
mod combinations;
mod deadlines;
mod early_hints;
mod endings;
mod features;
mod fetches;
mod floods;
mod library_faults;
mod operations;
mod origins;
mod proxied;
mod requirements;
#[path = "../server/mod.rs"]
#[allow(dead_code, reason = "each program uses a part of it")]
mod server;
mod site;
mod smuggling;
mod trailers;
mod uploads;
mod upstreams;
mod websockets;

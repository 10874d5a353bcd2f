//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

#[path = "../../../tls/tests/tls/authority.rs"]
#[expect(dead_code, reason = "the tests of `tls` use the rest")]
mod authority;
mod caller;
mod exchanges;
mod forwarding;
mod h2;
mod h2_agreed;
mod h2_ends;
mod h2_hostile;
mod h2_malformed;
mod h2_origin;
mod h2_worlds;
mod proxy;
mod secure;
mod secure_ends;
mod secure_worlds;
mod seeds;
mod tls_server;
mod worlds;

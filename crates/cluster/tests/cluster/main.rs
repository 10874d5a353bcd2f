//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod leases;
mod likeness;
mod mail;
mod plan;
mod real;
mod scripted;
mod scripted_streams;

//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod anything;
mod collecting;
mod connections;
mod layers;
mod lent;
mod mailbox;
mod outbound;
mod posting;
mod producing;
mod refused_output;
mod streams;
mod turns;

//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod admission;
mod carrier;
mod early;
mod half_closed;
mod json;
mod kept;
mod programs;
mod stream_protocols;
mod streams;
mod unneeded;
mod upgrade;
mod wild;

//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod cpu_times;
mod fake;
mod found;
mod held_up;
mod ladder;
mod not_found;
mod owners;
mod places;
mod plans;
mod planted;
mod prices;
mod putting_back;
mod recorded;
mod sequences;

//! The engine seen from outside: pages are loaded, run, interrupted and refused.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bounds;
mod calls;
mod channels;
mod cookies;
mod copying;
mod crypto;
mod faults;
mod fetch;
mod fields;
mod flush;
mod globals;
mod habits;
mod hints;
mod holding;
mod isolation;
mod json;
mod long;
mod memory;
mod parts;
mod passed_on;
mod patterns;
mod places;
mod process_engine;
mod processes;
mod random;
mod records;
mod recursion;
mod routes;
mod running;
mod sandbox;
mod sessions;
mod slices;
mod stage;
mod stress;
mod uploads;

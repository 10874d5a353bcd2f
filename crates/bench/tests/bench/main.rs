//! The tests of this crate, in one program, because each program links everything anew.

mod encrypted;
mod faults;
mod host;
mod report;
mod tally;

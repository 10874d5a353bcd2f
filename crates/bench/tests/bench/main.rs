//! The tests of this crate, in one program, because each program links everything anew.

mod encrypted;
mod faults;
mod host;
mod http2;
mod report;
mod tally;

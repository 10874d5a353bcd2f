//! The HTTP/2 requirements of RFC 9113, 7541, 8441 and 9218 as data, and a client that can send every wrong frame.
//!
//! Owns the cases (`cases/h2/*.toml`), the strict client that plays them, and the verdicts. Does not know which server
//! is at the other end.

mod case;
mod client;
mod expectation;
mod inbox;
mod judge;
mod ledger;
mod limits;
mod names;
mod pieces;
mod run;
mod script;
mod stream_answer;
mod suite;
mod writer;

pub use client::{FrameClient, PlayError};
pub use run::{FrameTarget, run_frames};
pub use script::LineError;
pub use stream_answer::StreamAnswer;
pub use suite::FrameSuite;

//! `velodrome top`: the screens of a running server.
//!
//! Owns what is shown and what keys do ([`View`], [`draw()`]: a state and a buffer, which tests can look at), and the
//! thin part that has a terminal and a clock ([`run()`]). Knows no socket: whoever uses it sends the requests ([`Ask`])
//! and returns the answers.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are drawn with three digits"
)]

mod ask;
mod choice;
mod deed;
mod detail;
mod draw;
mod figures;
mod harmless;
mod history;
mod keys;
pub mod limits;
mod number;
mod once;
mod paint;
mod profiling;
mod run;
mod terminal;
mod texts;
mod view;
mod watch;
mod wrap;

pub use ask::{Ask, AskError, ControlRequest, SnapshotRequest, read_snapshot};
pub use deed::Deed;
pub use draw::{draw, plain};
pub use figures::{Figures, TakenSnapshot};
pub use harmless::{harmless_json, harmless_lines};
pub use keys::PressedKey;
pub use live::List;
pub use once::{json, text};
pub use paint::Colours;
pub use run::{Asker, Profiler, ServerAccess, run};
pub use view::View;

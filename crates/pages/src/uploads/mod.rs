//! Forms with files: taken in as they come, their files written by helper threads, and what pages do with them.
//!
//! `form` is one form while it comes and when it is whole; `desk` has those of a scheduler and talks to the helpers;
//! `writer` is a helper, `place` the directory as it has it open; `order` is what they say to each other; `names` says what
//! files may be called, `room` how much they may take, `taken` where they may not be. Never keeps more of a file in memory than a few blocks.

mod desk;
mod fault;
mod form;
mod names;
mod order;
mod place;
mod room;
mod writer;

pub use desk::{Desk, Told, UploadState};
pub use form::Form;
pub use order::{Order, Report};
pub use room::Room;
pub use writer::{UploadWriter, hold};

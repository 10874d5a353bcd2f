//! Forms with files: received as they arrive, written by helper threads, and used by pages.
//!
//! `form` is one form, incomplete or complete; `desk` has those of a scheduler and talks to the
//! helpers; `writer` is a helper, `place` the upload directory as it has it open; `order` is what pages want
//! of files, and what they send each other; `names` says how files may be named, `room` how much space they may take,
//! `taken` where they may not be. Never keeps more of a file in memory than a few blocks.

mod desk;
mod fault;
mod form;
mod names;
mod order;
mod place;
mod room;
mod writer;

pub use desk::{Answered, Desk, FileAcceptance, UploadResult, UploadState};
pub use form::UploadForm;
pub use order::{FileAct, FileOrder, FileWish, UploadReport};
pub use room::UploadRoom;
pub use writer::{UploadWriter, hold};

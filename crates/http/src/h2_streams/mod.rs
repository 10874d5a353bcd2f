//! The open streams of a connection of HTTP/2, as it keeps them: a place for each, its windows, and the order in which
//! they send.
//!
//! Owns their state between turns. Never reads or writes a frame, and knows neither the connection nor its scheduler:
//! that lends the room in which the streams are.

mod content;
mod held;
mod order;
mod table;
mod window;

pub(crate) use content::{DataFrame, HeldContent, InputSide};
pub(crate) use held::Held;
pub(crate) use order::priority_of;
pub(crate) use table::{Known, Open, SpareRooms, StreamTable};
pub(crate) use window::ContentWindow;

//! Pages and app modules: text with code in it, run by LuaJIT in slices.
//!
//! Owns what happens to a page between its text and its output. Never does I/O, never reads a
//! clock, never sees a socket: the server passes in text, time and the request, and takes out
//! bytes.

pub mod engine;
pub mod limits;
pub mod template;

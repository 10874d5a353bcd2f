//! Pages: text with code in it, and what runs that code.
//!
//! Owns the language of pages. Never does I/O and never reads a clock: text comes in and goes out as bytes.

pub mod limits;
pub mod template;

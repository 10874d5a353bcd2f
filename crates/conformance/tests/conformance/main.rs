//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::disallowed_types, reason = "a test holds sockets, files and locks of its own")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod data;
mod frames_data;
mod nginx;
mod nginx_frames;
mod nginx_server;
mod response_parser;
mod runner;
mod scripted;

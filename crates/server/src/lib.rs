//! The application server: configuration, HTTP connections, routing, files, admin.
//!
//! Owns what a request means and who answers it. Runs on the runtime's schedulers; never makes a system call in
//! a handler, never blocks a turn.

pub mod admin;
pub mod conn;
pub mod file_helper;
pub mod limits;
pub mod load;
pub mod log_writer;
pub mod message;
pub mod sandbox;
pub mod serve;
pub mod site;

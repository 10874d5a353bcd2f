//! The tests of this crate, in one program, because each program links everything anew.
#![expect(clippy::disallowed_types, reason = "a test holds sockets, files and locks of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod floor;
mod load;

//! Users with passwords: their files, and the passwords that clients have shown.
//!
//! Owns the files of users and the verification of a password. Never sees a request: `site/access` does.

mod check;
mod file;
mod hash;
mod verified;

pub(crate) use check::Shown;
pub use check::{Checked, PasswordCheck};
pub(crate) use file::{UserFile, paths_in, paths_of};
pub use file::{UserFiles, UsersError};
pub(crate) use verified::{Passwords, Standing};

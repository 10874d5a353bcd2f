//! The disks of caches: one thread that has all their directories.
//!
//! `disk_order` is what schedulers ask of it, and what it answers. `helper` is the thread, `place` is one directory,
//! `file` reads a file of it, `opening` is what a directory has to be before it is used. Which answers are kept, and
//! what a file looks like, is said by the crate `cache`.

mod file;
mod helper;
pub(crate) mod limits;
mod opening;
mod place;

pub(crate) use helper::CacheDisk;
pub(crate) use opening::{check, hold, make};

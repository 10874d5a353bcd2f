//! The disks of caches: one thread that has all their directories.
//!
//! `order` is what schedulers ask of it, and what it answers. `helper` is the thread, `place` is one directory, `file`
//! is what a file of it looks like, `opening` is what a directory has to be before it is used. Which answers are kept is
//! said by the crate `cache`.

mod file;
mod helper;
mod opening;
mod order;
mod place;

pub(crate) use helper::CacheDisk;
pub(crate) use helper::DiskReport;
pub(crate) use opening::{check, hold, make};
pub(crate) use order::{DiskAnswer, DiskFound, DiskOrder, DiskOrders, Loss, SaveId};

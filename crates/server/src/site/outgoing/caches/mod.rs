//! The caches of this scheduler, and the requests that have to do with them.
//!
//! `desk` has the tables, `settings` makes a cache of a configuration. `verdict` says what the head of a server's
//! answer means, `fill` is an answer that is being received, `filling` has all of them. `changes` forgets what has
//! changed, `outside` is what is on disks, and `disk_desk` the orders for those. The rules are those of the crate
//! `cache`. The site's side is in `cached`.

mod changes;
pub(in crate::site) mod desk;
mod disk_desk;
pub(in crate::site) mod fill;
mod filling;
mod outside;
pub(in crate::site) mod role;
mod settings;
pub(in crate::site) mod told;
pub(in crate::site) mod verdict;

pub(crate) use desk::Caches;

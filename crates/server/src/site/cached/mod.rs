//! Answers of upstreams that are kept and used again.
//!
//! `desk` has the caches of this scheduler and what each request has to do with them, `settings` makes them of a
//! configuration. A request comes through `look`: it gets a stored answer (`shown`), waits for the fetch of another
//! one, or goes to a server (`asking`). What the head of the server's answer means is in `heads`; an answer that is
//! stored is received by `fill`, apart from the client that has asked for it, and read by `reading`. `background`
//! validates a stale answer that was used, `changes` forgets what has changed. The rules are those of the crate `cache`.

mod asking;
mod background;
mod changes;
mod desk;
mod fill;
mod heads;
mod look;
mod reading;
mod settings;
mod shown;

pub(in crate::site) use asking::parcel_of;
pub(crate) use changes::CacheOrder;
pub(crate) use desk::Caches;
pub(in crate::site) use heads::Headed;
pub(in crate::site) use shown::FIELD;

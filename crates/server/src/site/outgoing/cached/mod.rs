//! The site's side of answers of upstreams that are kept and used again.
//!
//! A request comes through `look`: it gets a stored answer (`shown`), waits for the fetch of another one, or goes to a
//! server (`asking`). What follows from the head of the server's answer is in `heads`; an answer that is stored is
//! received apart from the client that has asked for it, and read by `reading`. `opening` opens bodies that are on a
//! disk. `background` validates a stale answer that was used. What is known between two calls is in `caches`.

mod asking;
mod background;
mod heads;
mod look;
mod opening;
mod reading;
mod shown;

pub(in crate::site) use asking::parcel_of;
pub(in crate::site) use heads::Headed;
pub(in crate::site) use shown::FIELD;

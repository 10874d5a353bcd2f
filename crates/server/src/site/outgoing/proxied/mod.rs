//! The site's side of requests that a server of an upstream answers.
//!
//! `handed_on` is a request that a module has go on. `permission` asks a server first whether a request may pass,
//! `receive` takes a body as it arrives, `pass` passes the answer on, `unwanted` drops one. What happens in between is
//! in `proxy`.

mod handed_on;
mod pass;
mod permission;
mod receive;
mod unwanted;

//! The site: what a configuration makes of requests, on one scheduler.
//!
//! Owns the route table in force, the cache of files and the requests that wait for one. `crate::site_data` is what all
//! schedulers share and never change; `answer` turns a route's action into a reply; `waiting` keeps who waits.

mod answer;
mod endpoints;
mod engine;
mod error_page;
mod explain;
mod file;
mod form;
mod handle;
mod pack;
mod packer;
mod script;
mod turn;
mod waiting;

pub use endpoints::Helpers;
pub use handle::Site;

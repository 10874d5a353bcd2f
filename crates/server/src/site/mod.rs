//! The site on one scheduler: answers requests according to the configuration.
//!
//! `state` is what it keeps, `application` handles its events. A request goes through `answer` (its
//! route) to the target of the route: `file` -> `look` -> the cache, `script` (a page or module),
//! or a reply that is written at once. `crate::site_data` is immutable and shared by all
//! schedulers.

mod access;
mod answer;
mod application;
mod asking;
mod cached;
mod caches;
mod channel;
mod client;
mod endpoints;
mod engine;
mod error_page;
mod exchange;
mod explain;
mod file;
mod form;
mod handed_on;
mod head_judgement;
mod https;
mod json_checks;
mod limit;
mod look;
mod maintained;
mod metered;
mod orders;
mod pack;
mod packer;
mod page_fields;
mod proxied;
mod proxy;
mod records;
mod room;
mod route;
mod script;
mod shown;
mod slow;
mod slow_lines;
mod spans;
mod state;
mod talking;
pub(crate) mod traced;
mod tries;
mod tuned;
mod turn;
mod upgraded;
mod waiting;

pub(crate) use asking::{Question, Veto, Withheld};
pub(crate) use channel::{members_object, wish_of};
pub use endpoints::Helpers;
pub(crate) use orders::{message_of, written_value};
pub(crate) use proxy::Tunnelled;
pub use state::Site;
pub(crate) use talking::Said;
pub(crate) use upgraded::{Upgrade, Upgraded};

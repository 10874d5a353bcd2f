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
mod database_access;
mod endpoints;
mod engine;
mod error_page;
mod exchange;
mod explain;
mod file;
mod form;
mod gathering;
mod given;
mod handed_on;
mod head_judgement;
mod held_replies;
mod http_lists;
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
mod scan_places;
mod script;
mod shown;
mod slow;
mod slow_lines;
mod spans;
mod state;
mod store_desk;
mod talking;
pub(crate) mod traced;
mod tries;
mod tuned;
mod turn;
mod upgraded;
mod waiting;

pub(crate) use asking::{Question, Verdict, Veto};
pub(crate) use channel::{members_object, wish_of};
pub(crate) use database_access::Need;
pub use endpoints::Helpers;
pub(crate) use gathering::{Gathering, Kept};
pub(crate) use given::Given;
pub(crate) use orders::{message_of, written_value};
pub(crate) use proxy::Tunnelled;
pub use state::Site;
pub(crate) use store_desk::StoreDesk;
pub(crate) use talking::Said;
pub(crate) use upgraded::{Upgrade, Upgraded};

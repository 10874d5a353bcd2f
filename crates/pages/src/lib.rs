//! Pages and app modules: HTML with code in it, and code alone, run by a scheduler.
//!
//! Owns where pages are found, which path means which page, and what happens to a request that runs
//! one. The `script` crate decides what the code may do.

mod absent;
mod asking;
mod at_work;
mod counts;
mod crowding;
mod delivery;
mod engine_settings;
mod error;
mod family;
mod fault_page;
pub mod fetch;
mod fetches;
mod file_readers;
mod follow;
mod hearing;
mod host;
pub mod limits;
mod listening;
mod load;
mod loaded;
mod log_gate;
mod mailbox;
mod mark;
mod modules;
mod names;
mod naming;
mod nursery;
mod page;
mod post;
mod process;
mod process_name;
mod publications;
mod put_off;
mod ready;
mod record_lines;
mod record_orders;
mod record_watches;
mod recording;
mod records;
mod reload;
mod request_parts;
mod runner;
mod scan;
mod schedule;
mod secret;
mod secured;
mod set;
mod site_begins;
mod site_processes;
mod spawning;
#[cfg(test)]
mod stage;
mod talking;
#[cfg(feature = "testing")]
mod testing;
mod toll;
mod turns;
mod underway;
pub mod uploads;
mod waits;
mod way;

pub use asking::{AskHost, KeptRequest, MessageValue, Wish};
pub use at_work::AtWork;
pub use counts::{EngineMemory, PageCounts, PageReport, PagesReport};
pub use engine_settings::engine_settings;
pub use error::PagesError;
pub use fault_page::{FAULT_POLICY, FaultReport};
pub use follow::Follower;
pub use host::RequestHost;
pub use listening::ChannelWish;
pub use load::{Before, PageProblem, PageRoot, Places, Served, SetIndex, load, problems};
pub use log_gate::{LogGate, Writer};
pub use names::{Naming, ProcessOfName};
pub use page::{Page, PageKind, Problem};
pub use post::{Letter, Undelivered};
pub use process_name::Token;
pub use publications::Publications;
pub use record_orders::OrderNumber;
pub use records::Records;
pub use runner::{Moment, Runner, Turnout};
pub use schedule::{ProcessPlan, UnknownZone};
pub use secret::{Secret, SecretError};
pub use set::PageSet;

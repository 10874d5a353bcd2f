//! Pages and app modules: HTML with code in it, and code alone, run by a scheduler.
//!
//! Owns where pages are found, which path means which page, and what happens to a request that runs
//! one. The `script` crate decides what the code may do.

mod absent;
mod asking;
mod at_work;
mod counts;
mod delivery;
mod engine_settings;
mod engines;
mod error;
mod family;
mod fault_page;
pub mod fetch;
mod fetches;
mod file_readers;
mod follow;
mod host;
pub mod limits;
mod listening;
mod load;
mod loaded;
mod log_gate;
mod mark;
mod modules;
mod moment;
mod page;
mod page_log;
mod process;
mod process_engine;
mod process_plans;
mod publications;
mod put_off;
mod ready;
mod record_lines;
mod record_orders;
mod record_watches;
mod records;
mod remark;
mod request_parts;
mod runner;
mod scan;
mod secret;
mod secured;
mod set;
mod spent;
#[cfg(test)]
mod stage;
mod step_cost;
mod traced;
mod turn;
pub mod uploads;
mod way;

pub use asking::{AskHost, KeptRequest, MessageValue, RequestedAction};
pub use at_work::AtWork;
pub use counts::{EngineMemory, PageCounts, PageReport, PagesReport};
pub use engine_settings::engine_settings;
pub use error::PagesError;
pub use fault_page::{FAULT_POLICY, FaultReport};
pub use follow::Follower;
pub use host::RequestHost;
pub use listening::ChannelWish;
pub use load::{Before, PageProblem, PageRoot, Places, Served, SetIndex, load, problems};
pub use log_gate::{GatedWriter, LineWriter, LogGate};
pub use moment::Moment;
pub use page::{Page, PageDefect, PageKind};
pub use process_plans::{UnknownZone, process_plans};
pub use publications::{Publication, Publications};
pub use record_orders::OrderNumber;
pub use records::StoreRecords;
pub use remark::{Noticed, Remark};
pub use runner::{RunResult, Runner, Saying, Suspended};
pub use secret::{Secret, SecretError};
pub use set::PageSet;
pub use spent::Spent;

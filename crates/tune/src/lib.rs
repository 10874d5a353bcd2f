//! The cost of a Linux host for a network server.
//!
//! A [`HostReading`] is read through one directory: `/`, or a copy of another machine's files. Each
//! [`Check`] reads what it needs and returns a [`Finding`]; [`audit`] sorts them by their gain for
//! a load, and [`plan`] lists what would be written. Only [`apply`] changes the host, and reverts
//! the changes. A file that cannot be read is a finding, never an error.
//!
//! ```
//! use tune::{HostReading, Load, audit};
//!
//! let host = HostReading::live(None);
//! let report = audit(&host, Load::Throughput);
//! assert!(report.findings.len() > 30);
//! ```

mod answers;
pub mod apply;
mod audit;
mod calls;
mod changes;
mod check;
mod checks;
mod connections;
mod counters;
mod cpu_wait;
mod datagrams;
mod debugging_aids;
mod descriptors;
mod drops;
mod file_locks;
mod files;
mod finding;
mod group;
mod host;
mod html;
mod identity;
mod interrupts;
mod journal;
mod json;
pub mod ladder;
pub mod limits;
mod lines;
mod name_queries;
mod namespaces;
mod observers;
mod open_files;
mod owner;
mod owners;
mod plan;
mod processes;
mod queues;
mod record;
mod rules;
mod server;
mod settings;
mod socket_looks;
mod sysctl_files;
mod tcp;
mod text;
mod upstreams;
mod watching;
mod work;

pub use audit::{AuditReport, Audited, audit};
pub use calls::{CostlyCalls, Opened, ServerCalls};
pub use changes::{FileChange, changes_of, is_same};
pub use check::{Allowed, Check, Gain, Load, Risk};
pub use checks::{ALL, find};
pub use drops::DroppedPackets;
pub use files::HostFiles;
pub use finding::{Evidence, Finding, Judged, Percent, Price};
pub use host::HostReading;
pub use html::to_html;
pub use journal::{Journal, JournalEntry};
pub use json::{explanation_to_json, to_json};
pub use owner::SettingOwner;
pub use owners::owners_of;
pub use plan::{ChangePlan, PlanStep, plan};
pub use record::record;
pub use text::{explanation, to_text};
pub use work::{CostlyWork, Knowledge, ServerWork};

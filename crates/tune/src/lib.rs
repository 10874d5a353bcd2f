//! What a Linux host costs a network server.
//!
//! A [`Host`] is read through one directory: `/`, or the copy of another machine's files. Each [`Check`] reads what it needs and gives a
//! [`Finding`]; [`audit`] puts them in the order of what they are worth for a load. Nothing here changes the host or starts a program, and what cannot be
//! read is a finding of its own, never an error.
//!
//! ```
//! use tune::{Host, Load, audit};
//!
//! let host = Host::live(None);
//! let report = audit(&host, Load::Throughput);
//! assert!(report.findings.len() > 30);
//! ```

mod audit;
mod check;
mod checks;
mod counters;
mod files;
mod finding;
mod host;
mod json;
pub mod limits;
mod processes;
mod text;

pub use audit::{Audited, Report, audit};
pub use check::{Check, Gain, Load, Risk};
pub use checks::{ALL, find};
pub use files::Files;
pub use finding::{Evidence, Finding};
pub use host::Host;
pub use json::{explanation_to_json, to_json};
pub use text::{explanation, to_text};

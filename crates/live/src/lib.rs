//! The report of a running server on itself at one moment, as plain data.
//!
//! Owns the shapes that the control socket sends as JSON (`GET /live`, `GET /info`): the server writes them, `velodrome
//! top` and the dashboard draw them. Counts nothing, asks nobody, draws nothing. Counters only grow, so what happened
//! between two moments is the difference of two snapshots.

mod histogram;
mod list;
mod table;
mod trace;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use histogram::{LiveHistogram, Quantiles};
pub use list::{FETCHED, List};
pub use table::{CellValue, Column, ColumnGrowth, ColumnUnit, LiveTable, TableRow};
pub use trace::{TraceBegun, TraceEnded, TraceLine, TraceStep};

/// The number of the format. It changes when a reader of the old one would misread the new one.
pub const FORMAT: u32 = 1;

/// The report of a server on itself at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSnapshot {
    /// [`FORMAT`].
    pub format: u32,
    /// When it was taken, in milliseconds since 1970.
    pub at_ms: u64,
    /// The server.
    pub server: ServerInfo,
    /// Its schedulers, in order.
    pub schedulers: Vec<SchedulerInfo>,
    /// Times that requests, messages and commands took, since the start.
    pub latencies: Vec<LatencyFigures>,
    /// The list that was asked for.
    pub list: LiveTable,
    /// The last events, the newest last.
    pub events: Vec<OperatorEvent>,
}

/// The server as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Its version.
    pub version: String,
    /// Its process id.
    pub process: u32,
    /// When it started, in seconds since 1970.
    pub started: u64,
    /// `serving` or `draining`.
    pub phase: String,
    /// The addresses where it listens.
    pub listeners: Vec<String>,
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
}

/// One scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchedulerInfo {
    /// Its number, from 0.
    pub number: usize,
    /// Whether it answered in time. If not, everything else is of its last answer, or empty.
    pub answers: bool,
    /// Microseconds since it started.
    pub wall_us: u64,
    /// Microseconds by time account since it started; they add up to `wall_us`. The accounts are [`ACCOUNTS`].
    pub accounts_us: BTreeMap<String, u64>,
    /// Everything it counts, by the names of `velodrome ctl stats` (docs/metrics.md).
    pub numbers: BTreeMap<String, u64>,
    /// Live processes by kind.
    pub processes: BTreeMap<String, u64>,
    /// The work that ran in its longest turn of the last seconds; empty if there was none.
    pub longest_turn_ran: String,
    /// Microseconds that this turn took.
    pub longest_turn_us: u64,
}

/// The time accounts of a scheduler, in the order in which they are shown.
pub const ACCOUNTS: [&str; 15] = [
    "wait",
    "poll",
    "accept",
    "connect",
    "receive",
    "parse",
    "handler",
    "page",
    "collector",
    "store",
    "publish",
    "send",
    "timers",
    "mail",
    "other",
];

/// The times of one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// The kind of thing timed: `class` (of status), `route`, `page`, `channel` (a pattern), `command` (of Redis),
    /// `upstream` or `fetch` (a server).
    pub of: String,
    /// Its name, such as `2xx` or `/api/*`.
    pub name: String,
    /// The times.
    pub times: LiveHistogram,
}

/// A setting that an operator may change while the server runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name, such as `limits.header_deadline`.
    pub name: String,
    /// Its value now, as it is written in the configuration.
    pub value: String,
    /// The value that the configuration says.
    pub default: String,
    /// The form of a value, its unit and its bounds.
    pub takes: String,
    /// Its effect.
    pub text: String,
}

/// Something that an operator should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorEvent {
    /// Its number since the start, from 1, without gaps.
    pub number: u64,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// The scheduler, if it was one.
    pub scheduler: Option<usize>,
    /// Its kind, such as `long_slice` or `slow_consumer`.
    pub kind: String,
    /// How bad it is: `info`, `warning` or `error`.
    pub level: String,
    /// The event, and the thing to which it happened: one line.
    pub text: String,
    /// More about its cause, such as a back-trace: lines.
    pub cause: Vec<String>,
    /// Whether the continuous profile has the minute around it.
    #[serde(default)]
    pub profiled: bool,
}

/// A profile of the server: how often its threads were seen where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The trouble, and its time.
    pub title: String,
    /// Samples per second of each thread's CPU time.
    pub hertz: u64,
    /// The lines of its details.
    pub remarks: Vec<String>,
    /// Folded stacks: a line for each, its frames from the outermost on with `;` between them, a blank, its samples.
    /// Frames of the kernel end with `_[k]`, and those that the compiler inlined with `_[i]`.
    pub folded: String,
}

/// One thing as a whole: a connection, a page under way, a process of a page, a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// Its id, as in a table.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Facts about it, in the order in which they are shown: a name and a value.
    pub facts: Vec<(String, String)>,
    /// Sections of text, such as a back-trace: a title and its lines.
    pub texts: Vec<(String, Vec<String>)>,
}

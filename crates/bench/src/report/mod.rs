//! What a run came to, as text, JSON and a page.
//!
//! Owns the report, its schema and what is concluded. Never measures: [`Measured`] is all it knows.

mod build;
mod condition;
mod export;
mod hold;
pub(crate) mod html;
mod json;
mod measured;
mod percentile;
mod schema;
mod summary;
pub(crate) mod text;
mod verdict;

pub use condition::{Condition, ConditionReport, NoCondition};
pub use export::{csv, hgrm};
pub use hold::HoldReport;
pub use html::write_html;
pub use json::ReadError;
pub use measured::{ClockUse, Ended, Measured, PlanReport, RunMeasured, StageReport, TargetReport};
pub use percentile::{NoPercentile, Percentile};
pub use schema::{
    BytesReport, ConnectionsReport, GeneratorReport, LatencyReport, LittlesLaw, Report, Requests,
    RunReport, SecondReport, ServerReport, ThreadReport, Tool,
};
pub use summary::{LatencySummary, Spread, Summary};
pub use text::write_text;
pub use verdict::{Holds, Reason, ReasonCode, State, Verdict};

//! The result of a run, as text, JSON and HTML.
//!
//! Owns the report, its schema and the conclusions. Never measures: [`Measured`] is all it knows.

mod agent;
mod build;
mod condition;
mod encryption;
mod export;
pub mod figures;
mod hold;
pub mod html;
mod json;
mod latency;
mod measured;
mod own_writes;
mod percentile;
mod run;
mod schema;
mod streams;
mod summary;
pub(crate) mod text;
mod together;
mod verdict;

pub(crate) use agent::write_agents;
pub use agent::{AgentReport, AgentState};
pub use condition::{FailCondition, NoCondition};
pub(crate) use encryption::sum_faults;
pub use encryption::{
    AgreementReport, CertificateReport, EncryptionPlanReport, EncryptionReport,
    HandshakeFaultReport,
};
pub use export::{csv, hgrm};
pub use hold::HoldReport;
pub use html::write_html;
pub use json::{ReadError, to_pretty_json};
pub use measured::{
    ClockBehaviour, Ended, Measured, PlanReport, RunMeasured, StageReport, TargetReport,
};
pub use own_writes::OwnWritesReport;
pub use percentile::{NoPercentile, Percentile};
pub use run::{
    BytesReport, GeneratorReport, Holds, LatencyReport, LittlesLaw, Requests, RunReport,
    SecondReport, ServerUsage, ThreadReport,
};
pub use schema::{ConditionReport, Report, Tool};
pub use summary::{FigureSpread, LatencySummary, Summary};
pub(crate) use text::encryption::lines as encryption_lines;
pub use text::write_text;
pub use verdict::{ReasonCode, ResultTrust, Verdict, VerdictReason};

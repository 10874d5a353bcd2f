//! The requirements of HTTP/1.1 (RFC 9110, 9112) and of HTTP/2 as data, and a runner for any server.
//!
//! Owns the cases (`cases/*.toml`; those of HTTP/2 are in [`h2`]), the strict client that plays them over a raw socket,
//! and the report.
//! Does not know which server is at the other end: the caller says what it offers (a static file, an echo, a
//! directory) as [`Capability`] and path; a case whose needs are not met is
//! counted as skipped, with its reason. Does not trust the server: every read is limited in bytes and in time.

mod case;
mod clock;
mod connection;
mod escape;
mod facts;
mod formats;
mod framing;
pub mod h2;
mod judge;
pub mod limits;
mod lines;
mod matchers;
mod multipart;
mod play;
mod report;
mod response;
mod run;
mod socket;
mod stream;
mod suite;
mod table;
mod target;
mod template;

pub use case::{
    Case, CaseStep, ConnectionAfter, Expectation, ExpectedBody, ExpectedStatus, FieldFormat,
    Interim, Need, RequirementLevel,
};
pub use report::{CaseCounts, CaseFailure, CaseReport, CaseResult, ConformanceReport, Detail};
pub use response::{
    ParseResult, ParsedResponse, ReceivedFields, RequestKind, ResponseViolation, StreamEnd,
    parse_response,
};
pub use run::{run, run_suite};
pub use stream::{Over, ServerStream};
pub use suite::{Suite, SuiteError};
pub use target::{Capability, Options, TestedServer};

//! The report as JSON.
//!
//! Owns writing and reading. Refuses unknown versions, because figures could silently mean something else.

use std::fmt;

use serde::Deserialize;

use crate::limits::REPORT_SCHEMA;
use crate::report::schema::Report;

/// Why a text is not a report.
#[derive(Debug)]
pub enum ReadError {
    /// It is not JSON, or does not have the format it claims.
    Form(serde_json::Error),
    /// It is a report with another version of the format.
    Schema(u32),
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Form(error) => write!(formatter, "no report of `velodrome bench`: {error}"),
            ReadError::Schema(schema) => write!(
                formatter,
                "a report of schema {schema}, and this program reads schema {REPORT_SCHEMA}"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

/// What every version has.
#[derive(Deserialize)]
struct AnySchema {
    schema: u32,
}

impl Report {
    /// The report as JSON, one field per line.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("no map with strange keys, no failing writer")
    }

    /// Reads a report that [`to_json`](Report::to_json) wrote.
    ///
    /// # Errors
    /// If the text is not a report, or has another version.
    pub fn from_json(text: &str) -> Result<Report, ReadError> {
        let AnySchema { schema } = serde_json::from_str(text).map_err(ReadError::Form)?;
        if schema != REPORT_SCHEMA {
            return Err(ReadError::Schema(schema));
        }
        serde_json::from_str(text).map_err(ReadError::Form)
    }
}

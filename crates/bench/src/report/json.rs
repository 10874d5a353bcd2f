//! The report as JSON.
//!
//! Owns writing and reading, and the digits of figures. Refuses unknown versions, because figures could silently mean
//! something else.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::limits::REPORT_SCHEMA;
use crate::report::schema::Report;

/// Why a text is not a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, or does not have the format it claims.
    #[error("no report of `velodrome bench`: {0}")]
    Form(serde_json::Error),
    /// It is a report with another version of the format.
    #[error("a report of schema {0}, and this program reads schema {REPORT_SCHEMA}")]
    Schema(u32),
}

/// The fields that every version has.
#[derive(Deserialize)]
struct AnySchema {
    schema: u32,
}

impl Report {
    /// The report as JSON, one field per line.
    pub fn to_json(&self) -> String {
        to_pretty_json(self)
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

/// A report as JSON, one field per line, its figures with the digits that they are good for.
///
/// # Panics
/// Never, because reports are plain data.
pub fn to_pretty_json(report: &impl Serialize) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Rounding::default());
    report.serialize(&mut serializer).expect("no map with strange keys, no failing writer");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Significant digits of a figure.
const DIGITS: i32 = 6;

/// A figure without the digits that its arithmetic made up: six significant ones, and all before the point.
fn rounded(figure: f64) -> f64 {
    if figure == 0.0 || !figure.is_finite() {
        return figure;
    }
    let before_point = figure.abs().log10().floor() as i32 + 1;
    let decimals = usize::try_from(DIGITS - before_point).unwrap_or(0);
    format!("{figure:.decimals$}").parse().unwrap_or(figure)
}

/// Writes JSON as [`PrettyFormatter`] does, with rounded figures.
#[derive(Default)]
struct Rounding(PrettyFormatter<'static>);

impl Formatter for Rounding {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, figure: f64) -> io::Result<()> {
        self.0.write_f64(out, rounded(figure))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_six_digits_and_all_before_the_point() {
        for (figure, written) in [
            (4.722_999, "4.723"),
            (40.0, "40.0"),
            (0.1 + 0.2, "0.3"),
            (0.000_123_456_789, "0.000123457"),
            (999_999.96, "1000000.0"),
            (1_234_567.89, "1234568.0"),
            (-12.345_678_9, "-12.3457"),
            (1e-300, "1e-300"),
            (0.0, "0.0"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(to_pretty_json(&figure), written);
        }
        let nested = [(Some(1.0 / 3.0), 7), (None, 8)];
        let wanted = "[\n  [\n    0.333333,\n    7\n  ],\n  [\n    null,\n    8\n  ]\n]";
        assert_eq!(to_pretty_json(&nested), wanted);
    }
}

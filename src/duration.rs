//! Durations on the command line.
//!
//! Owns that a plain number is seconds. Everything else is as in the configuration.

use std::time::Duration;

use config::{QuantityError, parse_duration};

/// How long something lasts: a number with a unit, or a plain number of seconds, as other load generators accept it.
pub(crate) fn duration(text: &str) -> Result<Duration, QuantityError> {
    match parse_duration(text) {
        Err(QuantityError::NoUnit(number)) => parse_duration(&format!("{number}s")),
        parsed => parsed,
    }
}

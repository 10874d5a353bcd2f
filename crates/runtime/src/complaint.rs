//! One line to standard error about trouble that no request can be answered with.
//!
//! Owns nothing. For the rare case only: whoever calls it counts how often, so that trouble cannot flood the log.

use std::io::Write;

/// Writes one line.
pub fn write(line: &str) {
    // Where standard error is closed there is nobody left to tell.
    let _nobody_to_tell = writeln!(std::io::stderr(), "velodrome: {line}");
}

//! The results of held connections.
//!
//! Owns the figures that only `hold` has, and their lines of the text. Never computes them.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use crate::report::figures::{bytes, count, duration, name, rate};

/// The result of holding connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HoldReport {
    /// From the first connect until the last connection was established.
    pub opening_ns: u64,
    /// Connections open when the holding began, or when it was stopped before that.
    pub open: u64,
    /// Connections opened per second in that time.
    pub opened_per_s: f64,
    /// Connections that ended before they were closed by the generator.
    pub dead: u64,
    /// The increase of the server's resident memory per connection once all were open; null if it may not be inspected,
    /// or if it grew by less than any connection takes, because it reused memory of earlier connections.
    pub server_bytes_per_connection: Option<f64>,
    /// The same at the end, after the traffic.
    pub server_bytes_per_connection_end: Option<f64>,
    /// The same for the generator, once all were open.
    pub generator_bytes_per_connection: Option<f64>,
}

impl HoldReport {
    /// Writes its lines of the report for a person.
    pub(super) fn write_text(&self, out: &mut impl Write) -> fmt::Result {
        name(out, "opening")?;
        write!(out, "{} connections in {}, ", count(self.open), duration(self.opening_ns as f64))?;
        writeln!(out, "{} connections/s", rate(self.opened_per_s))?;
        name(out, "held")?;
        writeln!(out, "{} connections, {} dead", count(self.open), count(self.dead))?;
        name(out, "memory")?;
        let each = |figure: Option<f64>| figure.map_or_else(|| "unknown".to_owned(), bytes);
        let known = self.server_bytes_per_connection.or(self.server_bytes_per_connection_end);
        if known.is_none() {
            write!(out, "server unknown (not visible, or it reused memory: restart it); ")?;
            return writeln!(
                out,
                "generator {} per connection",
                each(self.generator_bytes_per_connection)
            );
        }
        let (standing, end) =
            (self.server_bytes_per_connection, self.server_bytes_per_connection_end);
        write!(out, "server {} per connection, {} at the end; ", each(standing), each(end))?;
        writeln!(out, "generator {} per connection", each(self.generator_bytes_per_connection))
    }
}

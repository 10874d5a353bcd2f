//! The results of held connections.
//!
//! Owns the figures that only `hold` has, and their lines of the text. Never computes them.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use crate::report::figures::{bytes, count, duration, name, rate};

/// What holding connections came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HoldReport {
    /// From the first connect to the connection that stood last.
    pub opening_ns: u64,
    /// Connections that stood when the holding began, or when it was stopped before that.
    pub open: u64,
    /// Connections opened a second, over that time.
    pub opened_per_s: f64,
    /// Connections that ended before they were let go.
    pub dead: u64,
    /// Memory in RAM the server had more once they stood than before, for each; null where nobody may look, and where it grew by
    /// less than any connection takes: it had memory from connections before.
    pub server_bytes_per_connection: Option<f64>,
    /// The same at the end, after the traffic.
    pub server_bytes_per_connection_end: Option<f64>,
    /// The same of the generator, once they stood.
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

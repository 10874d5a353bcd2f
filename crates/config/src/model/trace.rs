//! `[trace]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `trace` does.

/// `[trace]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// The collector: `http://` with host and port; `None`: there is none.
    pub otlp: Option<String>,
    /// How many of a million requests it is told of.
    pub per_million: u32,
    /// The name of this service for the collector.
    pub service: String,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { otlp: None, per_million: 10_000, service: "velodrome".to_owned() }
    }
}

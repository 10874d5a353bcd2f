//! The profile that a key asks for: whether it is under way, and the hottest frames of the last one.
//!
//! Owns its text. Never makes one.

use ratatui::text::Line;

use crate::harmless::harmless;

/// A profile, or none yet.
#[derive(Default)]
pub(crate) struct Profiling {
    is_underway: bool,
    lines: Vec<String>,
}

impl Profiling {
    /// Begins one of this process. Returns what an operator should hear; otherwise why it cannot be.
    pub(crate) fn begin(&mut self, process: Option<u32>) -> Result<(u32, String), &'static str> {
        let process = process.ok_or("the server has not answered yet")?;
        if std::mem::replace(&mut self.is_underway, true) {
            return Err("a profile is under way");
        }
        Ok((process, format!("profiling process {process} for 5 s ...")))
    }

    /// It is complete, or failed.
    pub(crate) fn end(&mut self, answer: Result<String, String>) -> Result<(), String> {
        self.is_underway = false;
        let text = answer.map_err(|why| format!("no profile: {}", harmless(&why)))?;
        self.lines = text.lines().map(harmless).collect();
        Ok(())
    }

    /// The last one.
    pub(crate) fn text(&self) -> Vec<Line<'static>> {
        self.lines.iter().map(|line| Line::from(line.clone())).collect()
    }
}

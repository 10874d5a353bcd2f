//! A step of a ladder: words of the server's command line, or changes of the host.

use std::fmt;

use super::command::{CommandLineError, with_words};
use crate::plan::PlanStep;

/// A step.
#[derive(Debug)]
pub struct Rung {
    /// Its name.
    pub name: String,
    /// The change that it makes.
    pub what: RungChange,
}

/// The change that a step makes.
#[derive(Debug)]
pub enum RungChange {
    /// The server's command line: flags, or a line with `{}` for the command.
    Words(Vec<String>),
    /// The host.
    Host(PlanStep),
}

/// Why a text is not a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RungError {
    /// There is no colon, or one side of it is empty.
    #[error("write NAME: FLAGS, as in \"two threads: --threads=2\"")]
    Form,
    /// It cannot be split into words.
    #[error("{0}")]
    Words(CommandLineError),
}

impl Rung {
    /// Parses `NAME: FLAGS`.
    ///
    /// # Errors
    /// It does not have that form.
    pub fn of_words(text: &str) -> Result<Self, RungError> {
        let (name, words) = text.split_once(':').ok_or(RungError::Form)?;
        let words = super::command::words(words).map_err(RungError::Words)?;
        if name.trim().is_empty() || words.is_empty() {
            return Err(RungError::Form);
        }
        Ok(Self { name: name.trim().to_owned(), what: RungChange::Words(words) })
    }

    /// A step of the host's plan.
    pub fn of_host(step: PlanStep) -> Self {
        Self { name: step.check.id.to_owned(), what: RungChange::Host(step) }
    }

    /// The command line with this step.
    pub(super) fn command(&self, command: Vec<String>) -> Vec<String> {
        match &self.what {
            RungChange::Words(words) => with_words(command, words),
            RungChange::Host(_) => command,
        }
    }
}

impl fmt::Display for RungChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => formatter.write_str(&words.join(" ")),
            Self::Host(step) => {
                let one = |change: &crate::FileChange| {
                    format!("{}: {} -> {}", change.path, change.old, change.new).replace('\t', " ")
                };
                let changes: Vec<String> = step.changes.iter().map(one).collect();
                formatter.write_str(&changes.join("; "))
            }
        }
    }
}

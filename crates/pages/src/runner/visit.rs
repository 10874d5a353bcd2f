//! One visit to a run: it begins or continues, until it waits or is over.
//!
//! Owns what the files of the runner tell each other of it. Never runs anything.

use std::sync::Arc;

use actors::RunKey;
use script::engine::{Run, ScriptError};

use super::RunResult;
use crate::delivery::Delivery;
use crate::page::Page;
use crate::process::{Life, ProcessState};

/// A run that has begun or continued, until it waits or ends. Plain data.
pub(super) struct Visit<'run> {
    pub(crate) key: RunKey,
    pub(crate) run: &'run mut Run,
    pub(crate) life: &'run mut Life,
    /// When its first step began.
    pub(crate) begun_ns: u64,
}

/// How a visit ended.
pub(super) enum VisitEnd {
    /// The run is over.
    Over(Ending),
    /// The run is kept.
    Stays(Stay),
}

/// How a run ended.
pub(super) enum Ending {
    /// It finished.
    Done,
    /// It failed.
    Failed(Box<ScriptError>),
}

impl Ending {
    /// The result for the caller of the runner.
    pub(super) fn of(self, page: Arc<Page>) -> RunResult {
        match self {
            Self::Done => RunResult::Done(page),
            Self::Failed(error) => RunResult::Failed(page, Some(error)),
        }
    }
}

/// A run that is to be kept: under which key, and until when. Plain data.
pub(super) struct Stay {
    pub(crate) key: RunKey,
    /// When it continues in any case.
    pub(crate) due_ns: u64,
    /// The delivery that it waited for, if it has arrived.
    pub(crate) delivery: Option<Delivery>,
    pub(crate) standing: ProcessState,
    /// The result for the caller of the runner.
    pub(crate) result: RunResult,
}

impl Stay {
    /// It continues after others.
    pub(super) fn ready(key: RunKey, delivery: Option<Delivery>) -> Self {
        Self { key, due_ns: 0, delivery, standing: ProcessState::Ready, result: RunResult::Wait }
    }

    /// It continues at this time, or when there is something to deliver.
    pub(super) fn until(key: RunKey, due_ns: u64) -> Self {
        let (standing, result) = (ProcessState::Waits, RunResult::Wait);
        Self { key, due_ns, delivery: None, standing, result }
    }
}

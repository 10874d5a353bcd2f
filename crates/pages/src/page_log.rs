//! The log of the pages of a scheduler: lines that they write, failures of which no client is told, and remarks.
//!
//! Owns what was not taken yet. Never writes a log.

use std::rc::Rc;
use std::sync::Arc;

use script::engine::ScriptError;

use super::log_gate::LogGate;
use super::page::Page;
use super::remark::{Noticed, Remark, Remarks};

/// The log of one scheduler's pages.
#[derive(Default)]
pub(super) struct PageLog {
    gate: Rc<LogGate>,
    failures: Vec<(Arc<Page>, Box<ScriptError>)>,
    remarks: Remarks,
}

impl PageLog {
    /// The rate limit for all log lines of pages.
    pub(super) fn gate(&self) -> &Rc<LogGate> {
        &self.gate
    }

    /// A run that answers no request has failed, or a page could not be loaded.
    pub(super) fn fail(&mut self, page: Arc<Page>, error: Box<ScriptError>) {
        self.failures.push((page, error));
    }

    /// The failures since the last call.
    pub(super) fn take_failures(&mut self) -> Vec<(Arc<Page>, Box<ScriptError>)> {
        std::mem::take(&mut self.failures)
    }

    /// Something remarkable has happened.
    pub(super) fn remark(&mut self, remark: Remark) {
        self.remarks.add(remark);
    }

    /// Whether this was remarked on since the last call of [`take_remarks`](Self::take_remarks).
    pub(super) fn has_remark(&self, noticed: Noticed, place: &str) -> bool {
        self.remarks.has(noticed, place)
    }

    /// Whether there is room for another remark. One without is counted.
    pub(super) fn has_room_for_remark(&mut self) -> bool {
        self.remarks.has_room()
    }

    /// The remarks since the last call, and how many were left out.
    pub(super) fn take_remarks(&mut self) -> (Vec<Remark>, u64) {
        std::mem::take(&mut self.remarks).into_parts()
    }
}

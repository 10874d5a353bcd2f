//! Requests that a limit delays, and what is counted when a request ends.
//!
//! Owns when a delay is over. Never decides about a request: `limit` does.

use std::collections::BTreeSet;
use std::sync::Arc;

use ahash::HashMap;
use runtime::slots::ProcessId;

use crate::limits::LIMIT_DELAYED_MAX;

/// The counts that are made when a request ends.
#[derive(Clone, Debug)]
pub(super) enum Charge {
    /// One fewer is open: the name of the limit, which may have another number when the request ends, and its key.
    Close(Arc<str>, u64),
    /// Its bytes: the number of the limit in this configuration, its key, and the bytes that were counted already.
    Spend { limit: usize, generation: u64, key: u64, counted: u64 },
}

/// Bytes of a request that has ended, which are counted at the end of the turn. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owed {
    /// The number of the limit, in the configuration with this number.
    pub(crate) limit: usize,
    pub(crate) generation: u64,
    pub(crate) key: u64,
    pub(crate) bytes: u64,
}

/// The requests of a scheduler that limits have to do with.
#[derive(Debug, Default)]
pub(super) struct Metered {
    due_ms: HashMap<ProcessId, u64>,
    order: BTreeSet<(u64, ProcessId)>,
    charges: HashMap<ProcessId, Vec<Charge>>,
    owed: Vec<Owed>,
}

impl Metered {
    /// Whether there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.due_ms.is_empty() && self.charges.is_empty() && self.owed.is_empty()
    }

    /// Lets a request wait until this time. `false`: too many do.
    pub(super) fn delay(&mut self, process: ProcessId, due_ms: u64) -> bool {
        if self.order.len() >= LIMIT_DELAYED_MAX {
            return false;
        }
        self.due_ms.insert(process, due_ms);
        self.order.insert((due_ms, process));
        true
    }

    /// Whether a request still has to wait.
    pub(super) fn is_delayed(&self, process: ProcessId) -> bool {
        !self.due_ms.is_empty() && self.due_ms.contains_key(&process)
    }

    /// The next request whose delay is over; otherwise the milliseconds until one is.
    pub(super) fn take_due(&mut self, now_ms: u64) -> Result<ProcessId, Option<u64>> {
        let Some((due_ms, process)) = self.order.first().copied() else { return Err(None) };
        if due_ms > now_ms {
            return Err(Some(due_ms - now_ms));
        }
        self.order.pop_first();
        self.due_ms.remove(&process);
        Ok(process)
    }

    /// Something is counted when a request ends.
    pub(super) fn charge(&mut self, process: ProcessId, charge: Charge) {
        self.charges.entry(process).or_default().push(charge);
    }

    /// A request has used so many bytes: returns what of that was not counted yet, of each limit.
    pub(super) fn use_bytes(
        &mut self,
        process: ProcessId,
        bytes: u64,
    ) -> impl Iterator<Item = Owed> {
        let charges = self.charges.get_mut(&process).map_or(&mut [][..], Vec::as_mut_slice);
        charges.iter_mut().filter_map(move |charge| {
            let Charge::Spend { limit, generation, key, counted } = charge else { return None };
            let more = bytes.checked_sub(*counted).filter(|more| *more > 0)?;
            *counted = bytes;
            Some(Owed { limit: *limit, generation: *generation, key: *key, bytes: more })
        })
    }

    /// The same at the end of a request whose time is not known: it is counted with the turn.
    pub(super) fn owe_bytes(&mut self, process: ProcessId, bytes: u64) {
        let owed: Vec<Owed> = self.use_bytes(process, bytes).collect();
        self.owed.extend(owed);
    }

    /// Takes what is counted with the turn.
    pub(super) fn take_owed(&mut self) -> Vec<Owed> {
        std::mem::take(&mut self.owed)
    }

    /// A request has ended: returns what has to be counted.
    pub(super) fn end(&mut self, process: ProcessId) -> Vec<Charge> {
        if let Some(due_ms) = self.due_ms.remove(&process) {
            self.order.remove(&(due_ms, process));
        }
        self.charges.remove(&process).unwrap_or_default()
    }
}

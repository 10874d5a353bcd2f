//! The order of work: which runs continue at the end of a turn of the scheduler, which requests begin later, and which
//! waits end at which time.
//!
//! Owns the queues, the alarms, and what requests have used of a turn. Never runs anything, and reads no clock.

use actors::RunKey;
use runtime::alarms::Alarms;
use runtime::slots::ProcessId;
use sys::socket::Peer;

use super::counts::RowIndex;
use super::process::{ProcessState, Underway};
use super::put_off::PutOff;
use super::ready::{Queue, Ready, ReadyRun, Used};
use crate::limits::{PROCESS_SHARE_PART, SLICE_PART_THAT_IS_LONG, SLICES_OF_A_TURN};

/// The turns of one scheduler's pages.
#[derive(Default)]
pub(super) struct Turn {
    ready: Ready,
    put_off: PutOff,
    alarms: Alarms<RunKey>,
    slice_ns: u64,
    /// The time of the last call that passed it.
    now_ns: u64,
    /// The time that requests have used, by the clock.
    requests_ns: u64,
}

impl Turn {
    pub(super) fn new(slice_ns: u64) -> Self {
        Self { slice_ns, ..Self::default() }
    }

    /// A call passes the time.
    pub(super) fn set_now(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// The time of the last call that passed it.
    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Sets how long a run may go on before others do.
    pub(super) fn set_slice(&mut self, slice_ns: u64) {
        self.slice_ns = slice_ns;
    }

    /// How long a run may go on before others do.
    pub(super) fn slice_ns(&self) -> u64 {
        self.slice_ns
    }

    /// A request has run this long.
    pub(super) fn add_request_ns(&mut self, taken_ns: u64) {
        self.requests_ns += taken_ns;
    }

    /// The slices that requests have used.
    fn slices_had(&self) -> u64 {
        self.requests_ns / self.slice_ns.max(1)
    }

    /// Whether requests have used what they may.
    pub(super) fn is_used_up(&self) -> bool {
        self.slices_had() >= SLICES_OF_A_TURN
    }

    /// Whether a request for this page, which usually takes this long, has to wait for a later turn. Then it is queued.
    pub(super) fn puts_off(
        &mut self,
        process: ProcessId,
        client: Option<Peer>,
        page: RowIndex,
        usual_ns: u64,
    ) -> bool {
        let run = ReadyRun { key: RunKey::Request(process), page, client };
        // A page that takes long waits until others have run; the slowest waits longest.
        let used = Used::of(usual_ns.saturating_mul(2), self.slice_ns);
        if self.put_off.remove(process) {
            if !self.is_used_up() {
                return false;
            }
            // Those that were put off run before the events of a turn, so older ones have used it.
            self.put_off.add(process, page);
            self.ready.push_again(run, used);
            return true;
        }
        let is_long = usual_ns >= self.slice_ns / SLICE_PART_THAT_IS_LONG;
        let most = if is_long { 1 } else { SLICES_OF_A_TURN };
        let is_younger = self.put_off.has_any_of(page) || self.ready.has_left_request(page);
        if !is_younger && self.slices_had() < most {
            return false;
        }
        self.put_off.add(process, page);
        self.ready.push(run, used);
        true
    }

    /// Whether this request was put off.
    pub(super) fn has_put_off(&self, process: ProcessId) -> bool {
        self.put_off.has(process)
    }

    /// The page of a request that was put off.
    pub(super) fn page_put_off(&self, process: ProcessId) -> Option<RowIndex> {
        self.put_off.page_of(process)
    }

    /// Nobody waits for this request any more.
    pub(super) fn forget(&mut self, process: ProcessId) {
        self.put_off.remove(process);
    }

    /// Queues a suspended run among the ready ones, once.
    pub(super) fn queue(&mut self, key: RunKey, waits: &mut Underway) {
        if waits.standing != ProcessState::Ready {
            waits.standing = ProcessState::Ready;
            let used = Used::of(waits.spent_ns(self.now_ns), self.slice_ns);
            self.ready.push(waits.life.ready(key), used);
        }
    }

    /// Queues the suspended run of a request again, for which there was no time in the turn for which it was called.
    pub(super) fn queue_again(&mut self, key: RunKey, waits: &mut Underway) {
        waits.standing = ProcessState::Ready;
        let used = Used::of(waits.spent_ns(self.now_ns), self.slice_ns);
        self.ready.push_again(waits.life.ready(key), used);
    }

    /// The turn ends. Returns how long processes may run: as much as requests took, up to a slice, or a part of one if
    /// there were none, so that the next turn starts soon.
    pub(super) fn end(&mut self) -> u64 {
        self.ready.requests().put_back();
        // Runs from here on count in the next turn, before whose events the requests run that continue now.
        let requests_ns = std::mem::take(&mut self.requests_ns);
        requests_ns.clamp(self.slice_ns / PROCESS_SHARE_PART, self.slice_ns)
    }

    /// The requests that are ready.
    pub(super) fn requests(&mut self) -> &mut Queue {
        self.ready.requests()
    }

    /// The processes that are ready.
    pub(super) fn processes(&mut self) -> &mut Queue {
        self.ready.processes()
    }

    /// Whether no run is ready.
    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty()
    }

    /// A run waits until this time.
    pub(super) fn set_alarm(&mut self, due_ns: u64, key: RunKey) {
        self.alarms.set(due_ns, key);
    }

    /// A run whose time may have come.
    pub(super) fn take_due(&mut self) -> Option<RunKey> {
        self.alarms.take_due(self.now_ns)
    }

    /// The time of the next alarm.
    pub(super) fn next_alarm_ns(&self) -> Option<u64> {
        self.alarms.next_ns()
    }

    /// Drops alarms that nobody waits for, if there are many more than runs.
    pub(super) fn tidy_alarms(&mut self, runs: usize, due: impl Fn(RunKey) -> Option<u64>) {
        self.alarms.tidy(runs, due);
    }
}

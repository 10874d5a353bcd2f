//! The steps of a run, one after the other, as long as each wait is answered at once.
//!
//! Owns when a run gives way to others. What a wait means is said in its row (`calls`).

use actors::RunKey;
use script::engine::{CallResult, PageHost};

use super::call_table::CALLS;
use super::calls::Caller;
use super::{Moment, RunResult, Runner};
use crate::delivery::WaitOutcome;
use crate::limits::{PAGE_ANSWERS_AT_ONCE, RUN_UNINTERRUPTED_NS};
use crate::process::{Life, Underway};
use crate::traced;

/// A run that has begun or continued, until it waits or ends. Plain data.
pub(super) struct Visit {
    pub(crate) key: RunKey,
    pub(crate) life: Life,
    /// When its first step began.
    pub(crate) begun_ns: u64,
}

impl Runner {
    /// Runs step after step, from the first, as long as each wait is answered at once.
    pub(super) fn proceed(
        &mut self,
        visit: Visit,
        step: CallResult,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> RunResult {
        let (key, row, begun_ns) = (visit.key, visit.life.row, visit.begun_ns);
        let turnout = self.go_through(visit, step, host, moment);
        let cpu_ns = self.engines.take_visit_cpu_ns();
        // Processes are many and short: for them the clock is read only if one may have been long.
        if !key.is_of_client() && cpu_ns < RUN_UNINTERRUPTED_NS / 2 {
            return turnout;
        }
        let now_ns = (moment.clock_ns)();
        let taken_ns = now_ns.saturating_sub(begun_ns);
        self.look_at_length(key, row, taken_ns, cpu_ns);
        if key.is_of_client() {
            self.note_ran(key, taken_ns, now_ns);
            self.turn.add_request_ns(taken_ns);
            self.counters.add_visit(row, taken_ns);
        }
        turnout
    }

    fn go_through(
        &mut self,
        visit: Visit,
        mut step: CallResult,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> RunResult {
        let Visit { key, mut life, begun_ns } = visit;
        let end_ns = begun_ns.saturating_add(self.turn.slice_ns());
        let mut answered = 0;
        loop {
            let (run, delivery) = match step {
                CallResult::Done => {
                    traced::note(key, traced::ENDS, format_args!(""));
                    return RunResult::Done(self.end(key, life));
                }
                CallResult::Failed(error) => {
                    traced::note(key, traced::FAILS, format_args!("{:?}", error.fault));
                    self.remark_on_end(&error);
                    return RunResult::Failed(self.end(key, life), Some(error));
                }
                CallResult::Sliced(run) => return self.end_slice(key, run, life),
                CallResult::Waits(mut run, number) => {
                    let caller = Caller { key, life: &mut life, moment, host: &mut *host };
                    match CALLS[number.index()].start(self, &mut run, caller) {
                        WaitOutcome::ByClient(act) => {
                            return self.hand_to_client(key, run, life, act);
                        }
                        WaitOutcome::Now(delivery) => (run, delivery),
                        WaitOutcome::Later { due_ns } => {
                            let due_ns = life.due_by(due_ns);
                            self.turn.set_alarm(due_ns, key);
                            return self.keep(key, Underway::new(run, life, due_ns, None));
                        }
                    }
                }
            };
            answered += 1;
            if answered == PAGE_ANSWERS_AT_ONCE || (moment.clock_ns)() >= end_ns {
                return self.yield_turn(key, run, life, Some(delivery));
            }
            step = self.resume(run, &life, Some(&delivery), host, moment);
        }
    }
}

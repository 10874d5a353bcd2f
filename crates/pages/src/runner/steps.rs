//! The steps of a run, one after the other, as long as each wait is answered at once.
//!
//! Owns when a run gives way to others. What a wait means is said in its row (`calls`).

use script::engine::{CallResult, PageHost, Run};

use super::call_table::CALLS;
use super::calls::Caller;
use super::remarks::many_slices;
use super::visit::{Ending, Stay, Visit, VisitEnd};
use super::{Moment, Runner};
use crate::delivery::WaitOutcome;
use crate::limits::{PAGE_ANSWERS_AT_ONCE, RUN_UNINTERRUPTED_NS};
use crate::process::{ITS_TURN, Life, calls_of};
use crate::remark::Noticed;
use crate::traced;

impl Runner {
    /// Runs step after step, from the first, as long as each wait is answered at once.
    pub(super) fn proceed(
        &mut self,
        mut visit: Visit<'_>,
        step: CallResult,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> VisitEnd {
        let (key, row, begun_ns) = (visit.key, visit.life.row, visit.begun_ns);
        let end = self.go_through(&mut visit, step, host, moment);
        let cpu_ns = self.engines.take_visit_cpu_ns();
        visit.life.note_cpu(cpu_ns);
        // Processes are many and short: for them the clock is read only if one may have been long.
        if !key.is_of_client() && cpu_ns < RUN_UNINTERRUPTED_NS / 2 {
            return end;
        }
        let now_ns = (moment.clock_ns)();
        let taken_ns = now_ns.saturating_sub(begun_ns);
        // A thread that lost its core for a while has used little of it.
        if taken_ns >= RUN_UNINTERRUPTED_NS && cpu_ns >= RUN_UNINTERRUPTED_NS / 2 {
            let stays = matches!(end, VisitEnd::Stays(_));
            let calls = if stays { calls_of(visit.run) } else { Vec::new() };
            self.remark_on(row, Noticed::LongSlice(taken_ns), String::new(), calls);
        }
        if key.is_of_client() {
            visit.life.note_ran(taken_ns, now_ns);
            self.turn.add_request_ns(taken_ns);
            self.counters.add_visit(row, taken_ns);
        }
        end
    }

    fn go_through(
        &mut self,
        visit: &mut Visit<'_>,
        mut step: CallResult,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> VisitEnd {
        let Visit { key, run, life, begun_ns } = visit;
        let key = *key;
        let end_ns = begun_ns.saturating_add(self.turn.slice_ns());
        let mut answered = 0;
        loop {
            let delivery = match step {
                CallResult::Done => {
                    traced::note(key, traced::ENDS, format_args!(""));
                    return VisitEnd::Over(Ending::Done);
                }
                CallResult::Failed(error) => {
                    traced::note(key, traced::FAILS, format_args!("{:?}", error.fault));
                    self.remark_on_end(&error);
                    return VisitEnd::Over(Ending::Failed(error));
                }
                CallResult::Sliced => {
                    self.note_slice(run, life);
                    return VisitEnd::Stays(Stay::ready(key, None));
                }
                CallResult::Waits(number) => {
                    let caller = Caller { key, life, moment, host };
                    match CALLS[number.index()].start(self, run, caller) {
                        WaitOutcome::ByClient(act) => {
                            return VisitEnd::Stays(self.hand_to_client(key, life, act));
                        }
                        WaitOutcome::Now(delivery) => delivery,
                        WaitOutcome::Later { due_ns } => {
                            let due_ns = life.due_by(due_ns);
                            self.turn.set_alarm(due_ns, key);
                            return VisitEnd::Stays(Stay::until(key, due_ns));
                        }
                    }
                }
            };
            answered += 1;
            if answered == PAGE_ANSWERS_AT_ONCE || (moment.clock_ns)() >= end_ns {
                life.wait_for(ITS_TURN);
                return VisitEnd::Stays(Stay::ready(key, Some(delivery)));
            }
            step = self.resume(run, life, Some(&delivery), host, moment);
        }
    }

    /// A run has used its slice up: others run first.
    fn note_slice(&mut self, run: &Run, life: &mut Life) {
        life.wait_for(ITS_TURN);
        let slices = life.note_slice();
        if slices == many_slices(self.turn.slice_ns()) {
            let used_ns = u64::from(slices).saturating_mul(self.turn.slice_ns());
            self.remark_on(life.row, Noticed::MuchCpu(used_ns), String::new(), calls_of(run));
        }
    }
}

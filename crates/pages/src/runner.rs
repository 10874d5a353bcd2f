//! The pages of one scheduler: its engine, what is loaded, and what runs.
//!
//! Owns runs from their first step to their last. Never writes a reply; a call lends it a clock.

mod steps;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ahash::HashMap;
use runtime::account::{Account, exactly};
use runtime::alarms::Alarms;
use runtime::clock::nanoseconds;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use runtime::trace;
use script::engine::{
    Code, EngineError, Fault, Host, Output, Run, ScriptError, Settings, State, Step, Usage, Wait,
};

use super::at_work::AtWork;
use super::counts::{Counters, RowIndex};
use super::delivery::Delivery;
use super::fetches::Fetches;
use super::load::SetIndex;
use super::loaded::{self, Loaded, no_room};
use super::log_gate::LogGate;
use super::mailbox::{Awaits, Mailboxes};
use super::page::Page;
use super::post::Outgoing;
use super::process::{Key, Life, ProcessState, Underway, Work};
use super::process_engine::ProcessEngine;
use super::put_off::PutOff;
use super::ready::Ready;
use super::remark::Remarks;
use super::set::PageSet;
use super::spent::{Timing, note_waited};
use super::step_cost::StepCost;
use super::traced;
use crate::limits::SLICES_OF_A_TURN;

/// The result of running a page for a while.
pub enum RunResult {
    /// It has finished; its answer is in [`Runner::output`].
    Done(Arc<Page>),
    /// It continues later; then its process is resumed.
    Wait,
    /// It continues when the client has read the part of its answer in [`Runner::output`].
    Part(Arc<Page>),
    /// Its connection becomes a WebSocket; [`Runner::output`] has the subprotocol and the fields.
    Accept(Arc<Page>),
    /// The output says what to do with the WebSocket. It continues when that is done.
    Say(Arc<Page>),
    /// It failed, or there is no code for it.
    Failed(Arc<Page>, Option<Box<ScriptError>>),
}

/// The time and place at which pages run.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time of the turn.
    pub now_ns: u64,
    /// The scheduler.
    pub endpoint: Endpoint,
    /// The CPU time that this thread has used, in ns. Rarely read.
    pub thread_cpu_ns: fn() -> u64,
    /// A clock that advances within the turn, in ns. What Lua used is sampled too coarsely to end a turn by it.
    pub clock_ns: fn() -> u64,
}

/// The pages of one scheduler.
pub struct Runner {
    /// Runs code that answers requests.
    pub(super) engine: State,
    /// Runs spawned processes.
    pub(super) process_engine: ProcessEngine,
    pub(super) roots: Vec<Loaded>,
    /// The number of the next site.
    pub(super) next_site: u16,
    pub(super) underway: HashMap<Key, Box<Underway>>,
    pub(super) mailboxes: Mailboxes,
    pub(super) put_off: PutOff,
    pub(super) alarms: Alarms<Key>,
    /// Runs that continue at the end of the turn.
    pub(super) ready: Ready,
    pub(super) outgoing: Outgoing,
    pub(super) fetches: Fetches,
    /// Operations that pages request on the files of their forms.
    pub(super) file_wishes: Vec<(ProcessId, Wait)>,
    /// Errors of processes that answer no request.
    pub(super) failures: Vec<(Arc<Page>, Box<ScriptError>)>,
    output: Output,
    deadline_ns: u64,
    pub(super) slice_ns: u64,
    cpu_budget_ns: u64,
    /// The time of the last call that passed it.
    pub(super) now_ns: u64,
    /// The time that requests have used in this turn, by the clock.
    pub(super) requests_ns: u64,
    step_cost: StepCost,
    /// CPU time of the run that is going on, since it began or continued.
    visit_cpu_ns: u64,
    pub(super) remarks: Remarks,
    pub(super) timing: Timing,
    /// Bytes that processes must free.
    pub(super) missing_for_processes: u64,
    /// The number of schedulers with processes, which are the first endpoints.
    pub(super) schedulers: u16,
    pub(super) code: Code,
    pub(super) counters: Counters,
    pub(super) log_gate: Rc<LogGate>,
    /// The messages that pages publish.
    pub(super) publications: Rc<super::publications::Publications>,
    /// The pages' connection to the store.
    pub(super) recording: super::record_orders::Recording,
    /// The subscriptions of pages.
    pub(super) listening: super::listening::Listening,
    pub(super) names: super::names::Names,
    pub(super) site_processes: super::site_processes::SiteProcesses,
    pub(super) at_work: Arc<AtWork>,
}

impl Runner {
    /// An engine with all pages loaded.
    ///
    /// # Errors
    /// If no engine can run on this host.
    pub fn new(
        sets: &[Arc<PageSet>],
        settings: Settings,
        process_memory_bytes: usize,
        deadline_ns: u64,
        schedulers: u16,
    ) -> Result<Self, EngineError> {
        let mut runner = Self {
            engine: State::new(settings)?,
            process_engine: ProcessEngine::new(settings, process_memory_bytes),
            roots: Vec::new(),
            next_site: 0,
            underway: HashMap::default(),
            mailboxes: Mailboxes::new().ok_or(EngineError::NoRandomBytes)?,
            put_off: PutOff::default(),
            alarms: Alarms::default(),
            ready: Ready::default(),
            outgoing: Outgoing::default(),
            fetches: Fetches::default(),
            file_wishes: Vec::new(),
            failures: Vec::new(),
            output: Output::default(),
            deadline_ns,
            slice_ns: nanoseconds(settings.slice),
            cpu_budget_ns: nanoseconds(settings.cpu_budget),
            now_ns: 0,
            requests_ns: 0,
            step_cost: StepCost::new(),
            visit_cpu_ns: 0,
            remarks: Remarks::default(),
            timing: Timing::default(),
            missing_for_processes: 0,
            schedulers,
            code: settings.code,
            counters: Counters::default(),
            log_gate: Rc::default(),
            publications: Rc::default(),
            recording: super::record_orders::Recording::default(),
            listening: super::listening::Listening::default(),
            names: super::names::Names::default(),
            site_processes: super::site_processes::SiteProcesses::default(),
            at_work: Arc::default(),
        };
        runner.load(sets);
        Ok(runner)
    }

    /// The output of the finished page.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Called at the end of the server's process: suspended runs are not freed.
    pub fn leave(self) {
        let Self { engine, process_engine, .. } = self;
        engine.leave();
        process_engine.leave();
    }

    /// The rate limit for all log lines of pages.
    pub fn log_gate(&self) -> &Rc<LogGate> {
        &self.log_gate
    }

    /// Starts a page, or continues the one that this process runs.
    pub fn run(
        &mut self,
        process: ProcessId,
        (set, index): (SetIndex, usize),
        host: &mut dyn Host,
        moment: Moment,
    ) -> Option<RunResult> {
        self.now_ns = moment.now_ns;
        self.log_gate.set_now(moment.now_ns);
        let key = Key::Request(process);
        if self.underway.contains_key(&key) {
            return Some(self.go_on(key, host, moment));
        }
        let (before, begun_ns) = (self.usage(), (moment.clock_ns)());
        let row = self.row_of(set, index)?;
        if self.puts_off(process, row) {
            return Some(RunResult::Wait);
        }
        let loaded = self.roots.get(usize::from(set.0))?;
        let page = loaded.set.pages.get(index)?;
        let counts = self.counters.of(row);
        counts.requests += 1;
        let Some(loaded::Code { page, handler }) = loaded.code.get(index)? else {
            let error = page.lua.as_ref().map(|_| no_room(page));
            counts.add_fault(error.as_ref().map_or(Fault::Compile, |error| error.fault));
            return Some(RunResult::Failed(Arc::clone(page), error));
        };
        let page = Arc::clone(page);
        self.at_work.begin(&page);
        let (engine, output) = (&mut self.engine, &mut self.output);
        let step = exactly(Account::Page, || engine.start(handler, host, output));
        self.at_work.end();
        let deadline_ns = moment.now_ns.saturating_add(self.deadline_ns);
        let mut life = Life::new(page, row, deadline_ns);
        life.spent = self.spent_of_new(begun_ns);
        let held_bytes = self.engine.held_bytes();
        let _used = self.count(row, &step, before, held_bytes, 0);
        Some(self.proceed(key, life, (step, begun_ns), host, moment))
    }

    /// Continues a suspended run, if what it waited for has arrived.
    pub(super) fn go_on(&mut self, key: Key, host: &mut dyn Host, moment: Moment) -> RunResult {
        let Some(mut waits) = self.underway.remove(&key) else { return RunResult::Wait };
        let was_called = waits.standing == ProcessState::Called;
        if was_called {
            waits.standing = ProcessState::Waits;
        }
        if !waits.is_due(moment.now_ns) {
            self.underway.insert(key, waits);
            return RunResult::Wait;
        }
        if key.is_of_client() && self.slices_had() >= SLICES_OF_A_TURN {
            if was_called {
                // Those that were called run before the events of a turn, so older ones have used it.
                waits.standing = ProcessState::Ready;
                self.ready.push_again(key, waits.life.row, self.used_by(&waits));
            }
            self.underway.insert(key, waits);
            self.make_ready(key);
            return RunResult::Wait;
        }
        let begun_ns = (moment.clock_ns)();
        let Underway { work, mut life, mut delivery, .. } = *waits;
        note_waited(&mut life.spent, life.waits_for, begun_ns);
        let mut run = match work {
            Work::Run(run) => run,
            Work::Ended(error) => {
                self.counters.of(life.row).add_fault(error.fault);
                self.remark_on_end(&error);
                return RunResult::Failed(self.end(key, life), Some(error));
            }
        };
        if trace::is_on() {
            traced::note(key, traced::GOES_ON, format_args!(""));
        }
        life.note_taken(&mut run, moment.now_ns, self.deadline_ns);
        life.stop_awaiting();
        if moment.now_ns > life.deadline_ns {
            self.counters.of(life.row).add_fault(Fault::Deadline);
            let error = self.engine.end_late(run, Duration::from_nanos(self.deadline_ns));
            self.remark_on_end(&error);
            return RunResult::Failed(self.end(key, life), Some(error));
        }
        if let Some(mailbox) = life.mailbox {
            delivery = delivery.or_else(|| self.give_up_word(mailbox));
            self.mailboxes.set_awaits(mailbox, Awaits::Nothing);
        }
        if delivery.is_none() {
            self.listening.stop_waiting(key);
            self.recording.stop_waiting(key);
        }
        let step = self.resume(run, &life, delivery.as_ref(), host, moment);
        self.proceed(key, life, (step, begun_ns), host, moment)
    }

    fn resume(
        &mut self,
        mut run: Run,
        life: &Life,
        delivery: Option<&Delivery>,
        host: &mut dyn Host,
        moment: Moment,
    ) -> Step {
        if self.step_cost.is_look_due() {
            self.step_cost.look((moment.thread_cpu_ns)(), self.usage().cpu_ns);
        }
        self.recording.records.begin_run();
        let step_cost_ns = self.step_cost.price_ns();
        let before = self.usage();
        let family = life.shares_budget_with();
        let engine = match family {
            Some(family) => {
                let engine =
                    self.process_engine.engine_mut().expect("what it made a run of is there");
                engine.set_spent(&mut run, family.spent_ns(moment.now_ns));
                engine
            }
            None => {
                self.engine.charge(&mut run, step_cost_ns);
                &mut self.engine
            }
        };
        let output = &mut self.output;
        self.at_work.begin(&life.page);
        let step = exactly(Account::Page, || {
            Delivery::reply_to(delivery, |reply| engine.resume(run, reply, host, output))
        });
        self.at_work.end();
        // The memory of processes is charged to their family.
        let held_bytes = if family.is_none() { engine.held_bytes() } else { 0 };
        let used = self.count(life.row, &step, before, held_bytes, step_cost_ns);
        if let Some(family) = family {
            self.counters.of(life.row).spawned_cpu_ns += used.cpu_ns;
            // One slice more, so that a process that continues with it is ended.
            let most_ns = self.cpu_budget_ns.saturating_add(self.slice_ns);
            family.spend(used.cpu_ns, most_ns);
        }
        step
    }

    /// The row with the counters of a page.
    fn row_of(&mut self, set: SetIndex, index: usize) -> Option<RowIndex> {
        let loaded = self.roots.get_mut(usize::from(set.0))?;
        let page = loaded.set.pages.get(index)?;
        let row = loaded.rows.get_mut(index)?;
        Some(*row.get_or_insert_with(|| {
            self.counters.row(loaded.site, &page.name.file, || loaded.set.name_of(page))
        }))
    }

    /// All pages with a number of their own, and their files.
    pub fn timed_pages(&self) -> Vec<(u16, String)> {
        self.counters.names().map(|(row, name)| (row.number(), name.to_owned())).collect()
    }

    /// The number of a page, which is that of its [`PageReport`](crate::PageReport) and stays the same; 0 if it has none of its own.
    pub fn number_of(&mut self, set: SetIndex, index: usize) -> u16 {
        self.row_of(set, index).map_or(0, RowIndex::number)
    }

    /// The number of slices that requests have used in this turn.
    pub(super) fn slices_had(&self) -> u64 {
        self.requests_ns / self.slice_ns.max(1)
    }

    fn count(
        &mut self,
        row: RowIndex,
        step: &Step,
        before: Usage,
        held_bytes: u64,
        step_cost_ns: u64,
    ) -> Usage {
        self.step_cost.count();
        let mut used = self.usage().since(before);
        self.visit_cpu_ns += used.cpu_ns;
        used.cpu_ns += step_cost_ns;
        self.counters.of(row).add_step(step, used, held_bytes);
        used
    }

    /// What both engines have used so far.
    fn usage(&self) -> Usage {
        self.engine.usage().with(self.process_engine.usage())
    }
}

#[cfg(test)]
mod tests {
    use script::engine::Settings;

    use super::super::post::{Letter, Undelivered};
    use super::super::stage::{pages, run};
    use super::*;

    #[test]
    fn message_to_stuck_scheduler_fails_with_reason() {
        let page = "<%= select(2, send('1.5.1.00000000000000000000000000000001', 'a')) %>|<%= tostring(send('1.5.1.00000000000000000000000000000001', 'b')) %>";
        let mut runner = Runner::new(
            &pages(&[("a.page.txt", page)]),
            Settings::default(),
            64 << 20,
            u64::MAX,
            2,
        )
        .unwrap();
        let to = runner.mailboxes.next_id();
        let run = |runner: &mut Runner, now_ns| run(runner, 1, 0, now_ns);
        let word_ns = nanoseconds(crate::limits::LETTER_WORD);
        assert!(matches!(run(&mut runner, 0), RunResult::Wait));
        assert!(matches!(run(&mut runner, word_ns - 1), RunResult::Wait));
        assert!(matches!(run(&mut runner, word_ns), RunResult::Wait), "the next letter");
        // The receipt for the first letter comes too late, and is not taken for that of the second.
        let mut numbers = super::super::post::Outgoing::default();
        let (first, second) = (numbers.number(), numbers.number());
        let receipt = |number| Letter::Receipt { to, number, outcome: Ok(()) };
        runner.take_letter(Endpoint(1), receipt(first));
        assert!(matches!(run(&mut runner, word_ns), RunResult::Wait));
        runner.take_letter(Endpoint(1), receipt(second));
        assert!(matches!(run(&mut runner, word_ns), RunResult::Done(_)));
        let said = String::from_utf8_lossy(&runner.output().body).into_owned();
        assert_eq!(said, format!("{}|true", Undelivered::Unheard.as_str()));
    }

    #[test]
    fn the_numbers_of_a_page_outlive_its_text() {
        let old = pages(&[("a.page.html", "old"), ("b.page.html", "<% sleep(1) %>")]);
        let mut runner = Runner::new(&old, Settings::default(), 64 << 20, u64::MAX, 1).unwrap();
        let now = 5;
        assert!(matches!(run(&mut runner, 1, 0, now), RunResult::Done(_)));
        assert!(matches!(run(&mut runner, 2, 1, now), RunResult::Wait));
        assert!(matches!(run(&mut runner, 3, 1, now), RunResult::Wait));
        // Its number has changed, and one page was removed.
        runner.load(&pages(&[("0.page.html", "<% error('no') %>"), ("a.page.html", "new")]));
        assert!(matches!(run(&mut runner, 1, 1, now), RunResult::Done(_)));
        assert!(matches!(run(&mut runner, 1, 0, now), RunResult::Failed(_, Some(_))));
        let later = 2_000_000_000;
        assert!(
            matches!(run(&mut runner, 2, 0, later), RunResult::Done(page) if &*page.name.file == "b.page.html")
        );
        let report = runner.report();
        assert_eq!(report.waiting, 1);
        let seen: Vec<_> = report
            .pages
            .iter()
            .map(|page| {
                (
                    page.page.as_deref().unwrap(),
                    page.waiting,
                    page.counts.requests,
                    page.counts.failures,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [("a.page.html", 0, 2, 0), ("b.page.html", 1, 2, 0), ("0.page.html", 0, 1, 1)]
        );
        runner.forget(ProcessId::from_bits(3));
        runner.forget(ProcessId::from_bits(3));
        let report = runner.report();
        assert_eq!((report.waiting, report.total.cancelled, report.total.requests), (0, 1, 5));
    }
}

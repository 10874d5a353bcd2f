//! The two engines of a scheduler: one runs code that answers requests, the other what pages have spawned.
//!
//! Owns which of them a run is in, the output of the last step, what a step used and what it costs in addition, and the
//! memory that is missing. Never decides which run is next, or which is ended.

use std::rc::Rc;
use std::sync::Arc;

use runtime::account::{TimeAccount, exactly};
use runtime::clock::nanoseconds;
use script::engine::{
    CallResult, Code, EngineError, EngineSettings, EngineState, EngineUsage, NativeCode, PageHost,
    PageOutput, Run, ScriptError, WaitReply,
};

use super::at_work::AtWork;
use super::counts::{EngineMemory, PageCounts};
use super::delivery::Delivery;
use super::family::Budget;
use super::loaded;
use super::moment::Moment;
use super::process::{Life, Underway, Work};
use super::process_engine::ProcessEngine;
use super::step_cost::StepCost;

/// A step of a run, and what it used.
pub(super) struct Stepped {
    step: CallResult,
    used: EngineUsage,
    budget: Budget,
    /// Bytes that the run holds; 0 for a process, whose memory is charged to its family.
    held_bytes: u64,
}

impl Stepped {
    /// Adds what it used to the counters of its page.
    pub(super) fn counted(self, counts: &mut PageCounts) -> CallResult {
        counts.add_step(&self.step, self.used, self.held_bytes);
        if self.budget == Budget::Shared {
            counts.spawned_cpu_ns += self.used.cpu_ns;
        }
        self.step
    }
}

/// The engines of one scheduler.
pub(super) struct Engines {
    requests: EngineState,
    processes: ProcessEngine,
    output: PageOutput,
    settings: EngineSettings,
    step_cost: StepCost,
    /// CPU time of the run that is going on, since it began or continued.
    visit_cpu_ns: u64,
    /// Bytes that processes must free.
    missing_for_processes: u64,
    at_work: Arc<AtWork>,
}

impl Engines {
    /// # Errors
    /// If no engine can run on this host.
    pub(super) fn new(
        settings: EngineSettings,
        process_memory_bytes: usize,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            requests: EngineState::new(settings)?,
            processes: ProcessEngine::new(settings, process_memory_bytes),
            output: PageOutput::default(),
            settings,
            step_cost: StepCost::new(),
            visit_cpu_ns: 0,
            missing_for_processes: 0,
            at_work: Arc::default(),
        })
    }

    /// Called at the end of the server's process: nothing is freed.
    pub(super) fn leave(self) {
        self.requests.leave();
        self.processes.leave();
    }

    /// How they run code.
    pub(super) fn code(&self) -> Code {
        self.settings.code
    }

    /// Sets where this scheduler shows other threads which page runs.
    pub(super) fn show_at_work(&mut self, at_work: Arc<AtWork>) {
        self.at_work = at_work;
    }

    pub(super) fn requests(&mut self) -> &mut EngineState {
        &mut self.requests
    }

    /// The engine of processes, which is made with the first of them.
    pub(super) fn processes(&mut self) -> &mut ProcessEngine {
        &mut self.processes
    }

    /// All native code of requests, with the lines at which its pieces begin.
    pub(super) fn native_code(&self) -> Vec<NativeCode> {
        self.requests.native_code()
    }

    /// The output of the last step.
    pub(super) fn output(&self) -> &PageOutput {
        &self.output
    }

    /// A run of a page, which has not begun.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(super) fn begin(&mut self, code: &loaded::Code) -> Result<Run, Box<ScriptError>> {
        self.requests.begin(code.handler())
    }

    /// The first step of a run that has begun.
    pub(super) fn start(&mut self, run: &mut Run, life: &Life, host: &mut dyn PageHost) -> Stepped {
        let before = self.usage();
        self.at_work.begin(&life.page);
        let (engine, output) = (&mut self.requests, &mut self.output);
        let step =
            exactly(TimeAccount::Page, || engine.resume(run, WaitReply::Nothing, host, output));
        self.at_work.end();
        let held_bytes = self.requests.held_bytes();
        Stepped { step, used: self.used_since(before, 0), budget: Budget::Own, held_bytes }
    }

    /// Continues a run with what it waited for.
    pub(super) fn resume(
        &mut self,
        run: &mut Run,
        life: &Life,
        delivery: Option<&Delivery>,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> Stepped {
        if self.step_cost.is_look_due() {
            self.step_cost.look((moment.thread_cpu_ns)(), self.usage().cpu_ns);
        }
        let cost_ns = self.step_cost.price_ns();
        let before = self.usage();
        let family = life.shares_budget_with();
        match family {
            Some(family) => run.set_spent(family.spent_ns(moment.now_ns)),
            None => run.charge(cost_ns),
        }
        let engine = engine_of(&mut self.requests, &mut self.processes, life);
        let output = &mut self.output;
        self.at_work.begin(&life.page);
        let step = exactly(TimeAccount::Page, || {
            Delivery::reply_to(delivery, |reply| engine.resume(run, reply, host, output))
        });
        self.at_work.end();
        let (budget, held_bytes) = match family {
            Some(_) => (Budget::Shared, 0),
            None => (Budget::Own, self.requests.held_bytes()),
        };
        let used = self.used_since(before, cost_ns);
        if let Some(family) = family {
            // One slice more, so that a process that continues with it is ended.
            let most = self.settings.cpu_budget.saturating_add(self.settings.slice);
            family.spend(used.cpu_ns, nanoseconds(most));
        }
        Stepped { step, used, budget, held_bytes }
    }

    fn used_since(&mut self, before: EngineUsage, cost_ns: u64) -> EngineUsage {
        self.step_cost.count();
        let mut used = self.usage().since(before);
        self.visit_cpu_ns += used.cpu_ns;
        used.cpu_ns += cost_ns;
        used
    }

    /// CPU time of the run that went on until now, since it began or continued.
    pub(super) fn take_visit_cpu_ns(&mut self) -> u64 {
        std::mem::take(&mut self.visit_cpu_ns)
    }

    /// The time that both engines have used so far.
    fn usage(&self) -> EngineUsage {
        self.requests.usage().with(self.processes.usage())
    }

    /// The engine that a run is in.
    pub(super) fn of(&mut self, life: &Life) -> &mut EngineState {
        engine_of(&mut self.requests, &mut self.processes, life)
    }

    /// Bytes that a suspended run holds; for a process, that all processes of its request hold together.
    pub(super) fn held_by(&self, underway: &Underway) -> u64 {
        match (&underway.work, underway.life.shares_budget_with()) {
            (Work::Run(run), None) => self.requests.held_by(run),
            (Work::Run(_), Some(family)) => {
                self.processes.engine().map_or(0, |engine| engine.held_by_account(family.account()))
            }
            (Work::Ended(_), _) => 0,
        }
    }

    /// From now on runs have the bounds of these settings. What says how an engine is built stays.
    pub(super) fn tune(&mut self, settings: &EngineSettings) {
        let EngineSettings { slice, cpu_budget, memory_bytes, run_memory_bytes, .. } = *settings;
        self.settings =
            EngineSettings { slice, cpu_budget, memory_bytes, run_memory_bytes, ..self.settings };
        self.requests.tune(&self.settings);
        self.processes.tune(&self.settings);
    }

    /// The memory that the processes of each family hold, with one of them.
    pub(super) fn held_by_families<'a>(
        &self,
        lives: impl Iterator<Item = &'a Life>,
    ) -> Vec<(&'a Life, u64)> {
        let Some(engine) = self.processes.engine() else { return Vec::new() };
        let mut seen = ahash::HashSet::default();
        lives
            .filter_map(|life| Some((life, life.shares_budget_with()?)))
            .filter(|(_, family)| seen.insert(Rc::as_ptr(family).addr()))
            .map(|(life, family)| (life, engine.held_by_account(family.account())))
            .collect()
    }

    /// At the end of a turn: collects garbage. Returns whether there is more to do.
    pub(super) fn clear_away(&mut self) -> bool {
        let mut goes_on = exactly(TimeAccount::Collector, || self.requests.clear_away());
        if let Some(engine) = self.processes.engine_mut() {
            goes_on |= exactly(TimeAccount::Collector, || engine.clear_away());
        }
        goes_on
    }

    /// Bytes that are missing for requests, if memory has become short.
    pub(super) fn take_shortage(&mut self) -> Option<u64> {
        self.requests.take_shortage()
    }

    /// Bytes that processes must free.
    pub(super) fn missing_for_processes(&mut self) -> u64 {
        if let Some(missing) = self.processes.engine_mut().and_then(EngineState::take_shortage) {
            self.missing_for_processes = missing;
        }
        self.missing_for_processes
    }

    /// Processes have freed some of that; `None`: none is left that could.
    pub(super) fn note_freed(&mut self, bytes: Option<u64>) {
        self.missing_for_processes =
            bytes.map_or(0, |bytes| self.missing_for_processes.saturating_sub(bytes));
    }

    /// The memory of both.
    pub(super) fn memory(&self) -> EngineMemory {
        EngineMemory {
            bytes: self.requests.memory_used(),
            max_bytes: self.requests.memory_bound(),
            process_bytes: self.processes.engine().map_or(0, EngineState::memory_used),
            process_max_bytes: self.processes.memory_bound(),
        }
    }

    /// Bytes that they hold after the last collection of garbage, and of how many: of requests, then of processes.
    pub(super) fn memory_left(&self) -> [(usize, usize); 2] {
        let held = self.processes.engine().map_or(0, EngineState::memory_left);
        [
            (self.requests.memory_left(), self.requests.memory_bound()),
            (held, self.processes.memory_bound()),
        ]
    }
}

fn engine_of<'e>(
    requests: &'e mut EngineState,
    processes: &'e mut ProcessEngine,
    life: &Life,
) -> &'e mut EngineState {
    match life.shares_budget_with() {
        Some(_) => processes.engine_mut().expect("what it made a run of is there"),
        None => requests,
    }
}

//! One engine: pages are loaded into it, started and resumed.
//!
//! Owns the life of runs, from a coroutine of the pool back into it. Never decides when a run
//! continues.

use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::engine::call::{CallNumber, Carries, HostCall};
use crate::engine::collection::Collection;
use crate::engine::error::{EngineError, Fault, ScriptError};
use crate::engine::ffi::{
    CallFault, Coroutine, Lua, MemorySizes, Meter, NativeCode, Reference, Resumed,
};
use crate::engine::host::PageHost;
use crate::engine::keys::Keys;
use crate::engine::library;
use crate::engine::output::PageOutput;
use crate::engine::report;
use crate::engine::run::{Bin, CallResult, Handler, MemoryBudget, Review, Run, WaitReply};
use crate::engine::seen::Seen;
use crate::engine::settings::{Code, EngineSettings};
use crate::engine::tag::{self, DONE, EXIT};
use crate::limits;

/// The library's values that the engine keeps.
pub(super) struct Kept {
    pub(super) body: Reference,
    pub(super) environment: Reference,
    pub(super) modules: Reference,
    pub(super) adopt: Reference,
    pub(super) withdraw: Reference,
    pub(super) lead: Reference,
    pub(super) refuse: Reference,
    pub(super) strangers: Reference,
    pub(super) globals: Reference,
    pub(super) lost: Reference,
    pub(super) blamed: Reference,
}

/// An engine. It belongs to the thread that created it.
pub struct EngineState {
    pub(super) lua: Lua,
    pub(super) kept: Kept,
    pub(super) idle: Vec<Coroutine>,
    pub(super) bin: Bin,
    pub(super) ticks_max: u32,
    /// Ticks of one resume beyond which a run is ended.
    pub(super) uninterrupted_ticks: u32,
    /// Ticks of all runs together.
    pub(super) ticks_used: u64,
    pub(super) tick_ns: u64,
    pub(super) cpu_budget: Duration,
    pub(super) collection: Collection,
    /// Bytes that one run may hold.
    pub(super) run_bound: u64,
    /// The calls that pages can wait for.
    calls: &'static [HostCall],
    /// Bytes of the largest block of a table.
    table_bytes: usize,
    /// Bytes that all runs have allocated.
    pub(super) allocated: u64,
    /// Bytes that the run of the last call held at its end.
    pub(super) held: u64,
}

impl EngineState {
    /// Creates an engine. The first one in the process proves that it can interrupt native code.
    ///
    /// # Errors
    ///
    /// If that is not possible.
    pub fn new(settings: EngineSettings) -> Result<EngineState, EngineError> {
        let mut lua = open(&settings)?;
        let mut numbers = library::numbers(&settings).to_vec();
        numbers.extend(tag::ALL.iter().map(|(name, tag)| (*name, f64::from(*tag))));
        let bytes = settings.memory_bytes;
        let built =
            lua.build(library::CHUNKS, &library::tables(&settings), &numbers, library::KEPT);
        let [
            body,
            environment,
            modules,
            adopt,
            withdraw,
            lead,
            refuse,
            strangers,
            globals,
            lost,
            blamed,
            of_runs @ ..,
        ] = built.map_err(|fault| not_built(fault, bytes))?;
        lua.follow_runs(of_runs);
        lua.set_globals(&environment).map_err(|fault| not_built(fault, bytes))?;
        let tick = (settings.slice.as_nanos() / 2).max(1);
        let ticks = |time: Duration| u32::try_from(time.as_nanos() / tick).unwrap_or(u32::MAX);
        let ticks_max = ticks(settings.cpu_budget);
        let mut state = EngineState {
            lua,
            kept: Kept {
                body,
                environment,
                modules,
                adopt,
                withdraw,
                lead,
                refuse,
                strangers,
                globals,
                lost,
                blamed,
            },
            idle: Vec::new(),
            bin: Bin::default(),
            ticks_max: u32::MAX,
            uninterrupted_ticks: u32::MAX,
            ticks_used: 0,
            tick_ns: u64::try_from(tick).unwrap_or(u64::MAX),
            cpu_budget: settings.cpu_budget,
            collection: Collection::default(),
            run_bound: settings.run_memory_bytes as u64,
            calls: settings.calls,
            table_bytes: settings.table_bytes,
            allocated: 0,
            held: 0,
        };
        state.prove(settings.code)?;
        state.lua.set_slice(settings.slice);
        state.ticks_max = ticks_max;
        // A slice is never too long.
        state.uninterrupted_ticks = ticks(settings.uninterrupted.max(settings.slice * 2));
        state.ticks_used = 0;
        state.allocated = 0;
        Ok(state)
    }

    /// Runs a native loop that ends by itself, late, and checks that it is interrupted more often than the one time
    /// that happens anyway at its end.
    fn prove(&mut self, code: Code) -> Result<(), EngineError> {
        if library::IS_PROVEN.load(Relaxed) {
            return Ok(());
        }
        let bytes = self.lua.memory_bound();
        let fault = |error: Box<ScriptError>| match error.fault {
            Fault::Memory => EngineError::Memory { bytes },
            _ => EngineError::Library(error.to_string()),
        };
        let page = self.load(u16::MAX, "proof", library::PROOF).map_err(fault)?;
        let mut output = PageOutput::default();
        let mut step = self.start(&page, &mut library::NoHost, &mut output);
        for _ in 0..library::PROOF_SLICES {
            step = match step {
                CallResult::Sliced(run) => {
                    self.resume(run, WaitReply::Nothing, &mut library::NoHost, &mut output)
                }
                CallResult::Failed(error) => return Err(fault(error)),
                CallResult::Done | CallResult::Waits(..) => {
                    return Err(EngineError::NoHookChecks);
                }
            };
        }
        library::IS_PROVEN.store(code == Code::Native, Relaxed);
        Ok(())
    }

    /// Ends the engine with its process: nothing is freed, and the timer stops.
    pub fn leave(self) {
        self.lua.leave();
    }

    /// Discards all native code. Code that all pages share has a piece for each page that used it, and room for a
    /// limited number: call it after pages were replaced.
    pub fn forget_native(&mut self) {
        self.lua.forget_native();
    }

    /// All native code, with the lines at which its pieces begin: for profilers.
    pub fn native_code(&self) -> Vec<NativeCode> {
        self.lua.native_code()
    }

    /// Sets the keys that sign cookies; without any, a page that signs fails.
    pub fn set_keys(&mut self, keys: Keys) {
        self.lua.set_keys(keys);
    }

    /// Starts a page.
    pub fn start(
        &mut self,
        page: &Handler,
        host: &mut dyn PageHost,
        output: &mut PageOutput,
    ) -> CallResult {
        assert!(Rc::ptr_eq(&self.bin, &page.bin), "a page runs in the engine that loaded it");
        self.sweep();
        self.held = 0;
        let Some(reference) = &page.reference else { return CallResult::Done };
        let mut coroutine = match self.take_coroutine(&page.name) {
            Ok(coroutine) => coroutine,
            Err(error) => return CallResult::Failed(error),
        };
        self.lua.pass(&mut coroutine, reference);
        let name = page.name.clone();
        let run = Run::new(coroutine, name, MemoryBudget::Bytes(self.run_bound), &self.bin);
        self.go_on(run, 1, host, output)
    }

    /// Continues a page with the reply to its wait. A page whose slice ended, or that begins, takes
    /// [`WaitReply::Nothing`].
    pub fn resume(
        &mut self,
        mut run: Run,
        reply: WaitReply<'_>,
        host: &mut dyn PageHost,
        output: &mut PageOutput,
    ) -> CallResult {
        assert!(Rc::ptr_eq(&self.bin, &run.bin), "a run goes on in the engine that started it");
        self.sweep();
        self.held = 0;
        debug_assert!(
            run.review.is_none() || reply == WaitReply::Nothing,
            "it was said to be sliced"
        );
        run.forget_arguments();
        let before = run.meter.allocated();
        let passed = match &mut run.coroutine {
            Some(coroutine) => self.pass_reply(coroutine, reply, &mut run.meter),
            None => None,
        };
        self.allocated += run.meter.allocated() - before;
        match passed {
            Some(passed) => {
                let first_values = std::mem::take(&mut run.first_values);
                self.go_on(run, first_values + passed, host, output)
            }
            None => {
                self.note_refused();
                CallResult::Failed(report::out_of_memory(&run.name))
            }
        }
    }

    /// Passes the reply to a wait: a failure or nil, then the values. Returns how many values that are; `None` without
    /// memory.
    fn pass_reply(
        &mut self,
        coroutine: &mut Coroutine,
        reply: WaitReply<'_>,
        meter: &mut Meter,
    ) -> Option<i32> {
        if reply != WaitReply::Nothing && !self.lua.has_room(coroutine) {
            return None;
        }
        match reply {
            WaitReply::Nothing => Some(0),
            WaitReply::Failed(text) => {
                self.lua.pass_charged(coroutine, text.as_bytes(), meter).then_some(1)
            }
            WaitReply::Texts(texts) => {
                debug_assert!(texts.len() <= limits::REPLY_TEXTS, "there is room on the stack");
                self.lua.pass_nil(coroutine);
                let mut passed = 1;
                for text in texts {
                    passed += self.lua.pass_charged(coroutine, text, meter).then_some(1)?;
                }
                Some(passed)
            }
        }
    }

    fn go_on(
        &mut self,
        mut run: Run,
        passed: i32,
        host: &mut dyn PageHost,
        output: &mut PageOutput,
    ) -> CallResult {
        let advanced = match run.review {
            None => self.advance(&mut run, passed, host),
            Some(review) => self.review(&mut run, review),
        };
        let (coroutine, outcome) = match advanced {
            Ok(advanced) => advanced,
            Err(error) => return CallResult::Failed(error),
        };
        // A finished run gives back all it can.
        let tag = match outcome {
            Resumed::Yielded => coroutine.stack().number_at(1) as u8,
            _ => 0,
        };
        let is_done = matches!(tag, DONE | EXIT);
        if self.held > run.review_above && !is_done && run.review.is_none() {
            run.review = Some(Review { until: self.collection.next_until(), outcome });
        }
        if outcome == Resumed::Sliced || run.review.is_some() {
            run.coroutine = Some(coroutine);
            return CallResult::Sliced(run);
        }
        if !is_done && run.ticks > self.ticks_max {
            // A run that waits before each slice ends uses up its time too.
            let error = report::out_of_time(&run.name, coroutine.stack(), self.cpu_budget);
            self.lua.drop_coroutine(coroutine);
            return CallResult::Failed(error);
        }
        match tag {
            DONE | EXIT => self.done(run, coroutine, tag, output),
            tag => {
                let number = CallNumber::of_tag(tag);
                if self.calls[number.index()].carries == Carries::Output {
                    output.take(&coroutine);
                }
                run.coroutine = Some(coroutine);
                CallResult::Waits(run, number)
            }
        }
    }

    /// Resumes a run once. If it returns, it has yielded, or its slice ended with time left; everything else is an
    /// error, and its coroutine is gone.
    pub(super) fn advance(
        &mut self,
        run: &mut Run,
        passed: i32,
        host: &mut dyn PageHost,
    ) -> Result<(Coroutine, Resumed), Box<ScriptError>> {
        let mut coroutine = run.coroutine.take().expect("a run has its coroutine between calls");
        let before = run.meter.allocated();
        let (outcome, ticks) = self.lua.resume(&mut coroutine, passed, host, &mut run.meter);
        self.allocated += run.meter.allocated() - before;
        self.held = self.lua.held(&run.meter);
        self.use_ticks(run, ticks);
        let error = match outcome {
            Resumed::Yielded | Resumed::Sliced if ticks > self.uninterrupted_ticks => {
                report::stalled(&run.name, coroutine.stack())
            }
            Resumed::Yielded => return Ok((coroutine, outcome)),
            Resumed::Sliced if run.ticks <= self.ticks_max => {
                run.seen = Seen::of(coroutine.stack());
                return Ok((coroutine, outcome));
            }
            Resumed::Sliced => report::out_of_time(&run.name, coroutine.stack(), self.cpu_budget),
            Resumed::Stalled => report::stalled(&run.name, coroutine.stack()),
            Resumed::Raised => {
                let message = self.message_of(run, &mut coroutine, host);
                let fault = self.fault_of(&coroutine, &message);
                report::raised(fault, &run.name, coroutine.stack(), &self.lost(&coroutine), message)
            }
            Resumed::OutOfMemory => {
                let seen = run.seen.as_deref();
                let largest = self.lua.was_table_refused().then_some(self.table_bytes);
                if largest.is_none() {
                    self.note_refused();
                }
                report::out_of_memory_at(&run.name, coroutine.stack(), seen, largest)
            }
        };
        self.lua.drop_coroutine(coroutine);
        Err(error)
    }
}

/// A state without the library.
fn open(settings: &EngineSettings) -> Result<Lua, EngineError> {
    let sizes = MemorySizes { whole: settings.memory_bytes, table: settings.table_bytes };
    let opened = Lua::open(sizes, limits::SLICE).map_err(EngineError::Timer)?;
    let mut lua = opened.ok_or(EngineError::Memory { bytes: settings.memory_bytes })?;
    if !lua.can_refuse_memory() {
        return Err(EngineError::UnknownStacks);
    }
    if settings.code == Code::Bytecode {
        lua.interpret();
    }
    Ok(lua)
}

/// Why there is no library.
fn not_built(fault: CallFault, bytes: usize) -> EngineError {
    match fault {
        CallFault::OutOfMemory => EngineError::Memory { bytes },
        // The compiler reports it as text.
        CallFault::Raised(message) if message == "not enough memory" => {
            EngineError::Memory { bytes }
        }
        CallFault::Raised(message) => EngineError::Library(message),
    }
}

//! One engine: pages are loaded into it, started and resumed.
//!
//! Owns the life of runs, from a coroutine of the pool back into it. Never decides when a run
//! continues.

mod ending;
mod failed;
mod garbage;
mod load;
mod pool;
mod review;
mod spawn;
mod stranger;
mod tune;
mod usage;

pub use stranger::{Stranger, Use};
pub use usage::EngineUsage;

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::engine::call::{CallNumber, Carries, HostCall};
use crate::engine::collection::Collection;
use crate::engine::error::{EngineError, Fault, ScriptError};
use crate::engine::ffi::{CallFault, Coroutine, Lua, MemorySizes, NativeCode, Reference, Resumed};
use crate::engine::host::PageHost;
use crate::engine::keys::Keys;
use crate::engine::library;
use crate::engine::output::PageOutput;
use crate::engine::report;
use crate::engine::run::{Bin, CallResult, Handler, MemoryBudget, Review, Run, WaitReply};
use crate::engine::settings::{Code, EngineSettings};
use crate::engine::tag::{self, DONE, EXIT};
use crate::limits;

/// The library's values that the engine keeps.
struct Kept {
    body: Reference,
    environment: Reference,
    modules: Reference,
    adopt: Reference,
    withdraw: Reference,
    lead: Reference,
    refuse: Reference,
    strangers: Reference,
    globals: Reference,
    lost: Reference,
    blamed: Reference,
}

/// An engine. It belongs to the thread that created it.
pub struct EngineState {
    lua: Lua,
    kept: Kept,
    idle: Vec<Coroutine>,
    bin: Bin,
    /// Nanoseconds of one resume beyond which a run is ended.
    uninterrupted_ns: u64,
    /// Nanoseconds of all runs together.
    used_ns: u64,
    cpu_budget: Duration,
    collection: Collection,
    /// Bytes that one run may hold.
    run_bound: u64,
    /// The calls that pages can wait for.
    calls: &'static [HostCall],
    /// Bytes of the largest block of a table.
    table_bytes: usize,
    /// Bytes that all runs have allocated.
    allocated: u64,
    /// Bytes that the run of the last call held at its end.
    held: u64,
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
            uninterrupted_ns: u64::MAX,
            used_ns: 0,
            cpu_budget: Duration::MAX,
            collection: Collection::default(),
            run_bound: settings.run_memory_bytes as u64,
            calls: settings.calls,
            table_bytes: settings.table_bytes,
            allocated: 0,
            held: 0,
        };
        state.prove(settings.code)?;
        state.tune(&settings);
        state.used_ns = 0;
        state.allocated = 0;
        Ok(state)
    }

    /// Runs a native loop that ends by itself, late, and checks that it is interrupted more often than the one time
    /// that happens anyway at its end.
    fn prove(&mut self, code: Code) -> Result<(), EngineError> {
        if library::IS_PROVEN.load(Relaxed) {
            return Ok(());
        }
        let bytes = self.lua.memory().whole();
        let fault = |error: Box<ScriptError>| match error.fault {
            Fault::Memory => EngineError::Memory { bytes },
            _ => EngineError::Library(error.to_string()),
        };
        let page = self.load(u16::MAX, "proof", library::PROOF).map_err(fault)?;
        let mut output = PageOutput::default();
        let mut run = self.begin(&page).map_err(fault)?;
        for _ in 0..library::PROOF_SLICES {
            let host = &mut library::NoHost;
            match self.resume(&mut run, WaitReply::Nothing, host, &mut output) {
                CallResult::Sliced => {}
                CallResult::Failed(error) => return Err(fault(error)),
                CallResult::Done | CallResult::Waits(_) => return Err(EngineError::NoHookChecks),
            }
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

    /// A run of a page, which has not begun.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn begin(&mut self, page: &Handler) -> Result<Run, Box<ScriptError>> {
        let function = page.function_in(&self.bin);
        self.sweep();
        self.held = 0;
        let mut coroutine = self.take_coroutine(page.name())?;
        self.lua.pass(&mut coroutine, function);
        Ok(page.run(coroutine, MemoryBudget::Bytes(self.run_bound)))
    }

    /// Continues a run with the reply to its wait. One whose slice ended, or that begins, takes [`WaitReply::Nothing`].
    ///
    /// # Panics
    /// If the run is over, or another engine's.
    pub fn resume(
        &mut self,
        run: &mut Run,
        reply: WaitReply<'_>,
        host: &mut dyn PageHost,
        output: &mut PageOutput,
    ) -> CallResult {
        assert!(run.is_of(&self.bin), "a run goes on in the engine that started it");
        self.sweep();
        self.held = 0;
        let before = run.allocated();
        let passed = run.pass_reply(&mut self.lua, reply);
        self.allocated += run.allocated() - before;
        let Some(passed) = passed else {
            self.note_refused();
            return CallResult::Failed(report::out_of_memory(run.page()));
        };
        let advanced = match run.review() {
            None => self.advance(run, passed, host),
            Some(review) => self.review(run, review),
        };
        match advanced {
            Ok((coroutine, outcome)) => self.end_step(run, coroutine, outcome, output),
            Err(error) => CallResult::Failed(error),
        }
    }

    fn end_step(
        &mut self,
        run: &mut Run,
        coroutine: Coroutine,
        outcome: Resumed,
        output: &mut PageOutput,
    ) -> CallResult {
        // A finished run gives back all it can.
        let tag = match outcome {
            Resumed::Yielded => coroutine.stack().number_at(1) as u8,
            _ => 0,
        };
        let is_done = matches!(tag, DONE | EXIT);
        if !is_done {
            let review = Review { until: self.collection.next_until(), outcome };
            run.review_if_large(self.held, review);
        }
        if outcome == Resumed::Sliced || run.review().is_some() {
            run.keep_coroutine(coroutine);
            return CallResult::Sliced;
        }
        if !is_done && self.is_out_of_time(run) {
            // A run that waits before each slice ends uses up its time too.
            let error = report::out_of_time(run.page(), coroutine.stack(), self.cpu_budget);
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
                run.keep_coroutine(coroutine);
                CallResult::Waits(number)
            }
        }
    }

    /// Resumes a run once. If it returns, it has yielded, or its slice ended with time left; everything else is an
    /// error, and its coroutine is gone.
    fn advance(
        &mut self,
        run: &mut Run,
        passed: i32,
        host: &mut dyn PageHost,
    ) -> Result<(Coroutine, Resumed), Box<ScriptError>> {
        let mut coroutine = run.take_coroutine();
        let before = run.allocated();
        let (outcome, ticks) = run.resume(&mut self.lua, &mut coroutine, passed, host);
        self.allocated += run.allocated() - before;
        self.held = run.held(&self.lua);
        self.use_ticks(run, ticks);
        let error = match outcome {
            Resumed::Yielded | Resumed::Sliced
                if self.nanoseconds_of(ticks) > self.uninterrupted_ns =>
            {
                report::stalled(run.page(), coroutine.stack())
            }
            Resumed::Yielded => return Ok((coroutine, outcome)),
            Resumed::Sliced if !self.is_out_of_time(run) => {
                run.note_sliced(coroutine.stack());
                return Ok((coroutine, outcome));
            }
            Resumed::Sliced => report::out_of_time(run.page(), coroutine.stack(), self.cpu_budget),
            Resumed::Stalled => report::stalled(run.page(), coroutine.stack()),
            Resumed::Raised => {
                let message = self.message_of(run, &mut coroutine, host);
                let fault = self.fault_of(&coroutine, &message);
                report::raised(
                    fault,
                    run.page(),
                    coroutine.stack(),
                    &self.lost(&coroutine),
                    message,
                )
            }
            Resumed::OutOfMemory => {
                let largest = self.lua.memory().was_table_refused().then_some(self.table_bytes);
                if largest.is_none() {
                    self.note_refused();
                }
                report::out_of_memory_at(run.page(), coroutine.stack(), run.seen(), largest)
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
    if !lua.memory().knows_running() {
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

//! The second engine of a scheduler: it runs spawned processes, in separate memory.
//!
//! Owns that engine, which is created with the first spawned process. The memory of processes is
//! separate from that of requests, and each process belongs to the request that spawned it
//! (`actors::Family`). Never decides when a process continues.

use std::sync::Arc;
use std::time::Duration;

use script::engine::{
    EngineError, EngineRole, EngineSettings, EngineState, EngineUsage, ScriptError,
};

use super::page::Page;
use super::set::PageSet;

/// The engine of spawned processes, created when first needed.
pub(super) struct ProcessEngine {
    settings: EngineSettings,
    engine: Option<EngineState>,
}

impl ProcessEngine {
    /// With the settings of the engine that answers requests, but this much memory.
    pub(super) fn new(settings: EngineSettings, memory_bytes: usize) -> Self {
        let settings = EngineSettings { role: EngineRole::Processes, memory_bytes, ..settings };
        Self { settings, engine: None }
    }

    /// The engine, if it exists.
    pub(super) fn engine(&self) -> Option<&EngineState> {
        self.engine.as_ref()
    }

    /// The engine, mutable.
    pub(super) fn engine_mut(&mut self) -> Option<&mut EngineState> {
        self.engine.as_mut()
    }

    /// The engine, created now if necessary, with the app modules of these sets.
    pub(super) fn open<'a>(
        &mut self,
        sets: impl Iterator<Item = &'a Arc<PageSet>>,
    ) -> Result<&mut EngineState, EngineError> {
        if self.engine.is_none() {
            let mut engine = EngineState::new(self.settings)?;
            for set in sets.filter(|set| set.is_app()) {
                // A module without room is not an error here: a process that requires it gets the error.
                let _none_of_them = provide(&mut engine, set);
            }
            self.engine = Some(engine);
        }
        Ok(self.engine.as_mut().expect("it was made if there was none"))
    }

    /// Other modules are in force.
    pub(super) fn take_over(&mut self, set: &PageSet) -> Result<(), (Arc<Page>, Box<ScriptError>)> {
        self.engine.as_mut().map_or(Ok(()), |engine| provide(engine, set))
    }

    /// From now on a process may use this much CPU time.
    pub(super) fn tune(&mut self, cpu_budget: Duration, run_memory_bytes: usize) {
        self.settings = EngineSettings { cpu_budget, run_memory_bytes, ..self.settings };
        if let Some(engine) = &mut self.engine {
            engine.tune(cpu_budget, run_memory_bytes);
        }
    }

    /// Called at the end of the server's process, without freeing anything.
    pub(super) fn leave(self) {
        if let Some(engine) = self.engine {
            engine.leave();
        }
    }

    /// Bytes that all processes of the scheduler may hold.
    pub(super) fn memory_bound(&self) -> usize {
        self.settings.memory_bytes
    }

    /// The use of all processes together so far.
    pub(super) fn usage(&self) -> EngineUsage {
        self.engine.as_ref().map(EngineState::usage).unwrap_or_default()
    }
}

/// Loads a set of modules into an engine, as a whole; or returns the page for which there was no room.
pub(super) fn provide(
    engine: &mut EngineState,
    set: &PageSet,
) -> Result<(), (Arc<Page>, Box<ScriptError>)> {
    let mut last = None;
    let adopted = set.pages.iter().try_for_each(|page| {
        let Some(text) = &page.lua else { return Ok(()) };
        last = Some(page);
        engine.provide(&page.name.full, &page.name.file, text)
    });
    let Err(error) = adopted.and_then(|()| engine.adopt_modules()) else { return Ok(()) };
    for (page, _) in set.texts() {
        engine.take_back(&page.name.full);
    }
    match last {
        Some(page) => Err((Arc::clone(page), error)),
        // An empty set, because otherwise pages would still find the previous modules.
        None => Ok(()),
    }
}

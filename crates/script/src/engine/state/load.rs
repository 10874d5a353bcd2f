//! Loading: from Lua text to a page that can be started, or a module that can be required.
//!
//! Owns the compilation of a text and the run of its top level, including the memory for it: LuaJIT
//! does not collect garbage before it reports that there is no memory. Never runs a page.

use std::ffi::CString;
use std::rc::Rc;

use crate::engine::error::{Fault, ScriptError};
use crate::engine::ffi::{CallFault, Coroutine, Reference, Resumed};
use crate::engine::host::PageHost;
use crate::engine::library;
use crate::engine::report;
use crate::engine::run::{Handler, MemoryBudget, Purpose, Run};
use crate::engine::state::EngineState;
use crate::engine::tag::LOADED;
use crate::limits;

/// Jobs of the loop of run.lua that load something.
const LOAD: f64 = 1.0;
const LOAD_MODULE: f64 = 3.0;

/// The values that the loop of run.lua takes after its first one.
struct Load<'n> {
    job: f64,
    name: &'n str,
    number: f64,
}

/// The compiler's message if it has no memory. A message about the text begins with a place.
pub(super) const NO_MEMORY: &str = "not enough memory";

impl EngineState {
    /// Loads a page: Lua text that returns a function `(output, escaped, raw, request, response, arguments)`. From then
    /// on other pages of its site can include it by its name without the `.page`, until it is withdrawn.
    ///
    /// # Errors
    ///
    /// If the text is not Lua, or its top level fails; or if there is no memory for it, even without garbage:
    /// then an earlier page of this name can still be included.
    pub fn load(&mut self, site: u16, name: &str, text: &str) -> Result<Handler, Box<ScriptError>> {
        self.with_room(|state| {
            state.sweep();
            let chunk = state.compile(name, text)?;
            let mut taken = state.take_coroutine(name);
            if let Ok(coroutine) = &mut taken {
                state.lua.pass(coroutine, &chunk);
            }
            state.lua.release(&chunk);
            let load = Load { job: LOAD, name, number: site.into() };
            state.finish_loading(taken?, load, name, &mut library::NoHost)
        })
    }

    /// Does work that needs memory. If there is none, collects garbage and tries again.
    fn with_room<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, Box<ScriptError>>,
    ) -> Result<T, Box<ScriptError>> {
        match work(self) {
            Err(error) if error.fault == Fault::Memory && self.may_have_garbage() => {
                self.collect_garbage();
                work(self)
            }
            done => done,
        }
    }

    /// Runs a loading coroutine. `file` names it in errors and in the handler.
    fn finish_loading(
        &mut self,
        mut coroutine: Coroutine,
        load: Load<'_>,
        file: &str,
        host: &mut dyn PageHost,
    ) -> Result<Handler, Box<ScriptError>> {
        self.lua.pass_number(&mut coroutine, load.job);
        if !self.lua.pass_bytes(&mut coroutine, load.name.as_bytes()) {
            self.lua.drop_coroutine(coroutine);
            return Err(report::out_of_memory(file));
        }
        self.lua.pass_number(&mut coroutine, load.number);
        let name: Rc<str> = file.into();
        // The loaded function stays for all runs.
        let mut run = Run::new(coroutine, Rc::clone(&name), MemoryBudget::All, &self.bin);
        let mut passed = 4;
        loop {
            let (coroutine, outcome) = self.advance(&mut run, passed, host)?;
            if outcome == Resumed::Sliced {
                run.keep_coroutine(coroutine);
                passed = 0;
                continue;
            }
            let reference = self.take_loaded(&name, coroutine)?;
            return Ok(Handler::new(reference, name, &self.bin));
        }
    }

    /// The function that a loading coroutine yielded.
    fn take_loaded(
        &mut self,
        name: &str,
        mut coroutine: Coroutine,
    ) -> Result<Reference, Box<ScriptError>> {
        if coroutine.stack().number_at(1) as u8 != LOADED {
            let error = report::waiting(name, coroutine.stack());
            self.lua.drop_coroutine(coroutine);
            return Err(error);
        }
        if !coroutine.stack().is_function_at(2) {
            self.lua.drop_coroutine(coroutine);
            return Err(report::plain(Fault::Compile, name, "it does not return a function"));
        }
        coroutine.truncate(2);
        let kept = self.lua.keep(&mut coroutine);
        coroutine.truncate(0);
        self.put_back(coroutine);
        kept.map_err(|fault| report::of_call(fault, name))
    }

    /// Withdraws the page of this name and site: other pages can no longer include it.
    pub fn withdraw(&mut self, site: u16, name: &str) {
        // Naming it takes memory; a page that can be included for longer than it should does no harm.
        let _withdrawn = self.lua.call_with(&self.kept.withdraw, site.into(), name);
    }

    /// Sets the site whose pages modules render; the first one by default.
    pub fn lead(&mut self, site: u16) {
        // This takes no memory.
        let _led = self.lua.call_with(&self.kept.lead, site.into(), "");
    }

    /// Sets the error for pages that include the page of this name, which never compiled. Loading it removes the error.
    pub fn refuse(&mut self, site: u16, name: &str, why: &str) {
        let text = format!("{}\0{why}", name.replace('\0', ""));
        // If there is no memory for it, the error says that the page does not exist.
        let _refused = self.lua.call_with(&self.kept.refuse, site.into(), &text);
    }

    /// Adds the text of a module, from this file, to the next set.
    ///
    /// # Errors
    ///
    /// If the text is not Lua, or there is no memory for it.
    pub fn provide(&mut self, name: &str, file: &str, text: &str) -> Result<(), Box<ScriptError>> {
        self.with_room(|state| {
            let chunk = state.compile(file, text)?;
            let set = state.lua.set_member(&state.kept.modules, name, &chunk);
            state.lua.release(&chunk);
            set.map_err(|fault| report::of_call(fault, file))
        })
    }

    /// Removes a module from the next set.
    pub fn take_back(&mut self, name: &str) {
        // The name exists already, so this takes no memory; if it was not added, there is nothing to remove.
        let _taken = self.lua.set_member(&self.kept.modules, name, &Reference::NOTHING);
    }

    /// Makes the modules added since the last call the current set. A module runs when it is first required
    /// or loaded. Handlers of the previous set keep using it.
    ///
    /// # Errors
    ///
    /// If there is no memory: the previous set stays.
    pub fn adopt_modules(&mut self) -> Result<(), Box<ScriptError>> {
        self.with_room(|state| {
            let adopted = state.lua.call(&state.kept.adopt);
            adopted.map_err(|fault| report::of_call(fault, "app modules"))
        })
    }

    /// Runs a module of the current set, if it has not run yet. To answer requests, its handler is started like a page.
    ///
    /// # Errors
    ///
    /// If the module fails, waits, or returns no handler.
    pub fn load_module(
        &mut self,
        name: &str,
        file: &str,
        purpose: Purpose,
        host: &mut dyn PageHost,
    ) -> Result<Handler, Box<ScriptError>> {
        let number = match purpose {
            Purpose::Required => 0.0,
            Purpose::Answers => 1.0,
            Purpose::Process => 2.0,
        };
        self.with_room(|state| {
            state.sweep();
            let mut coroutine = state.take_coroutine(file)?;
            // The loop takes a function first, which this job does not need.
            state.lua.pass(&mut coroutine, &state.kept.adopt);
            let load = Load { job: LOAD_MODULE, name, number };
            state.finish_loading(coroutine, load, file, &mut *host)
        })
    }

    fn compile(&mut self, name: &str, text: &str) -> Result<Reference, Box<ScriptError>> {
        if text.len() > limits::SOURCE_SIZE {
            let message = format!("it is longer than {} bytes", limits::SOURCE_SIZE);
            return Err(report::plain(Fault::Compile, name, &message));
        }
        let chunk_name = CString::new(format!("={}", name.replace('\0', "")));
        let chunk_name = chunk_name.as_deref().unwrap_or(c"=page");
        let compiled = self.lua.compile(chunk_name, text.as_bytes(), &self.kept.environment);
        compiled.map_err(|fault| match fault {
            // The compiler reports it as text.
            CallFault::Raised(message) if message == NO_MEMORY => report::out_of_memory(name),
            fault => {
                let chunk = chunk_name.to_str().unwrap_or_default();
                report::of_compiling(fault, name, chunk.trim_start_matches('='))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;

    use crate::engine::library::NoHost;
    use crate::engine::{EngineSettings, EngineState, Fault, Purpose};

    /// Bytes left for loading a page: from none to enough.
    const ROOMS: std::ops::Range<usize> = 0..16_384;

    /// Pages that are tried with each of these: small amounts that each leaves add up, unlike tables that grow.
    const PAGES: usize = 60;

    /// The memory left when a long text is loaded.
    const SCARCE: usize = 50_000;

    /// Works with no more memory than is in use, including garbage, plus this many bytes.
    fn with_left<T>(
        state: &mut EngineState,
        room: usize,
        work: impl FnOnce(&mut EngineState) -> T,
    ) -> T {
        let (used, bound) = (state.lua.memory().used(), state.lua.memory().whole());
        state.lua.memory().set_whole(used + room);
        let done = work(state);
        state.lua.memory().set_whole(bound);
        done
    }

    /// Leaves more garbage than any text takes here.
    fn waste(state: &mut EngineState) {
        let text = format!("return '{}'", "y".repeat(900_000));
        let chunk = state.lua.compile(c"waste", text.as_bytes(), &state.kept.environment);
        state.lua.release(&chunk.expect("it compiles"));
    }

    fn long_text(number: usize) -> String {
        format!("return function() return #'{number}{}' end", "z".repeat(200_000))
    }

    #[test]
    fn loading_may_use_room_of_garbage() {
        let mut state = EngineState::new(EngineSettings::default()).expect("an engine");
        for number in 0..4 {
            waste(&mut state);
            let page =
                with_left(&mut state, SCARCE, |state| state.load(0, "a", &long_text(number)));
            assert!(page.is_ok(), "{:?}", page.err());
            waste(&mut state);
            let provided = with_left(&mut state, SCARCE, |state| {
                state.provide("m", "m.lua", &long_text(number))
            });
            assert_eq!(provided, Ok(()));
            state.adopt_modules().expect("there are none");
            waste(&mut state);
            while let Some(coroutine) = state.idle.pop() {
                state.lua.drop_coroutine(coroutine);
            }
            let module = with_left(&mut state, 0, |state| {
                state.load_module("m", "m.lua", Purpose::Answers, &mut NoHost)
            });
            assert!(module.is_ok(), "{:?}", module.err());
        }
        let error = with_left(&mut state, 0, |state| {
            state.load(0, "a", &long_text(9)).err().expect("no memory")
        });
        assert_eq!(error.fault, Fault::Memory, "{error}");
    }

    #[test]
    fn code_of_unloaded_page_is_freed() {
        // Never closed: LuaJIT sometimes loses a few bytes when an allocation inside it fails, and then aborts when it
        // is closed.
        let mut state =
            ManuallyDrop::new(EngineState::new(EngineSettings::default()).expect("an engine"));
        let _known = state.load(0, "a", "return function() end").expect("it compiles");
        let mut refused = 0;
        for room in ROOMS.step_by(96) {
            state.collect_garbage();
            let before = state.lua.memory().used();
            for _ in 0..PAGES {
                while let Some(coroutine) = state.idle.pop() {
                    state.lua.drop_coroutine(coroutine);
                }
                state.collect_garbage();
                let load = |state: &mut EngineState| state.load(0, "a", "return function() end");
                let Err(error) = with_left(&mut state, room, load) else {
                    assert!(refused > 0, "it was never refused");
                    return;
                };
                assert_eq!(error.fault, Fault::Memory);
                refused += 1;
            }
            state.collect_garbage();
            let left = state.lua.memory().used().saturating_sub(before);
            assert!(
                left < 2 * PAGES * 64,
                "{left} bytes are left of {PAGES} pages with room for {room}"
            );
        }
        panic!("it was never loaded");
    }

    #[test]
    fn a_chunk_that_nobody_gives_an_environment_sees_what_pages_see() {
        let mut state = EngineState::new(EngineSettings::default()).expect("an engine");
        let code =
            "for _, name in ipairs { 'io', 'ffi', 'debug', 'package', 'getfenv', 'dofile' } do
              assert(_G[name] == nil, name)
              assert(not pcall(function() return io end))
            end
            assert(not pcall(function() leak = 1 end))";
        // Chunks of the library are compiled without one.
        let built = state.lua.build(&[(c"=stray", code)], &[], &[], []);
        assert_eq!(built.err(), None);
    }
}

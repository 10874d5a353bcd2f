//! Loading: from Lua text to a page that can be started, or a module that can be required.
//!
//! Owns the compilation of a text and the run of its top level, including the memory for it: LuaJIT
//! does not collect garbage before it reports that there is no memory. Never runs a page.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use crate::engine::error::{Fault, ScriptError};
use crate::engine::ffi::{CallFault, Coroutine, Reference, Resumed};
use crate::engine::host::Host;
use crate::engine::library;
use crate::engine::report;
use crate::engine::run::{Handler, MemoryBudget, Purpose, Run};
use crate::engine::state::State;
use crate::engine::tag::LOADED;
use crate::limits;

/// What the loop of run.lua takes after a job that it is to load.
const LOAD: f64 = 1.0;
const LOAD_MODULE: f64 = 3.0;

/// What the compiler says where it has no memory; what is wrong with a text begins with the place.
pub(super) const NO_MEMORY: &str = "not enough memory";

impl State {
    /// Loads a page: Lua text that gives a function `(output, escaped, raw, request, response, arguments)`. From then on
    /// other pages of its site include it by its name without the `.page` in it, as long as it is not withdrawn.
    ///
    /// # Errors
    ///
    /// The text is not Lua, or what it does to give the function fails; or there is no memory for it, also where garbage was:
    /// then a page of this name that was loaded before is included as it was.
    pub fn load(&mut self, site: u16, name: &str, text: &str) -> Result<Handler, Box<ScriptError>> {
        self.with_room(|state| {
            state.sweep();
            let chunk = state.compile(name, text)?;
            let taken = state.take_coroutine(name);
            if let Ok(coroutine) = &taken {
                state.lua.pass(coroutine, &chunk);
            }
            state.lua.release(&chunk);
            state.finish_loading(taken?, LOAD, (name, name), site.into(), &mut library::NoHost)
        })
    }

    /// Does what takes memory, once more without the garbage where there is none.
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

    /// Has a loading coroutine do its job: what the loop of run.lua takes after its first value. `file` is what errors and
    /// the handler are named by.
    fn finish_loading(
        &mut self,
        coroutine: Coroutine,
        job: f64,
        (name, file): (&str, &str),
        number: f64,
        host: &mut dyn Host,
    ) -> Result<Handler, Box<ScriptError>> {
        self.lua.pass_number(&coroutine, job);
        if !self.lua.pass_bytes(&coroutine, name.as_bytes()) {
            self.lua.drop_coroutine(coroutine);
            return Err(report::out_of_memory(file));
        }
        self.lua.pass_number(&coroutine, number);
        let name: Rc<str> = file.into();
        // What is loaded stays for all.
        let mut run = Run::new(coroutine, name.clone(), MemoryBudget::All, &self.bin);
        let mut passed = 4;
        loop {
            let (coroutine, outcome) = self.advance(&mut run, passed, host)?;
            if outcome == Resumed::Sliced {
                run.coroutine = Some(coroutine);
                passed = 0;
                continue;
            }
            let reference = self.take_loaded(&name, coroutine)?;
            return Ok(Handler { reference: Some(reference), name, bin: self.bin.clone() });
        }
    }

    /// The function that a loading coroutine yielded.
    fn take_loaded(
        &mut self,
        name: &str,
        coroutine: Coroutine,
    ) -> Result<Reference, Box<ScriptError>> {
        if coroutine.stack.number_at(1) as u8 != LOADED {
            let error = report::waiting(name, coroutine.stack);
            self.lua.drop_coroutine(coroutine);
            return Err(error);
        }
        if !coroutine.stack.is_function_at(2) {
            self.lua.drop_coroutine(coroutine);
            return Err(report::plain(Fault::Compile, name, "it does not return a function"));
        }
        coroutine.stack.truncate(2);
        let kept = self.lua.keep(&coroutine);
        coroutine.stack.truncate(0);
        self.put_back(coroutine);
        kept.map_err(|fault| report::of_call(fault, name))
    }

    /// Lets no page include the one that was loaded for this site by this name any more.
    pub fn withdraw(&mut self, site: u16, name: &str) {
        // It takes memory to name it; a page that can be included for longer than it should be does no harm.
        let _withdrawn = self.lua.call_with(&self.kept.withdraw, site.into(), name);
    }

    /// Has modules render the pages of this site; of the first one where nothing is said.
    pub fn lead(&mut self, site: u16) {
        // It takes no memory.
        let _led = self.lua.call_with(&self.kept.lead, site.into(), "");
    }

    /// Has whoever includes the page of this name told what is wrong with it: it never was good. Loading it ends that.
    pub fn refuse(&mut self, site: u16, name: &str, why: &str) {
        let text = format!("{}\0{why}", name.replace('\0', ""));
        // Where there is no memory for it, the page is said not to be there.
        let _refused = self.lua.call_with(&self.kept.refuse, site.into(), &text);
    }

    /// Hands in the text of a module of the next set, from that file.
    ///
    /// # Errors
    ///
    /// The text is not Lua, or there is no memory for it.
    pub fn provide(&mut self, name: &str, file: &str, text: &str) -> Result<(), Box<ScriptError>> {
        self.with_room(|state| {
            let chunk = state.compile(file, text)?;
            let set = state.lua.set_member(&state.kept.modules, name, &chunk);
            state.lua.release(&chunk);
            set.map_err(|fault| report::of_call(fault, file))
        })
    }

    /// Takes a module back that was handed in: the next set is without it.
    pub fn take_back(&mut self, name: &str) {
        // The name is there already, so this takes no memory; where it was not handed in, there is nothing to take.
        let _taken = self.lua.set_member(&self.kept.modules, name, &Reference::NOTHING);
    }

    /// Makes what was provided since the last time the set of modules in force. A module runs when it is required for the
    /// first time, or loaded. Handlers of the set before go on with it.
    ///
    /// # Errors
    ///
    /// There is no memory: the set before stays in force.
    pub fn adopt_modules(&mut self) -> Result<(), Box<ScriptError>> {
        self.with_room(|state| {
            let adopted = state.lua.call(&state.kept.adopt);
            adopted.map_err(|fault| report::of_call(fault, "app modules"))
        })
    }

    /// Runs a module of the set in force, if it did not run yet. To answer requests its handler is started like a page.
    ///
    /// # Errors
    ///
    /// The module fails, waits, or gives nothing that answers.
    pub fn load_module(
        &mut self,
        name: &str,
        file: &str,
        purpose: Purpose,
        host: &mut dyn Host,
    ) -> Result<Handler, Box<ScriptError>> {
        let number = match purpose {
            Purpose::Required => 0.0,
            Purpose::Answers => 1.0,
            Purpose::Process => 2.0,
        };
        self.with_room(|state| {
            state.sweep();
            let coroutine = state.take_coroutine(file)?;
            // The loop takes a function first, which this job has no use for.
            state.lua.pass(&coroutine, &state.kept.adopt);
            state.finish_loading(coroutine, LOAD_MODULE, (name, file), number, &mut *host)
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
            // The compiler says it in words.
            CallFault::Raised(message) if message == NO_MEMORY => report::out_of_memory(name),
            fault => report::of_compiling(fault, name, chunk_name_text(chunk_name)),
        })
    }
}

fn chunk_name_text(name: &CStr) -> &str {
    name.to_str().unwrap_or_default().trim_start_matches('=')
}

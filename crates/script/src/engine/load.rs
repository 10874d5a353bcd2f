//! Loading: from Lua text to a page that can be started, or a module that can be required.
//!
//! Owns what it takes to compile a text and to run its outermost level. Never runs a page.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use crate::engine::error::{Fault, ScriptError};
use crate::engine::ffi::{Coroutine, Outcome, Reference};
use crate::engine::library;
use crate::engine::report;
use crate::engine::run::{Budget, Handler, Run};
use crate::engine::state::State;
use crate::limits;

/// What the loop of run.lua takes after a job that it is to load.
const LOAD: f64 = 1.0;

/// The tag of what it yields then.
const LOADED: u8 = 2;

impl State {
    /// Loads a page: Lua text that gives a function `(output, escaped, raw, request, response, arguments)`. From then on
    /// other pages of its site include it by its name without the `.page` in it, as long as it is not withdrawn.
    ///
    /// # Errors
    ///
    /// The text is not Lua, or what it does to give the function fails.
    pub fn load(&mut self, site: u16, name: &str, text: &str) -> Result<Handler, Box<ScriptError>> {
        self.sweep();
        let chunk = self.compile(name, text)?;
        let coroutine = self.take_coroutine(name)?;
        self.lua.pass(&coroutine, &chunk);
        self.lua.pass_number(&coroutine, LOAD);
        self.lua.release(&chunk);
        if !self.lua.pass_bytes(&coroutine, name.as_bytes()) {
            self.lua.drop_coroutine(coroutine);
            return Err(report::out_of_memory(name));
        }
        self.lua.pass_number(&coroutine, site.into());
        let name: Rc<str> = name.into();
        let mut run = Run::new(coroutine, name.clone(), Budget::Whole, &self.bin);
        let mut passed = 4;
        loop {
            let (coroutine, outcome) = self.advance(&mut run, passed, &mut library::NoHost)?;
            if outcome == Outcome::Sliced {
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
        let is_loaded = coroutine.stack.number_at(1) as u8 == LOADED;
        if !is_loaded || !coroutine.stack.is_function_at(2) {
            let message =
                if is_loaded { "it gives no function" } else { "it waits while it is loaded" };
            self.lua.drop_coroutine(coroutine);
            return Err(report::plain(Fault::Compile, name, message));
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

    /// Has whoever includes the page of this name told what is wrong with it: it never was good. Loading it ends that.
    pub fn refuse(&mut self, site: u16, name: &str, why: &str) {
        let text = format!("{}\0{why}", name.replace('\0', ""));
        // Where there is no memory for it, the page is said not to be there.
        let _refused = self.lua.call_with(&self.kept.refuse, site.into(), &text);
    }

    /// Hands in a module that pages may `require`. It runs when it is required for the first time.
    ///
    /// # Errors
    ///
    /// The text is not Lua.
    pub fn provide(&mut self, name: &str, text: &str) -> Result<(), Box<ScriptError>> {
        let chunk = self.compile(name, text)?;
        let set = self.lua.set_member(&self.kept.modules, name, &chunk);
        self.lua.release(&chunk);
        set.map_err(|fault| report::of_call(fault, name))
    }

    /// Forgets what modules gave: each runs again when it is required the next time.
    pub fn forget_modules(&mut self) {
        // The function only empties a table, which needs no memory.
        let _ = self.lua.call(&self.kept.forget);
    }

    fn compile(&mut self, name: &str, text: &str) -> Result<Reference, Box<ScriptError>> {
        if text.len() > limits::SOURCE_SIZE {
            let message = format!("it is longer than {} bytes", limits::SOURCE_SIZE);
            return Err(report::plain(Fault::Compile, name, &message));
        }
        let chunk_name = CString::new(format!("={}", name.replace('\0', "")));
        let chunk_name = chunk_name.as_deref().unwrap_or(c"=page");
        let compiled = self.lua.compile(chunk_name, text.as_bytes(), &self.kept.environment);
        compiled.map_err(|fault| report::of_compiling(fault, name, chunk_name_text(chunk_name)))
    }
}

fn chunk_name_text(name: &CStr) -> &str {
    name.to_str().unwrap_or_default().trim_start_matches('=')
}

//! One open Lua state and its coroutines.
//!
//! Owns opening and closing, and the calls of the library. Never runs a page.

mod current;
mod memory;
mod passing;
mod resuming;

pub(in crate::engine) use resuming::Resumed;

use current::Places;

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::io;
use std::ptr::NonNull;
use std::rc::Rc;
use std::time::Duration;

use mlua_sys as api;

use crate::engine::ffi::calls::{Fault, protected};
use crate::engine::ffi::context::{Context, MemorySizes};
use crate::engine::ffi::coroutine::{Coroutine, Openness};
use crate::engine::ffi::functions;
use crate::engine::ffi::innards::Running;
use crate::engine::ffi::native;
use crate::engine::ffi::pieces::{NativeCode, Traces};
use crate::engine::ffi::reference::Reference;
use crate::engine::ffi::slots::Slots;
use crate::engine::ffi::tick::Ticker;
use crate::engine::keys::Keys;

/// Room on a stack for values pushed between two checks.
pub(super) const ROOM: c_int = 8;

unsafe extern "C-unwind" {
    /// Switches the compiler on and off; mlua-sys does not declare it.
    fn luaJIT_setmode(state: *mut mlua_sys::lua_State, index: c_int, mode: c_int) -> c_int;
}

/// The whole engine, off (luajit.h: `LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF`).
const ENGINE_OFF: c_int = 0;

/// Discards all native code (luajit.h: `LUAJIT_MODE_ENGINE | LUAJIT_MODE_FLUSH`).
const ENGINE_FLUSH: c_int = 0x200;

/// An argument for a function of the library.
#[derive(Clone, Copy)]
pub(in crate::engine) enum Argument<'a> {
    /// A kept value.
    Kept(&'a Reference),
    Text(&'a str),
    Coroutine(&'a Coroutine),
}

/// An open state.
pub(in crate::engine) struct Lua {
    main: Slots,
    openness: Openness,
    context: NonNull<Context>,
    ticker: Ticker,
    /// A Lua function that does nothing; see [`Lua::settle`].
    nothing: Reference,
    /// A Lua function that lists native code.
    lister: Option<Reference>,
    /// Where the library is told which run is current.
    places: Option<Places>,
    at_end: AtEnd,
}

/// The fate of a state at its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtEnd {
    /// It is closed, object by object.
    Closed,
    /// It is left as it is, because its process ends.
    Left,
}

impl Lua {
    /// Opens a state with all of LuaJIT's libraries, which only the library's Lua code can use.
    pub(in crate::engine) fn open(sizes: MemorySizes, slice: Duration) -> io::Result<Option<Lua>> {
        let ticker = Ticker::new(slice)?;
        // SAFETY: a call without conditions; null tells of failure.
        let Some(state) = NonNull::new(unsafe { api::luaL_newstate() }) else { return Ok(None) };
        // SAFETY: the state is closed when nothing of it runs, and then nobody watches it.
        let context = unsafe { Context::new(sizes, state) };
        let context = NonNull::from(Box::leak(Box::new(context)));
        // From here on dropping `lua` closes the state and frees the context.
        let nothing = Reference(api::LUA_NOREF);
        // SAFETY: it is open until `lua` is dropped, and the main coroutine lives as long.
        let main = unsafe { Slots::of(state) };
        let openness = Rc::new(Cell::new(true));
        let (lister, places, at_end) = (None, None, AtEnd::Closed);
        let mut lua = Lua { main, openness, context, ticker, nothing, lister, places, at_end };
        // SAFETY: the state is open, and the context stays where it is until `drop`.
        unsafe { lua.context().install(state.as_ptr()) };
        let has_room = lua.main.has_room(ROOM);
        let opened = protected(lua.main, &mut |inside| {
            // SAFETY: there is a protected caller.
            unsafe { api::luaL_openlibs(inside.state()) };
            functions::compile(inside, c"=[library] nothing", b"");
            lua.nothing = Reference(inside.register());
            functions::watch_compiler(inside);
            inside.register();
            if functions::compile(inside, c"=[library] native code", native::LIBRARY) {
                lua.lister = Some(native::follow(inside, &lua.context().pieces));
            }
            if let Some(running) = Running::find(inside) {
                lua.context().memory.set_running(running);
            }
        });
        Ok((has_room && opened.is_ok()).then_some(lua))
    }

    /// Leaves the memory to the kernel, which frees it with the process: freeing a large heap object by object takes a
    /// tenth of a second for nothing.
    pub(in crate::engine) fn leave(mut self) {
        self.at_end = AtEnd::Left;
    }

    pub(super) fn context(&self) -> &Context {
        // SAFETY: freed in `drop` only; all its fields are cells, so that sharing is enough.
        unsafe { self.context.as_ref() }
    }

    /// The work of the compiler so far.
    pub(in crate::engine) fn traces(&self) -> Traces {
        self.context().pieces.counts()
    }

    /// Sets the keys that sign cookies.
    pub(in crate::engine) fn set_keys(&mut self, keys: Keys) {
        self.context().host.set_keys(keys);
    }

    /// Sets how long a resume may take.
    pub(in crate::engine) fn set_slice(&mut self, slice: Duration) {
        self.ticker.set_slice(slice);
    }

    /// Nanoseconds between two ticks of a resume.
    pub(in crate::engine) fn tick_ns(&self) -> u64 {
        self.ticker.period_ns()
    }

    /// Runs everything as byte code from now on.
    pub(in crate::engine) fn interpret(&mut self) {
        // SAFETY: the state is open; switching off always works.
        unsafe { luaJIT_setmode(self.main.state(), 0, ENGINE_OFF) };
    }

    /// Discards all native code. Code that keeps running is compiled again.
    pub(in crate::engine) fn forget_native(&mut self) {
        // SAFETY: the state is open, and no code of it runs.
        unsafe { luaJIT_setmode(self.main.state(), 0, ENGINE_FLUSH) };
    }

    /// Builds the library: every chunk is called with one table, which contains the native functions and what earlier
    /// chunks put there; `tables` of numbers and `numbers` are fields. The `kept` fields are kept.
    pub(in crate::engine) fn build<const KEPT: usize>(
        &mut self,
        chunks: &[(&CStr, &str)],
        tables: &[(&CStr, Vec<(&str, f64)>)],
        numbers: &[(&CStr, f64)],
        kept: [&CStr; KEPT],
    ) -> Result<[Reference; KEPT], Fault> {
        let mut references = kept.map(|_| Reference(api::LUA_NOREF));
        protected(self.main, &mut |inside| {
            inside.reserve(ROOM);
            inside.push_table(0, 0);
            functions::install(inside);
            for (name, members) in tables {
                inside.push_table(0, 0);
                for (member, number) in members {
                    inside.push_bytes(member.as_bytes());
                    inside.push_number(*number);
                    inside.set_raw(-3);
                }
                inside.set_field(1, name);
            }
            for (name, number) in numbers {
                inside.push_number(*number);
                inside.set_field(1, name);
            }
            for (name, text) in chunks {
                if !functions::compile(inside, name, text.as_bytes()) {
                    inside.raise_top();
                }
                inside.push_copy(1);
                inside.call(1, 0);
            }
            for (reference, field) in references.iter_mut().zip(kept) {
                inside.push_field(1, field);
                *reference = Reference(inside.register());
            }
        })?;
        Ok(references)
    }

    /// Makes a kept table the globals of everything created from now on. The library's own code keeps LuaJIT's globals.
    pub(in crate::engine) fn set_globals(&mut self, table: &Reference) -> Result<(), Fault> {
        protected(self.main, &mut |inside| {
            inside.reserve(ROOM);
            inside.push_registered(table.0);
            inside.set_globals();
        })
    }

    /// Compiles a chunk into a function with an environment.
    pub(in crate::engine) fn compile(
        &mut self,
        name: &CStr,
        text: &[u8],
        environment: &Reference,
    ) -> Result<Reference, Fault> {
        let mut reference = None;
        protected(self.main, &mut |inside| {
            inside.reserve(ROOM);
            inside.push_registered(environment.0);
            if !functions::compile(inside, name, text) {
                inside.raise_top();
            }
            inside.set_environment(1);
            reference = Some(Reference(inside.register()));
        })?;
        reference.ok_or(Fault::OutOfMemory)
    }

    /// Puts a kept value into a kept table.
    pub(in crate::engine) fn set_member(
        &mut self,
        table: &Reference,
        name: &str,
        value: &Reference,
    ) -> Result<(), Fault> {
        protected(self.main, &mut |inside| {
            inside.reserve(ROOM);
            inside.push_registered(table.0);
            inside.push_bytes(name.as_bytes());
            inside.push_registered(value.0);
            inside.set_raw(1);
        })
    }

    /// Calls a kept function of the library.
    pub(in crate::engine) fn call(&mut self, function: &Reference) -> Result<(), Fault> {
        self.unbounded(&mut |inside| {
            inside.reserve(ROOM);
            inside.push_registered(function.0);
            inside.call(0, 0);
        })
    }

    /// The same with a number and a text.
    pub(in crate::engine) fn call_with(
        &mut self,
        function: &Reference,
        number: f64,
        text: &str,
    ) -> Result<(), Fault> {
        self.unbounded(&mut |inside| {
            inside.reserve(ROOM);
            inside.push_registered(function.0);
            inside.push_number(number);
            inside.push_bytes(text.as_bytes());
            inside.call(2, 0);
        })
    }

    /// Calls a kept function of the library with a value, and returns its text.
    pub(in crate::engine) fn call_for_text(
        &mut self,
        function: &Reference,
        argument: Argument<'_>,
    ) -> Result<String, Fault> {
        let mut text = String::new();
        protected(self.main, &mut |inside| {
            inside.reserve(ROOM);
            inside.push_registered(function.0);
            match argument {
                Argument::Kept(value) => inside.push_registered(value.0),
                Argument::Coroutine(coroutine) => inside.push_registered(coroutine.reference().0),
                Argument::Text(text) => inside.push_bytes(text.as_bytes()),
            }
            inside.call(1, 1);
            // SAFETY: nothing takes it off before it is copied.
            let bytes = unsafe { inside.bytes_at(-1) }.unwrap_or_default();
            text = String::from_utf8_lossy(bytes).into_owned();
        })?;
        Ok(text)
    }

    /// Releases a value.
    pub(in crate::engine) fn release(&mut self, reference: &Reference) {
        let released = self.unbounded(&mut |inside| inside.unregister(reference.0));
        debug_assert_eq!(released, Ok(()), "nothing of it can fail");
    }

    /// All native code.
    pub(in crate::engine) fn native_code(&self) -> Vec<NativeCode> {
        let Some(lister) = &self.lister else { return Vec::new() };
        // An error leaves the list empty; the profiler then shows addresses.
        let _listed = self.unbounded(&mut |inside| {
            inside.reserve(ROOM);
            inside.push_registered(lister.0);
            // SAFETY: it takes any arguments.
            unsafe { inside.push_function(native::note) };
            inside.call(1, 0);
        });
        self.context().pieces.take()
    }

    /// Creates a coroutine whose first resume calls the function `body`.
    pub(in crate::engine) fn coroutine(&mut self, body: &Reference) -> Result<Coroutine, Fault> {
        let mut made = None;
        protected(self.main, &mut |inside| {
            inside.reserve(ROOM);
            // SAFETY: it is on this stack, then in the registry.
            let slots = unsafe { inside.push_coroutine() };
            made = Some((slots, inside.register()));
        })?;
        let (slots, reference) = made.ok_or(Fault::OutOfMemory)?;
        // SAFETY: it is in the registry under that number.
        let mut coroutine = unsafe { Coroutine::of(slots, Reference(reference), &self.openness) };
        self.pass(&mut coroutine, body);
        Ok(coroutine)
    }

    /// Releases a coroutine in whatever state it is; the library releases it too.
    pub(in crate::engine) fn drop_coroutine(&mut self, coroutine: Coroutine) {
        let _of_this_state = coroutine.slots_in(&self.openness);
        let dropped = self.unbounded(&mut |inside| {
            inside.reserve(ROOM);
            if let Some(places) = &self.places {
                places.leave(inside, coroutine.reference());
            }
            inside.unregister(coroutine.reference().0);
        });
        debug_assert_eq!(dropped, Ok(()), "nothing of it can fail");
    }
}

impl Drop for Lua {
    fn drop(&mut self) {
        self.openness.set(false);
        if self.at_end == AtEnd::Left {
            return;
        }
        // SAFETY: it was installed for this state, which is open.
        unsafe { self.context().remove(self.main.state()) };
        // SAFETY: the state is open, nothing of it runs, and it has its own allocator back.
        unsafe { api::lua_close(self.main.state()) };
        // SAFETY: leaked from a box in `open`, and nothing else has it: the state is gone.
        drop(unsafe { Box::from_raw(self.context.as_ptr()) });
    }
}

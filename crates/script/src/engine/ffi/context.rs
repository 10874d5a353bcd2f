//! What belongs to one Lua state besides Lua: its memory account, its host of the moment, its tick.
//!
//! Owns the cells that native functions, the allocator and the signal handler read. Never calls Lua.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use mlua_sys as api;
use mlua_sys::lua_State;

use crate::engine::ffi::ledger::Ledger;
use crate::engine::ffi::tick::Watch;
use crate::engine::host::{Answer, Host};
use crate::engine::keys::Keys;

/// A host without its lifetime.
pub(super) type HostPart = NonNull<dyn Host>;

/// The account of a state's memory.
pub(super) struct Memory {
    used: Cell<usize>,
    bound: Cell<usize>,
    allocator: Cell<Option<(api::lua_Alloc, *mut c_void)>>,
    /// Whose it is.
    pub(super) ledger: Ledger,
}

impl Memory {
    pub(super) fn used(&self) -> usize {
        self.used.get()
    }

    pub(super) fn bound(&self) -> usize {
        self.bound.get()
    }

    /// Sets the bound; what is there already stays.
    pub(super) fn set_bound(&self, bytes: usize) {
        self.bound.set(bytes);
    }
}

/// How far the collector is, for whoever counts its cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cycle {
    /// Nobody has asked.
    #[default]
    Unwatched,
    /// An object waits for the end of the one that collects it.
    Watched,
    /// It was collected.
    Over,
}

/// What the compiler did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Traces {
    /// Pieces of native code.
    pub(in crate::engine) made: u64,
    /// Attempts that it gave up.
    pub(in crate::engine) aborted: u64,
}

/// The cells of one state. It lies at one address as long as the state is open.
pub(super) struct Context {
    pub(super) memory: Memory,
    /// The host of the run under way.
    pub(super) host: Cell<Option<HostPart>>,
    /// Whether the collector has ended a cycle since somebody asked.
    pub(super) cycle: Cell<Cycle>,
    /// The coroutine that went on last; only its address counts.
    pub(super) current: Cell<*mut lua_State>,
    /// What a host panicked with, until the run is over.
    pub(super) panic: RefCell<Option<Box<dyn Any + Send>>>,
    /// The last answer of a host; kept for its room.
    pub(super) answer: RefCell<Answer>,
    /// What cookies are signed with.
    pub(super) keys: RefCell<Keys>,
    pub(super) watch: Watch,
    pub(super) traces: Cell<Traces>,
}

impl Context {
    pub(super) fn new(memory_bytes: usize, state: NonNull<lua_State>) -> Self {
        Self {
            memory: Memory {
                used: Cell::new(0),
                bound: Cell::new(memory_bytes),
                allocator: Cell::new(None),
                ledger: Ledger::default(),
            },
            host: Cell::new(None),
            cycle: Cell::default(),
            current: Cell::new(ptr::null_mut()),
            panic: RefCell::new(None),
            answer: RefCell::default(),
            keys: RefCell::default(),
            watch: Watch::new(state),
            traces: Cell::default(),
        }
    }

    /// The context of a state, from any of its coroutines.
    ///
    /// # Safety
    /// The state is one of ours, and open for as long as the context is used: as in what it calls.
    pub(super) unsafe fn of<'state>(state: *mut lua_State) -> &'state Self {
        let mut context = ptr::null_mut();
        // SAFETY: the state is open.
        unsafe { api::lua_getallocf(state, &raw mut context) };
        // SAFETY: `install` put a context there, which outlives the state.
        unsafe { &*context.cast::<Self>() }
    }

    /// Puts the account between Lua and its own allocator, which stays the one that works: it has no locks, as a
    /// state belongs to one thread.
    pub(super) fn install(&self, state: *mut lua_State) {
        let mut inner = ptr::null_mut();
        // SAFETY: the state is open; the second argument is a place for the allocator's own data.
        let allocator = unsafe { api::lua_getallocf(state, &raw mut inner) };
        self.memory.allocator.set(Some((allocator, inner)));
        // SAFETY: the state is open; asking for counts neither allocates nor raises.
        let kibibytes = unsafe { api::lua_gc(state, api::LUA_GCCOUNT, 0) };
        // SAFETY: as above.
        let bytes = unsafe { api::lua_gc(state, api::LUA_GCCOUNTB, 0) };
        self.memory.used.set(kibibytes as usize * 1024 + bytes as usize);
        let own = ptr::from_ref(self).cast_mut().cast::<c_void>();
        // SAFETY: `account` passes every call on to the allocator that made the blocks.
        unsafe { api::lua_setallocf(state, account, own) };
    }

    /// Gives the state its own allocator back, before it is closed.
    pub(super) fn remove(&self, state: *mut lua_State) {
        if let Some((allocator, inner)) = self.memory.allocator.get() {
            // SAFETY: the state is open; these are the two values it was made with.
            unsafe { api::lua_setallocf(state, allocator, inner) };
        }
    }
}

/// Lua's allocator with an account: what would exceed the bound is refused, which Lua raises as "not enough memory".
unsafe extern "C" fn account(
    context: *mut c_void,
    block: *mut c_void,
    before: usize,
    after: usize,
) -> *mut c_void {
    // SAFETY: `install` gave this address, which is valid while the state is open.
    let memory = unsafe { &(*context.cast::<Context>()).memory };
    let Some((allocator, inner)) = memory.allocator.get() else {
        return ptr::null_mut();
    };
    if after <= before {
        // Shrinking always succeeds: Lua's collector relies on it.
        memory.used.set(memory.used.get().saturating_sub(before - after));
        if after == 0 {
            memory.ledger.note_gone(block.addr());
        }
        // SAFETY: the same call, to the allocator that made the block.
        let result = unsafe { allocator(inner, block, before, after) };
        if after != 0 {
            memory.ledger.note_less((block.addr(), before), (result.addr(), after));
        }
        return result;
    }
    let used = memory.used.get().saturating_add(after - before);
    if used > memory.bound.get() {
        return ptr::null_mut();
    }
    // SAFETY: as above.
    let result = unsafe { allocator(inner, block, before, after) };
    if !result.is_null() {
        memory.used.set(used);
        if !block.is_null() {
            // What grows is as one that goes and another one that comes: it takes as much work.
            memory.ledger.note_gone(block.addr());
        }
        memory.ledger.note_new(result.addr(), after);
    }
    result
}

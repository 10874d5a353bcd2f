//! The Rust side of one Lua state: its memory account, its current host, its tick.
//!
//! Owns the account that the allocator keeps. Never calls Lua.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use mlua_sys as api;
use mlua_sys::lua_State;

use crate::engine::ffi::collector::Cycles;
use crate::engine::ffi::innards::Running;
use crate::engine::ffi::ledger::{Block, Ledger, Meter};
use crate::engine::ffi::lending::CurrentHost;
use crate::engine::ffi::pieces::Pieces;
use crate::engine::ffi::tick::Watch;
use crate::limits;

/// Bytes of an upvalue (`GCupval` in lj_obj.h).
const UPVALUE_SIZE: usize = 48;
/// Maximum number of upvalues of a function (`LJ_MAX_UPVAL` in lj_def.h).
const UPVALUES_MAX: usize = 60;

/// The memory account of a state.
pub(in crate::engine) struct Memory {
    used: Cell<usize>,
    /// The current limit: less than the whole if a running page holds much.
    bound: Cell<usize>,
    /// Bytes in total.
    whole: Cell<usize>,
    /// The largest block of a table.
    table_max: usize,
    /// Whether the last block that was refused was that of a table.
    table_refused: Cell<bool>,
    /// How many of the last consecutive new blocks may be upvalues of one function.
    upvalues: Cell<usize>,
    /// Where the running coroutine is named; `None` while the state is being opened.
    ///
    /// Invariant: found in the state of this account, which is open while it allocates.
    running: Cell<Option<Running>>,
    allocator: Cell<Option<(api::lua_Alloc, *mut c_void)>>,
    /// Which run the memory belongs to.
    ledger: Ledger,
}

impl Memory {
    pub(in crate::engine) fn used(&self) -> usize {
        self.used.get()
    }

    #[cfg(test)]
    pub(super) fn bound(&self) -> usize {
        self.bound.get()
    }

    /// Bytes in total.
    pub(in crate::engine) fn whole(&self) -> usize {
        self.whole.get()
    }

    /// Which run the memory belongs to.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether the last block that was refused was that of a table.
    pub(in crate::engine) fn was_table_refused(&self) -> bool {
        self.table_refused.get()
    }

    /// The limit up to which a run that holds this much may fill the memory.
    fn share(&self, held: u64) -> usize {
        let whole = self.whole.get();
        let kept = limits::KEPT_FOR_OTHERS.iter().find(|(above, _)| held > *above);
        whole - kept.map_or(0, |(_, part)| whole / part)
    }

    /// Whether a block is refused: a table would be too large, or the running page may not use so much. LuaJIT
    /// allocates a function, then each of its upvalues, and records their number only when it has all
    /// (`lj_func_newL_gc` in lj_func.c). If one were refused, it would free the function as one without upvalues, and
    /// the rest would be lost. So as many blocks of that size as one function may need are never refused.
    fn is_refused(&self, used: usize, size: usize) -> bool {
        let is_table = size > self.table_max && is_block_of_table(size);
        let may_be_needed = size == UPVALUE_SIZE && self.upvalues.get() < UPVALUES_MAX;
        let is_refused = is_table || used > self.bound.get() && !may_be_needed;
        if is_refused {
            self.table_refused.set(is_table);
        }
        is_refused
    }

    /// Counts further allocations with this meter, under the limit of its run.
    pub(super) fn begin(&self, meter: Meter) {
        self.bound.set(self.share(self.ledger.held(&meter)));
        self.ledger.begin(meter);
    }

    /// Returns the meter. Further allocations belong to no run.
    pub(super) fn end(&self) -> Meter {
        self.bound.set(self.whole.get());
        self.ledger.end()
    }

    fn note_new(&self, address: usize, size: usize) {
        self.upvalues.set(if size == UPVALUE_SIZE { self.upvalues.get() + 1 } else { 0 });
        if self.ledger.note_new(address, size) {
            self.bound.set(self.share(self.ledger.held(&self.ledger.now())));
        }
    }

    /// Sets where the running coroutine is named.
    pub(super) fn set_running(&self, running: Running) {
        self.running.set(Some(running));
    }

    pub(in crate::engine) fn knows_running(&self) -> bool {
        self.running.get().is_some()
    }

    /// Refuses a block. Lua then raises an error.
    #[cold]
    fn refuse(&self) -> *mut c_void {
        if let Some(running) = self.running.get() {
            // SAFETY: only the allocator of the state gets here (invariant of the field).
            unsafe { running.mend_end() };
        }
        ptr::null_mut()
    }

    /// Sets the number of bytes in total, while no run goes on.
    pub(in crate::engine) fn set_whole(&self, bytes: usize) {
        self.whole.set(bytes);
        self.bound.set(bytes);
    }

    /// Does work to which no limit applies.
    pub(super) fn unbounded<T>(&self, work: impl FnOnce() -> T) -> T {
        let bound = self.bound.replace(usize::MAX);
        let done = work();
        self.bound.set(bound);
        done
    }
}

/// Sizes of a state's memory. Plain data.
#[derive(Clone, Copy)]
pub(in crate::engine) struct MemorySizes {
    /// Bytes in total.
    pub(crate) whole: usize,
    /// Bytes of the largest block of a table.
    pub(crate) table: usize,
}

/// Whether a block of this size may belong to a table. A table's fields take 24 bytes each, in a power of two; its
/// elements take 8 bytes each, in one more than a power of two (lj_tab.c). A text may have such a size too.
#[cold]
fn is_block_of_table(size: usize) -> bool {
    size.is_multiple_of(24) && (size / 24).is_power_of_two()
        || size.is_multiple_of(8) && (size / 8 - 1).is_power_of_two()
}

/// The parts of one state, each of which owns its cells. Its address does not change while the state is open. Plain
/// data.
pub(super) struct Context {
    pub(crate) memory: Memory,
    pub(crate) host: CurrentHost,
    pub(crate) cycles: Cycles,
    pub(crate) watch: Watch,
    pub(crate) pieces: Pieces,
}

impl Context {
    /// The cells of a state that is open.
    ///
    /// # Safety
    /// The state stays open as long as the context's watch is used.
    pub(super) unsafe fn new(sizes: MemorySizes, state: NonNull<lua_State>) -> Self {
        Self {
            memory: Memory {
                used: Cell::new(0),
                bound: Cell::new(sizes.whole),
                whole: Cell::new(sizes.whole),
                table_max: sizes.table,
                table_refused: Cell::new(false),
                upvalues: Cell::new(0),
                running: Cell::new(None),
                allocator: Cell::new(None),
                ledger: Ledger::default(),
            },
            host: CurrentHost::default(),
            cycles: Cycles::default(),
            // SAFETY: the caller guarantees it.
            watch: unsafe { Watch::new(state) },
            pieces: Pieces::default(),
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

    /// Installs the account in front of Lua's own allocator, which keeps doing the work: it has no locks, because a
    /// state belongs to one thread.
    ///
    /// # Safety
    /// The state is open, and the context stays where it is until [`remove`](Self::remove).
    pub(super) unsafe fn install(&self, state: *mut lua_State) {
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

    /// Restores the state's own allocator, before the state is closed.
    ///
    /// # Safety
    /// The state is the one for which the account was installed, and open.
    pub(super) unsafe fn remove(&self, state: *mut lua_State) {
        if let Some((allocator, inner)) = self.memory.allocator.get() {
            // SAFETY: the state is open; these are the two values it was made with.
            unsafe { api::lua_setallocf(state, allocator, inner) };
        }
    }
}

/// Lua's allocator with an account: an allocation beyond the limit is refused, which Lua raises as "not enough memory".
unsafe extern "C" fn account(
    context: *mut c_void,
    block: *mut c_void,
    before: usize,
    after: usize,
) -> *mut c_void {
    // SAFETY: `install` gave this address, which is valid while the state is open.
    let context = unsafe { &*context.cast::<Context>() };
    let memory = &context.memory;
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
            let before = Block::new(block.addr(), before);
            memory.ledger.note_less(before, Block::new(result.addr(), after));
        }
        return result;
    }
    #[cfg(test)]
    context.host.note_allocation();
    let used = memory.used.get().saturating_add(after - before);
    if memory.is_refused(used, after) {
        return memory.refuse();
    }
    // SAFETY: as above.
    let result = unsafe { allocator(inner, block, before, after) };
    if result.is_null() {
        return memory.refuse();
    }
    memory.used.set(used);
    if !block.is_null() {
        // A block that grows counts as one freed and another allocated, because it takes as much work.
        memory.ledger.note_gone(block.addr());
    }
    memory.note_new(result.addr(), after);
    result
}

//! A counting allocator, for tests such as "this path does not allocate" and "this costs so many bytes".
//!
//! Owns two counters for each thread. Memory always comes from [`System`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

// Constant initialisers and no destructors: the counters can be used inside the allocator, from a thread's first
// allocation to its last, without allocating themselves.
thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
}

/// The system allocator with counters for each thread. In a test binary:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: sys::allocation::CountingAllocator = sys::allocation::CountingAllocator;
///
/// let before = sys::allocation::allocations_of_this_thread();
/// let text = String::from("one allocation");
/// assert_eq!(sys::allocation::allocations_of_this_thread() - before, 1);
/// # drop(text);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CountingAllocator;

/// How often this thread has allocated; a reallocation counts once. Always 0 if
/// [`CountingAllocator`] is not the global allocator.
pub fn allocations_of_this_thread() -> u64 {
    ALLOCATIONS.get()
}

/// Bytes that this thread has allocated minus bytes it has freed. Negative if it frees what others allocated.
pub fn live_bytes_of_this_thread() -> i64 {
    LIVE_BYTES.get()
}

fn count_allocation() {
    ALLOCATIONS.set(ALLOCATIONS.get().wrapping_add(1));
}

fn count_bytes(taken: usize, given_back: usize) {
    // No object is larger than isize::MAX bytes, so both fit.
    let change = (taken as i64).wrapping_sub(given_back as i64);
    LIVE_BYTES.set(LIVE_BYTES.get().wrapping_add(change));
}

// SAFETY: every call is handed to System unchanged and its answer returned unchanged; counting neither
// allocates nor panics.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise (a layout of non-zero size) is System's condition.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count_allocation();
            count_bytes(layout.size(), 0);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise (a layout of non-zero size) is System's condition.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count_allocation();
            count_bytes(layout.size(), 0);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is that the block came from here, hence from System, with this layout.
        unsafe { System.dealloc(block, layout) };
        count_bytes(0, layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is that the block came from here, hence from System, with this layout,
        // and that the new size is neither zero nor too large.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            count_allocation();
            count_bytes(size, layout.size());
        }
        moved
    }
}

//! The heap of the C library, from which this program's memory comes.
//!
//! Owns the calls that give freed memory back to the kernel. The library keeps it otherwise, for each thread
//! separately.

/// Bytes of a block that the library takes from the end of a heap (256 KiB). It looks at that end only after a block of
/// at least 64 KiB, and one that is larger than its threshold would have pages of its own.
const BLOCK_BEFORE_END: usize = 256 * 1024;

/// Gives all whole free pages of all threads' heaps back to the kernel (malloc_trim(3)). The heap of a thread that
/// allocates meanwhile is locked for as long as its own pages take: about 0.1 ms per MiB that is given back.
///
/// Does nothing with a C library that has no such call.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number, locks each heap that it looks at, and changes no memory in use.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Gives the end of the calling thread's heap back, which [`trim`] leaves alone: the library looks at that end only
/// when a block before it is freed. Costs about 1 us if there is nothing to give back.
pub fn trim_own() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(BLOCK_BEFORE_END)));
}

/// Fixes the size from which a block has pages of its own, which go back to the kernel as soon as it is freed, and how
/// much freed memory a heap keeps at its end, which [`trim`] does not give back. The library's own rule raises both,
/// for good, whenever a large block is freed.
///
/// Does nothing with a C library that has no such call.
pub fn fix_thresholds(own_pages_from: i32, kept_at_end: i32) {
    #[cfg(target_env = "gnu")]
    for (setting, bytes) in
        [(libc::M_MMAP_THRESHOLD, own_pages_from), (libc::M_TRIM_THRESHOLD, kept_at_end)]
    {
        // SAFETY: the call takes two numbers. If it does not like them, it changes nothing.
        unsafe { libc::mallopt(setting, bytes) };
    }
}

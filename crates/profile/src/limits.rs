//! Every limit of a profile: number, unit and consequence.

/// Threads that are sampled. Beyond: the others are not.
pub const THREADS: usize = 4_096;

/// Processes that are looked at as one program, and whose frames are unwound. Beyond: the others are not looked at, or
/// have the frames that their frame pointers show.
pub const PROCESSES: usize = 1_024;

/// Bytes of the description of frames in one file, 64 MiB. Beyond: its functions are unwound by frame pointers.
pub const FRAME_BYTES: u64 = 64 << 20;

/// Bytes of a stack that are copied with each sample, 16 KiB, and with each wait or event, 8 KiB. Beyond: callers are
/// those that frame pointers show.
pub const SAMPLED_STACK: u32 = 16 << 10;
/// The same of waits and events.
pub const EVENT_STACK: u32 = 8 << 10;

/// Bytes of a map of code made at run time, 64 MiB. Beyond: the functions after them have no names.
pub const MAP_BYTES: u64 = 64 << 20;

/// Threads that sleep whose frames are shown. Beyond: the others are only counted.
pub const SLEEPERS: usize = 256;

/// Bytes of the stack of a thread that sleeps, 64 KiB. Beyond: callers are missing.
pub const SLEEPING_STACK: usize = 64 << 10;

/// Threads whose events each have a room of 4 MiB. Beyond: each has 512 KiB, and more records are lost.
pub const HUGE_ROOMS: usize = 32;

/// Samples whose time is kept, for the timeline: 8 MB. Beyond: the timeline ends, and the report says so.
pub const TIMES: usize = 1_000_000;

/// Threads that a process may have at the start of a profile for its lock functions to be probed: each thread takes a
/// probe for each function. Beyond: lock attempts are not counted, and the report says so.
pub const COUNTED_THREADS: usize = 128;

/// Files of a process that are searched for lock functions. Beyond: the functions of the others are not counted.
pub const LOCK_FILES: usize = 1_024;

/// Frames of a stack that are kept, from the innermost on. Beyond: the rest is one frame that says so.
pub const DEPTH: usize = 256;

/// Part of the width below which a frame is not drawn (1/3000).
pub const NARROWEST: f64 = 1.0 / 3000.0;

/// Threads in the timeline of a page. Beyond: the others are left out, and the page says so.
pub const TIMELINE_ROWS: usize = 40;

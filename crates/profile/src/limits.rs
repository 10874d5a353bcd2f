//! Every limit of a profile: number, unit and consequence.

/// Threads of a process that are sampled. Beyond: the others are not, and the report says so.
pub const THREADS: usize = 4_096;

/// Threads that a process may have at the start of a profile for its lock functions to be probed: each thread takes a
/// probe for each function. Beyond: lock attempts are not counted, and the report says so.
pub const COUNTED_THREADS: usize = 128;

/// Files of a process that are searched for lock functions. Beyond: the functions of the others are not counted.
pub const LOCK_FILES: usize = 1_024;

/// Frames of a stack that are kept, from the innermost on. Beyond: the rest is one frame that says so.
pub const DEPTH: usize = 256;

/// Part of the width below which a frame is not drawn (1/3000).
pub const NARROWEST: f64 = 1.0 / 3000.0;

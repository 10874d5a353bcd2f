//! The limits of this crate that are not the kernel's own, and the consequence of each.

use std::time::Duration;

/// Highest number of processors, 1,024: the size of the fixed affinity mask in the kernel interface. On a machine
/// with more, the kernel refuses to report the allowed processors, and numbers from here on cannot be
/// pinned to.
pub const CPUS_MAXIMUM: usize = 1024;

/// Length of a thread's name, 15 bytes: what the kernel keeps. A longer name is cut at a character.
pub const THREAD_NAME_BYTES: usize = 15;

/// Room for one entry of the user database, 1 MiB. An entry that does not fit is reported as an error of the
/// database: the process does not start under a user it could not read.
pub const USER_ENTRY_BYTES: usize = 1 << 20;

/// Groups of a user that count, 65,536: what the kernel allows. Beyond: the user cannot be used.
pub const USER_GROUPS_MAX: usize = 1 << 16;

/// Bytes of a log that are given to a pipe at once, 4 KiB (`PIPE_BUF`): a pipe with room takes them as a whole. Longer
/// lines may mix with those of another program that writes into the same pipe.
pub const LOG_PIECE_BYTES: usize = 4096;

/// Bytes of directory changes read at a time, 4 KiB: about 15 of the longest names. The rest
/// is read next.
pub const WATCH_READ_BYTES: usize = 4096;

/// Time for measuring the tick counter, 10 ms (in nanoseconds). A shorter time makes the rate inaccurate: at 10 ms
/// the clock readings around it take less than a hundred-thousandth.
pub const TICK_CALIBRATION_NS: u64 = 10_000_000;

/// Bytes of one TCP connection that wait in the kernel to be sent for the first time, 128 KiB, not counting bytes on
/// the way to the peer. Beyond: a send accepts nothing more until some have been sent. Without a limit the kernel
/// accepts up to 4 MiB for each client that does not read, and copying that for many clients delays the others.
pub const UNSENT_BYTES: u32 = 128 * 1024;

/// The same for a connection whose peer reads at once, 4 MiB: as much as the kernel accepts without a limit. Beyond:
/// the same. The more may wait there, the fewer wake-ups a large answer needs.
pub const UNSENT_BYTES_OF_FAST: u32 = 4 * 1024 * 1024;

/// How long a listener defers a connection that sends nothing, unless requested otherwise: 1 s. Then it is
/// accepted without bytes, and the header deadline applies as to any other.
pub const DEFER_ACCEPT_NS: u64 = 1_000_000_000;

/// Silence of a peer after which the kernel probes it, if the listener says so: 300 s, as in Redis. A shorter time
/// costs packets for each idle connection; a longer one keeps the slot of a dead peer.
pub const PROBE_AFTER_S: u64 = 300;

/// Seconds between two probes without an answer: 30.
pub const PROBE_EVERY_S: u64 = 30;

/// Probes without an answer after which the kernel ends the connection: 3. So a dead peer is noticed after 390 s.
pub const PROBES: u32 = 3;

/// How often clock and counter are read together at each end of that measurement, 16 times. With fewer it is more
/// likely that a thread is switched away during each of them and measures a wrong rate.
pub const TICK_READINGS: usize = 16;

/// Frames of a native back-trace (64).
///
/// Consequence: the outermost calls beyond are left out.
pub const TRACE_FRAMES: usize = 64;

/// Words of a stack that are looked at for further addresses of code (2,048).
///
/// Consequence: what lies deeper is left out.
pub const TRACE_WORDS: usize = 2_048;

/// Time between two looks whether a thread has written its back-trace (1 ms).
pub const TRACE_LOOK: Duration = Duration::from_millis(1);

/// Looks after which it is given up (100).
///
/// Consequence: a thread that waits in the kernel has no back-trace.
pub const TRACE_LOOKS: u32 = 100;

/// The highest number in a list of the kernel, such as one of CPUs (65,535).
///
/// Consequence: a range that goes beyond it is left out.
pub const LISTED_NUMBER_MAX: u32 = 65_535;

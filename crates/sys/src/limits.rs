//! The bounds of this crate that are not the kernel's own, and what happens at each.

/// Highest number of processors, 1,024: the size of the kernel interface's fixed affinity mask. On a machine
/// with more, reading the allowed processors is refused by the kernel, and a number from here on cannot be
/// pinned to.
pub const CPUS_MAXIMUM: usize = 1024;

/// Length of a thread's name, 15 bytes: what the kernel keeps. A longer name is cut at a character.
pub const THREAD_NAME_BYTES: usize = 15;

/// Room for one entry of the user database, 1 MiB. An entry that does not fit is reported as an error of the
/// database: the process does not start under a user it could not read.
pub const USER_ENTRY_BYTES: usize = 1 << 20;

/// Room for changes of watched directories read at a time, 4 KiB: some 15 of the longest names or 100 of usual length. What
/// is beyond is read next.
pub const WATCH_READ_BYTES: usize = 4096;

/// Busy time that measuring the tick counter takes, 10 ms (nanoseconds). Shorter makes the rate wrong: at 10 ms
/// the two clock readings around it weigh less than a hundred-thousandth.
pub const TICK_CALIBRATION_NS: u64 = 10_000_000;

/// Bytes of one TCP connection that wait in the kernel to be sent for the first time, 128 KiB; what is under way to the peer is not
/// among them. Beyond: a send takes no more until some have left. Without a bound the kernel takes up to 4 MiB of each
/// connection whose client does not read, and copying that for many of them holds up the others.
pub const UNSENT_BYTES: u32 = 128 * 1024;

/// The same for a connection whose peer takes what it gets at once, 4 MiB: as much as the kernel takes without a bound. Beyond: the same.
/// The more waits there, the fewer wake-ups a large answer takes.
pub const UNSENT_BYTES_OF_FAST: u32 = 4 * 1024 * 1024;

/// How long a listener defers a connection that sends nothing, unless something else is asked for: 1 s. Then it is
/// accepted without bytes, and meets the header deadline like any other.
pub const DEFER_ACCEPT_NS: u64 = 1_000_000_000;

/// Silence of a peer after which the kernel asks whether it is there, where a listener wants that: 300 s, as Redis has it. Shorter costs
/// packets for each idle connection; longer keeps the place of a peer that is gone.
pub const PROBE_AFTER_S: u64 = 300;

/// Seconds between two such questions, 30, while none is answered.
pub const PROBE_EVERY_S: u64 = 30;

/// Questions without an answer after which the kernel ends the connection: 3. So a peer that is gone is found out after 390 s.
pub const PROBES: u32 = 3;

/// How often clock and counter are read together at each end of that measurement, 16 times. Fewer make it likelier
/// that a thread which is switched away in every one of them measures a wrong rate.
pub const TICK_READINGS: usize = 16;

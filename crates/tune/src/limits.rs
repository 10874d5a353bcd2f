//! Every bound of the audit: its number and unit, and what happens when it is reached.

/// Bytes of one file that are read (1 MiB). Beyond: the rest is not looked at.
pub const FILE_SIZE: u64 = 1 << 20;

/// Programs that are looked at. Beyond: the others are not, and none of them is named.
pub const PROGRAMS: usize = 20_000;

/// Network devices that are looked at. Beyond: the others are not.
pub const DEVICES: usize = 256;

//! Every limit of the audit and of ladders: number, unit and consequence.

use std::time::Duration;

/// Bytes of one file that are read (1 MiB). Beyond: the rest is not looked at.
pub const FILE_SIZE: u64 = 1 << 20;

/// Programs that are looked at. Beyond: the others are not, and none of them is named.
pub const PROGRAMS: usize = 20_000;

/// Threads of the server whose sockets are asked (1,024). Beyond: those of the others are not.
pub const THREADS: usize = 1024;

/// Sockets that are asked for each thread (64), spread over all that it has.
pub const SOCKETS_ASKED: usize = 64;

/// Looks for a thread to wait in its epoll (20). Beyond: it is not known which sockets are its own.
pub const WAITING_LOOKS: u32 = 20;

/// Time between two looks for a thread to wait in its epoll (1 ms).
pub const WAITING_LOOK: Duration = Duration::from_millis(1);

/// Network devices that are looked at. Beyond: the others are not.
pub const DEVICES: usize = 256;

/// Time between two looks at whether a server has started or ended (20 ms).
pub const SERVER_LOOK: Duration = Duration::from_millis(20);

/// Looks for a server of a ladder to take connections (1,500: 30 s). Beyond: its step is refused.
pub const SERVER_START_LOOKS: u32 = 1_500;

/// Longest wait for one connection to a server of a ladder, and for the end of what one has printed that has ended (1 s). Beyond: it does not take connections yet,
/// and what it printed is not told.
pub const SERVER_CONNECT: Duration = Duration::from_secs(1);

/// Looks for an address to be free before a server of a ladder is started there (50: 1 s). Beyond: something else has it, and there is no ladder.
pub const SERVER_FREE_LOOKS: u32 = 50;

/// Looks for a server of a ladder to end once it was told to (500: 10 s). Beyond: it is killed.
pub const SERVER_END_LOOKS: u32 = 500;

/// Bytes of what a server of a ladder prints on standard error that are kept, the last ones (4 KiB). Beyond: the rest is not told.
pub const SERVER_TOLD: usize = 4 << 10;

/// Most rounds of a ladder, for each comparison (100). Beyond: it is refused.
pub const LADDER_ROUNDS: u32 = 100;

/// Lines of those that are told, the last ones (6). Beyond: the others are not.
pub const SERVER_LINES: usize = 6;

/// How long a change that may cut the way to the host stays without being confirmed, unless another time is asked for (60 s). Then it is put back.
pub const UNCONFIRMED: Duration = Duration::from_secs(60);

//! Every limit of the audit and of ladders: number, unit and consequence.

use std::time::Duration;

/// Bytes of one file that are read (1 MiB). Beyond: the rest is not looked at.
pub const FILE_SIZE: u64 = 1 << 20;

/// Programs that are read. Beyond: the others are ignored, and never named.
pub const PROGRAMS: usize = 20_000;

/// Threads of the server whose sockets are inspected (1,024). Beyond: the sockets of the others are ignored.
pub const THREADS: usize = 1024;

/// Programs of one server: a master, its workers and what they have started (1,024). Beyond: the others are ignored.
pub const MEMBERS: usize = 1024;

/// Control groups that are read above a program (32). Beyond: the outer ones are ignored.
pub const GROUPS: usize = 32;

/// Looks at the state of each thread of the server between two readings (40). Beyond: shorter waits are not seen.
pub const LOOKS: usize = 40;

/// Fewest of these looks (8). With more threads than that allows, only the first ones are looked at.
pub const LOOKS_LEAST: usize = 8;

/// Threads that are looked at, and all looks at threads together (1,200: some 30 ms of CPU time). Beyond: the other
/// threads are not looked at, and each is looked at less often.
pub const LOOKS_OF_THREADS: usize = 1_200;

/// Looks at the questions of the server to name servers between two readings (10). Beyond: shorter ones are not seen.
pub const LOOKS_AT_NAMES: usize = 10;

/// Searches of the server's descriptors for files that are locked (3). Beyond: a file that is opened only then, for a
/// moment, is not seen.
pub const LOOKS_AT_FILES: usize = 3;

/// Time of all looks at the server's TCP sockets between the two readings (60 ms). Beyond: there are so many that it is
/// not looked again, and short waits for other servers are not seen.
pub const LOOKING_AT_SOCKETS: Duration = Duration::from_millis(60);

/// Descriptors of a program that are searched for sockets, files and observers (4,096), the lowest of each of its
/// tables. Beyond: the others are ignored.
pub const DESCRIPTORS: usize = 4_096;

/// Threads of a program whose descriptor tables are compared by what they contain, where the kernel does not compare
/// them (64). Beyond: those of the others are ignored.
pub const TABLES_COMPARED: usize = 64;

/// Files that the server writes whose disks are looked at (64). Beyond: the others are ignored.
pub const WRITTEN_FILES: usize = 64;

/// Bytes of the kernel's list of TCP sockets, of each address family (4 MiB: about 8,000 sockets). Beyond: the others
/// are ignored.
pub const SOCKET_LIST: usize = 4 << 20;

/// TCP sockets of the server that are looked at (4,096). Beyond: the others are ignored.
pub const TCP_SOCKETS: usize = 4_096;

/// Bytes of the list of a program's mappings that are counted (16 MiB: more than 100,000 of them). Beyond: the rest is
/// not counted.
pub const MAPPINGS: u64 = 16 << 20;

/// Sockets that are inspected per thread (64), spread over all of its sockets.
pub const SOCKETS_ASKED: usize = 64;

/// Tries to see a thread wait in its epoll (20). Beyond: it is not known which sockets are its own.
pub const WAITING_LOOKS: u32 = 20;

/// Time between two tries to see a thread wait in its epoll (1 ms).
pub const WAITING_LOOK: Duration = Duration::from_millis(1);

/// Network devices that are read. Beyond: the others are ignored.
pub const DEVICES: usize = 256;

/// Time between two looks at whether a server has started or ended (20 ms).
pub const SERVER_LOOK: Duration = Duration::from_millis(20);

/// Tries to connect to a server of a ladder (1,500: 30 s). Beyond: its step is refused.
pub const SERVER_START_LOOKS: u32 = 1_500;

/// Longest wait for one connection to a server of a ladder, and for the last output of one that has ended (1 s).
/// Beyond: it does not accept connections yet, and its output is not shown.
pub const SERVER_CONNECT: Duration = Duration::from_secs(1);

/// Tries until an address is free before a server of a ladder is started there (50: 1 s). Beyond: another program has
/// it, and there is no ladder.
pub const SERVER_FREE_LOOKS: u32 = 50;

/// Looks at whether a server of a ladder has ended after SIGTERM (500: 10 s). Beyond: it is killed.
pub const SERVER_END_LOOKS: u32 = 500;

/// Bytes of a ladder server's standard error that are kept, the last ones (4 KiB). Beyond: the rest is not shown.
pub const SERVER_TOLD: usize = 4 << 10;

/// Most rounds of a ladder, for each comparison (100). Beyond: the command line is refused.
pub const LADDER_ROUNDS: u32 = 100;

/// Lines of that output that are shown, the last ones (6). Beyond: the others are not.
pub const SERVER_LINES: usize = 6;

/// How long a change that may cut the connection to the host stays without being confirmed, unless another time is
/// given (60 s). Beyond: it is reverted.
pub const UNCONFIRMED: Duration = Duration::from_secs(60);

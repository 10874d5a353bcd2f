//! Which errors, numbers and kinds of system calls indicate which cause, in words.
//!
//! Owns these tables alone; `call_findings` compares what was recorded with them.

use syscalls::Errno;

/// The meaning of a call that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The thing it was called for is not done.
    Loses,
    /// It only costs its time.
    Costs,
}

/// Errors, the begins of names of calls, what a failure means, and what they indicate.
///
/// The first that fits counts: an errno means something of its own for some calls.
pub(crate) const FAILURES: [(Errno, &[&str], Failure, &str); 28] = [
    (
        Errno::EMFILE,
        &["inotify_init"],
        Failure::Loses,
        "the user has as many inotify instances as he may: fs.inotify.max_user_instances",
    ),
    (
        Errno::ENOSPC,
        &["inotify_add_watch"],
        Failure::Loses,
        "the user watches as many files as he may: fs.inotify.max_user_watches",
    ),
    (
        Errno::ENOSPC,
        &["epoll_ctl"],
        Failure::Loses,
        "the user waits for as many descriptors as he may: fs.epoll.max_user_watches",
    ),
    (
        Errno::EAGAIN,
        &["io_setup"],
        Failure::Loses,
        "the machine has no room for more requests of aio: fs.aio-max-nr",
    ),
    (
        Errno::EAGAIN,
        &["timer_create"],
        Failure::Loses,
        "the user has as many timers and waiting signals as he may: ulimit -i",
    ),
    (
        Errno::ENOMEM,
        &["io_uring_setup", "io_uring_register", "mlock", "bpf"],
        Failure::Loses,
        "no more memory may be locked: ulimit -l, LimitMEMLOCK",
    ),
    (
        Errno::EDQUOT,
        &["add_key", "request_key", "keyctl"],
        Failure::Loses,
        "the user has as many keys as he may: kernel.keys.maxkeys, kernel.keys.maxbytes",
    ),
    (
        Errno::EMFILE,
        &[""],
        Failure::Loses,
        "the process has no descriptors left: raise LimitNOFILE or ulimit -n, or find what is not closed",
    ),
    (Errno::ENFILE, &[""], Failure::Loses, "the machine has no descriptors left: fs.file-max"),
    (
        Errno::ENOENT,
        &["open", "stat", "newfstat", "statx", "access", "faccess", "readlink"],
        Failure::Costs,
        "it looks for files that are not there, again and again",
    ),
    (Errno::ENOSPC, &["write", "pwrite", "fallocate", "open"], Failure::Costs, "the disk is full"),
    (
        Errno::EDQUOT,
        &["write", "pwrite", "fallocate", "open"],
        Failure::Costs,
        "the quota of the disk is used up",
    ),
    (
        Errno::EFBIG,
        &["write", "pwrite"],
        Failure::Costs,
        "the file may not grow further: ulimit -f",
    ),
    (Errno::EIO, &[""], Failure::Loses, "a disk or a device fails"),
    (
        Errno::ENOMEM,
        &["mmap", "mprotect", "munmap", "mremap", "brk", "madvise"],
        Failure::Loses,
        "no more mappings or memory: vm.max_map_count, ulimit -v, or the limit of its cgroup",
    ),
    (
        Errno::EAGAIN,
        &["clone", "fork", "vfork"],
        Failure::Loses,
        "no more threads or processes: pids.max of its cgroup, ulimit -u or kernel.pid_max",
    ),
    (
        Errno::EAGAIN,
        &["accept"],
        Failure::Costs,
        "threads or processes are woken for a connection that another one has taken: a listener for each \
         (SO_REUSEPORT), or EPOLLEXCLUSIVE",
    ),
    (Errno::EAGAIN, &["read", "recv"], Failure::Costs, "it reads where nothing has come"),
    (
        Errno::EAGAIN,
        &["write", "send", "sendfile", "splice"],
        Failure::Costs,
        "send buffers are full: slow readers, or a small SO_SNDBUF or net.ipv4.tcp_wmem",
    ),
    (
        Errno::EADDRNOTAVAIL,
        &["connect", "bind"],
        Failure::Loses,
        "no local port is left for that address: keep connections, or widen net.ipv4.ip_local_port_range",
    ),
    (
        Errno::EADDRINUSE,
        &["bind", "listen", "connect"],
        Failure::Loses,
        "the address is used already: by another program, or by connections that have just ended from a fixed port",
    ),
    (
        Errno::ECONNREFUSED,
        &["connect"],
        Failure::Costs,
        "nobody listens there: a server that is down, or an address that is tried first in vain, as ::1 before \
         127.0.0.1",
    ),
    (
        Errno::ENETUNREACH,
        &["connect", "send"],
        Failure::Costs,
        "no way leads there: an address of IPv6 that is tried first, without IPv6",
    ),
    (
        Errno::ETIMEDOUT,
        &["connect", "recv", "read"],
        Failure::Loses,
        "the server behind it does not answer",
    ),
    (
        Errno::ENOBUFS,
        &["send", "write"],
        Failure::Loses,
        "the kernel has no room for packets: net.core.wmem_max, queues",
    ),
    (
        Errno::EPIPE,
        &["write", "send"],
        Failure::Costs,
        "it writes to connections that the other side has closed",
    ),
    (Errno::EBADF, &[""], Failure::Costs, "it uses a descriptor that is not open"),
    (Errno::ENOLCK, &["fcntl", "flock"], Failure::Costs, "the kernel has no room for file locks"),
];

/// The part of a call's results from which an error is worth a line, and how often a second.
pub(crate) const WORTH: f64 = 0.05;
pub(crate) const WORTH_RATE: f64 = 1.0;

/// The same of errors that programs also have when nothing is wrong: they look for a file at several places, or read
/// and accept until nothing is left.
pub(crate) const USUAL: [(Errno, f64, f64); 2] =
    [(Errno::ENOENT, 0.05, 500.0), (Errno::EAGAIN, 0.8, 500.0)];

/// Calls that do not fail and cost: their names, how often a second and which part of a thread's time in percent from
/// which they are worth a line, and the cause.
pub(crate) const USES: [(&[&str], f64, f64, &str); 12] = [
    (
        &["clock_gettime", "gettimeofday", "time"],
        1_000.0,
        1.0,
        "the time is asked of the kernel: no vDSO, because of the clock source or the C library",
    ),
    (
        &["sched_yield"],
        5_000.0,
        3.0,
        "threads give up the CPU and try again at once: a lock that spins",
    ),
    (
        &["nanosleep", "clock_nanosleep"],
        500.0,
        20.0,
        "threads sleep by the clock for short times, and look again: they could wait for the event",
    ),
    (
        &[
            "stat",
            "lstat",
            "newfstatat",
            "statx",
            "access",
            "faccessat",
            "faccessat2",
            "readlink",
            "readlinkat",
        ],
        1_000.0,
        10.0,
        "files are looked up again and again: local time without the variable TZ, or templates and configuration \
         for each request",
    ),
    (
        &["open", "openat", "openat2"],
        1_000.0,
        10.0,
        "files are opened again and again: keep them open, or what they contain",
    ),
    (&["getdents", "getdents64"], 10.0, 5.0, "directories are listed again and again"),
    (
        &["mmap", "munmap", "mremap", "brk", "madvise", "mprotect"],
        200.0,
        5.0,
        "memory is taken from the kernel and given back all the time: keep buffers, or let the allocator keep memory",
    ),
    (
        &["clone", "clone3", "fork", "vfork", "execve", "wait4", "waitid"],
        20.0,
        10.0,
        "threads or programs are started all the time",
    ),
    (
        &["fsync", "fdatasync", "msync", "sync_file_range", "syncfs", "sync"],
        20.0,
        3.0,
        "data is forced to the disk again and again",
    ),
    (&["flock", "fcntl"], 50.0, 5.0, "it waits for locks of files"),
    (&["connect"], 100.0, 2.0, "connections to other servers are opened anew: keep them"),
    (&["getrandom"], 2_000.0, 3.0, "random numbers are asked of the kernel in small pieces"),
];

/// Calls that every server makes for each request.
pub(crate) const OF_REQUESTS: [&str; 14] = [
    "read", "write", "recv", "send", "readv", "writev", "epoll", "poll", "ppoll", "select",
    "pselect", "futex", "accept", "close",
];

/// Other calls for each successful receive, and the part of a thread's time in percent, from which they are too many.
pub(crate) const MANY: f64 = 10.0;
pub(crate) const MANY_SHARE: f64 = 5.0;

/// Calls that delete a file, how many a second are worth a line if as many writes at a place of a file go with them,
/// and the other calls of such a file.
pub(crate) const DELETES: [&str; 2] = ["unlink", "unlinkat"];
pub(crate) const DELETE_RATE: f64 = 5.0;
pub(crate) const PLACED_WRITES: [&str; 3] = ["pwrite64", "pwritev", "pwritev2"];
pub(crate) const OF_FILES: [&str; 6] = ["openat", "open", "pread64", "preadv", "preadv2", "close"];

/// Calls that move bytes of files, and how many each make them a transfer.
pub(crate) const TRANSFERS: [&str; 7] =
    ["pread64", "preadv", "preadv2", "pwrite64", "pwritev", "sendfile", "splice"];
pub(crate) const MUCH: f64 = 4096.0;

/// Calls that wait for events.
pub(crate) const EVENTS: [&str; 7] =
    ["epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6"];

/// Calls that end at once unless something is slow; from which mean time in nanoseconds, and from which part of a
/// thread's time in percent, they wait.
pub(crate) const QUICK: [&str; 14] = [
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "sendto",
    "sendmsg",
    "open",
    "openat",
    "close",
    "rename",
    "unlink",
    "ftruncate",
    "newfstatat",
    "pread64",
];
pub(crate) const SLOW_NS: f64 = 300_000.0;
pub(crate) const SLOW_SHARE: f64 = 20.0;

/// Other calls in which threads wait for each other, or for a client.
pub(crate) const SLEEPS: [&str; 8] = [
    "futex",
    "nanosleep",
    "clock_nanosleep",
    "accept",
    "accept4",
    "pause",
    "rt_sigtimedwait",
    "wait4",
];

/// Nanoseconds of a sleep, on average, below which nanosleep(2) is called by a runtime that looks for work.
pub(crate) const SPIN_NS: u64 = 100_000;

/// How often a second, and how many times the successful receives, such a call has to end at once in order to be one
/// for nothing.
pub(crate) const FOR_NOTHING: (f64, f64) = (5_000.0, 3.0);

/// Nanoseconds of a wait that ends at once.
pub(crate) const AT_ONCE: f64 = 20_000.0;

/// Connections closed unread per second, and their part of all that are accepted, from which they are refused.
pub(crate) const REFUSED_RATE: f64 = 20.0;
pub(crate) const REFUSED_PART: f64 = 0.05;

/// Descriptors of a poll(2) or select(2) from which they are a crowd, and nanoseconds for each.
pub(crate) const CROWD: f64 = 500.0;
pub(crate) const LOOK_NS: f64 = 500.0;

/// Calls that move bytes; how many a second, and at most how many bytes each, make a buffer worth it.
pub(crate) const MOVES: [&str; 4] = ["read", "pread64", "write", "pwrite64"];
pub(crate) const SMALL_RATE: f64 = 5_000.0;
pub(crate) const SMALL: f64 = 16.0;

/// How many of them for each answer, or for each receive, make them pieces of one; and at most how many bytes, if there
/// are [`MANY`].
pub(crate) const PIECES: f64 = 3.0;
pub(crate) const LINE: f64 = 512.0;

/// Calls that send answers.
pub(crate) const ANSWERS: [&str; 6] =
    ["write", "writev", "sendto", "sendmsg", "sendmmsg", "sendfile"];

//! Signals from operators, received by waiting: the one handler records which have arrived.
//!
//! Owns the mask of the awaited signals, and their handler. Never decides what a signal means.
//!
//! The first thread blocks them ([`block_all`]) before it starts others, which inherit the mask; one thread then
//! waits. A thread that existed before, or unblocks them, would be killed by the first signal. Programs that the
//! process starts also inherit the mask, unless [`unblock_in`] makes them start without it.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::clock::monotonic_ns;

/// The signals of operators, service managers and terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGHUP.
    Hangup,
    /// SIGINT.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGTERM.
    Terminate,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
}

impl Signal {
    /// All of them.
    pub const ALL: [Signal; 6] =
        [Self::Hangup, Self::Interrupt, Self::Quit, Self::Terminate, Self::User1, Self::User2];

    fn number(self) -> libc::c_int {
        match self {
            Self::Hangup => libc::SIGHUP,
            Self::Interrupt => libc::SIGINT,
            Self::Quit => libc::SIGQUIT,
            Self::Terminate => libc::SIGTERM,
            Self::User1 => libc::SIGUSR1,
            Self::User2 => libc::SIGUSR2,
        }
    }

    fn from_number(number: libc::c_int) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.number() == number)
    }

    /// Its bit in [`ARRIVED`].
    fn bit(self) -> u32 {
        1 << self.number()
    }
}

/// Some of the signals.
#[derive(Clone, Copy)]
pub struct SignalSet {
    members: libc::sigset_t,
}

impl SignalSet {
    /// All of them.
    pub fn all() -> Self {
        Signal::ALL.into_iter().collect()
    }

    fn contains(&self, signal: Signal) -> bool {
        // SAFETY: the pointer is to an initialised sigset_t that is only read.
        unsafe { libc::sigismember(&raw const self.members, signal.number()) == 1 }
    }

    fn iter(&self) -> impl Iterator<Item = Signal> {
        Signal::ALL.into_iter().filter(|signal| self.contains(*signal))
    }
}

impl FromIterator<Signal> for SignalSet {
    fn from_iter<I: IntoIterator<Item = Signal>>(signals: I) -> Self {
        let mut members = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the pointer is to a whole sigset_t, which the call fills.
        unsafe { libc::sigemptyset(members.as_mut_ptr()) };
        // SAFETY: sigemptyset initialised it; it fails for no valid pointer.
        let mut members = unsafe { members.assume_init() };
        for signal in signals {
            // SAFETY: the pointer is to an initialised sigset_t.
            unsafe { libc::sigaddset(&raw mut members, signal.number()) };
        }
        Self { members }
    }
}

impl std::fmt::Debug for SignalSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

/// Blocks these signals for this thread and all threads it starts from now on.
pub fn block(signals: &SignalSet) {
    // SAFETY: the first pointer is to an initialised sigset_t that is only read, the second asks for nothing.
    let error = unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals.members, ptr::null_mut())
    };
    assert_eq!(error, 0, "pthread_sigmask(3) fails only for an unknown first argument");
}

/// Blocks all of [`Signal::ALL`]: call this before starting a thread that stays.
pub fn block_all() {
    block(&SignalSet::all());
}

/// A write to a peer that has closed returns EPIPE instead of ending the process.
pub fn ignore_broken_pipe() {
    // SAFETY: SIG_IGN is no handler of ours: nothing runs when the signal arrives.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    assert_ne!(before, libc::SIG_ERR, "signal(2) fails only for an unknown signal");
}

/// A write beyond the maximum file size (`RLIMIT_FSIZE`) returns EFBIG instead of ending the process.
pub fn ignore_file_size() {
    // SAFETY: SIG_IGN is no handler of ours: nothing runs when the signal arrives.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    assert_ne!(before, libc::SIG_ERR, "signal(2) fails only for an unknown signal");
}

/// Waits for one of the signals, which must be blocked in every thread; `None` after `timeout`.
///
/// # Errors
/// The kernel's; none is known for a set created here.
pub fn wait_timeout(signals: &SignalSet, timeout: Duration) -> io::Result<Option<Signal>> {
    let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    let deadline_ns = monotonic_ns().saturating_add(timeout_ns);
    loop {
        let left = timespec(deadline_ns.saturating_sub(monotonic_ns()));
        // SAFETY: the set and the time are initialised and only read; the middle pointer asks for nothing.
        let number = unsafe {
            libc::sigtimedwait(&raw const signals.members, ptr::null_mut(), &raw const left)
        };
        match received(number) {
            Ok(Some(signal)) => return Ok(Some(signal)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// The result of [`Inbox::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalArrival {
    /// A signal.
    Signal(Signal),
    /// The descriptor is readable.
    Readable,
    /// Neither, until the time was over.
    Nothing,
}

/// The signals that interrupted a wait of an [`Inbox`], until they are taken.
static ARRIVED: AtomicU32 = AtomicU32::new(0);

extern "C" fn note(number: libc::c_int) {
    ARRIVED.fetch_or(1 << number, Relaxed);
}

/// Signals for a thread that also waits for something else.
///
/// They are unblocked only while it waits. With signalfd(2), the polling thread would be woken by every signal to any
/// thread of the process, and the timers of pages send hundreds per second.
pub struct Inbox {
    signals: SignalSet,
    /// The signals that stay blocked while it waits.
    others: libc::sigset_t,
}

impl Inbox {
    /// For these signals, which must be blocked in every thread.
    ///
    /// # Errors
    /// The kernel's; none is known for a set created here.
    pub fn new(signals: SignalSet) -> io::Result<Self> {
        let mut others = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first pointer asks for nothing, the second is to a whole sigset_t, which the call fills.
        let error =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), others.as_mut_ptr()) };
        assert_eq!(error, 0, "pthread_sigmask(3) fails only for an unknown first argument");
        // SAFETY: it was filled.
        let mut others = unsafe { others.assume_init() };
        for signal in signals.iter() {
            handle(signal)?;
            // SAFETY: the pointer is to an initialised sigset_t.
            unsafe { libc::sigdelset(&raw mut others, signal.number()) };
        }
        Ok(Self { signals, others })
    }

    /// Waits for a signal, or until the descriptor is readable, or until the time is over; without a time forever. A
    /// signal comes first.
    ///
    /// # Errors
    /// The kernel's; none is known.
    pub fn wait(
        &self,
        other: Option<BorrowedFd<'_>>,
        timeout: Option<Duration>,
    ) -> io::Result<SignalArrival> {
        let timeout_ns = timeout.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let deadline_ns = timeout_ns.map(|time_ns| monotonic_ns().saturating_add(time_ns));
        // The kernel ignores a negative descriptor.
        let descriptor = other.map_or(-1, |other| other.as_raw_fd());
        loop {
            if let Some(signal) = self.take()? {
                return Ok(SignalArrival::Signal(signal));
            }
            let left = deadline_ns.map(|at_ns| timespec(at_ns.saturating_sub(monotonic_ns())));
            match self.wait_once(descriptor, left.as_ref()) {
                Ok(0) => return Ok(SignalArrival::Nothing),
                Ok(_) => return Ok(SignalArrival::Readable),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A signal that has already arrived.
    fn take(&self) -> io::Result<Option<Signal>> {
        let arrived = ARRIVED.load(Relaxed);
        if let Some(signal) = self.signals.iter().find(|signal| arrived & signal.bit() != 0) {
            ARRIVED.fetch_and(!signal.bit(), Relaxed);
            return Ok(Some(signal));
        }
        wait_timeout(&self.signals, Duration::ZERO)
    }

    /// Whether the one descriptor is readable, as the number of readable ones.
    fn wait_once(
        &self,
        descriptor: libc::c_int,
        timeout: Option<&libc::timespec>,
    ) -> io::Result<usize> {
        let mut looked_at = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        let timeout = timeout.map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the first pointer is to one pollfd, as the number says; the others are to values that are only read,
        // or ask for nothing.
        let count = unsafe { libc::ppoll(&raw mut looked_at, 1, timeout, &raw const self.others) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }
}

/// Makes a signal be recorded where it is not blocked.
fn handle(signal: Signal) -> io::Result<()> {
    // SAFETY: all zeros are a sigaction without flags, whose handler blocks nothing more.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the handler only writes an atomic word, which signal-safety(7) allows; the last pointer asks for nothing.
    let status = unsafe { libc::sigaction(signal.number(), &raw const action, ptr::null_mut()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes a program start without blocked signals, although its parent waits for some: interrupting both then ends it.
pub fn unblock_in(command: &mut Command) -> &mut Command {
    let nothing = SignalSet::from_iter([]);
    let unblock = move || {
        // SAFETY: the first pointer is to an initialised sigset_t that is only read, the second asks for nothing.
        let error = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const nothing.members, ptr::null_mut())
        };
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    };
    // SAFETY: between fork and exec the closure makes one call, which signal-safety(7) allows there, and allocates
    // nothing.
    unsafe { command.pre_exec(unblock) }
}

/// Makes a program get SIGTERM when the thread that has started it ends, even if that is killed (prctl(2)).
pub fn end_with_parent(command: &mut Command) -> &mut Command {
    let tie = || {
        let signal = libc::SIGTERM as libc::c_ulong;
        // SAFETY: this option of prctl takes one number.
        let status = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec the closure makes one system call, and allocates nothing.
    unsafe { command.pre_exec(tie) }
}

/// Sends a signal to this process, as an operator would.
///
/// # Errors
/// The kernel's.
pub fn send_to_self(signal: Signal) -> io::Result<()> {
    send(std::process::id(), signal)
}

/// Sends a signal to a process.
///
/// # Errors
/// The kernel's: there is no such process, or it belongs to another user.
pub fn send(process: u32, signal: Signal) -> io::Result<()> {
    let number = i32::try_from(process).map_err(|_| io::ErrorKind::InvalidInput)?;
    if number == 0 {
        // For the kernel this number means the whole process group.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: kill takes two numbers and touches no memory of ours.
    let status = unsafe { libc::kill(number, signal.number()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn received(number: libc::c_int) -> io::Result<Option<Signal>> {
    if number < 0 { Err(io::Error::last_os_error()) } else { Ok(Signal::from_number(number)) }
}

fn timespec(time_ns: u64) -> libc::timespec {
    let duration = Duration::from_nanos(time_ns);
    libc::timespec {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(duration.subsec_nanos().cast_signed()),
    }
}

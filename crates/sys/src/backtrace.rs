//! The native back-trace of another thread of this process, taken by a signal.
//!
//! Owns the signal, and room for one trace at a time. The thread itself walks its frame pointers, in the handler: it
//! allocates nothing, takes no lock, makes no call, and reads only between its stack pointer and the end of its stack.
//! Code without frame pointers ends that walk early, so it also copies the top of its stack, in which the asking thread
//! finds what may be return addresses. Never names functions.

use std::cell::Cell;
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::thread::sleep;

use crate::limits::{TRACE_FRAMES, TRACE_LOOK, TRACE_LOOKS, TRACE_WORDS};

/// The number of our realtime signal: beyond those that C libraries and debuggers use. Lower than that of the timer of
/// pages: of two that wait, the kernel lets the higher one run first, so the trace is of what the thread did before
/// both.
const SIGNAL_OFFSET: libc::c_int = 8;

/// A thread that can be traced while it lives.
#[derive(Clone, Copy, Debug)]
pub struct TraceableThread {
    thread: libc::pid_t,
}

impl TraceableThread {
    /// The thread of this number, which [`this_thread`] has given; `None` for 0.
    pub fn of_number(number: u32) -> Option<Self> {
        (number > 0).then_some(Self { thread: number.cast_signed() })
    }

    /// Its number in the kernel, as in `/proc/self/task`.
    pub fn number(self) -> u32 {
        self.thread.cast_unsigned()
    }
}

/// Nobody wants a trace.
const IDLE: u32 = 0;
/// The handler of the thread is to write one.
const WANTED: u32 = 1;
const WRITING: u32 = 2;
const WRITTEN: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(IDLE);
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The words at the top of the stack, and how many.
static WORDS: [AtomicUsize; TRACE_WORDS] = [const { AtomicUsize::new(0) }; TRACE_WORDS];
static WORD_COUNT: AtomicUsize = AtomicUsize::new(0);
static ADDRESSES: [AtomicUsize; TRACE_FRAMES] = [const { AtomicUsize::new(0) }; TRACE_FRAMES];
thread_local! {
    /// The address behind the stack of this thread. Each knows its own, so that a number of a thread that another has
    /// got meanwhile does no harm.
    static STACK_END: Cell<usize> = const { Cell::new(0) };
}

/// The calling thread, so that another may trace it.
///
/// # Errors
/// The kernel's, if it does not say where the stack is or refuses the signal.
pub fn this_thread() -> io::Result<TraceableThread> {
    static HANDLES: OnceLock<Result<(), i32>> = OnceLock::new();
    let handles =
        HANDLES.get_or_init(|| handle().map_err(|error| error.raw_os_error().unwrap_or(0)));
    handles.map_err(io::Error::from_raw_os_error)?;
    STACK_END.set(stack_end()?);
    Ok(TraceableThread { thread: rustix::thread::gettid().as_raw_nonzero().get() })
}

/// The address behind the stack of the calling thread.
fn stack_end() -> io::Result<usize> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the call only returns the name of this thread.
    let own = unsafe { libc::pthread_self() };
    // SAFETY: the thread is the calling one; the pointer is to a whole value, which the call fills.
    let error = unsafe { libc::pthread_getattr_np(own, attributes.as_mut_ptr()) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let (mut begin, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes were filled; the other pointers are to values of ours.
    let error =
        unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut begin, &raw mut size) };
    // SAFETY: they were filled, and are used no more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    Ok(begin.addr() + size)
}

fn signal_number() -> libc::c_int {
    libc::SIGRTMIN() + SIGNAL_OFFSET
}

fn handle() -> io::Result<()> {
    // SAFETY: all zeros are a sigaction without flags, whose handler blocks nothing more.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = write_trace as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler is of the kind that SA_SIGINFO wants and does what signal-safety(7) allows; the last pointer
    // asks for nothing.
    let status = unsafe { libc::sigaction(signal_number(), &raw const action, ptr::null_mut()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Where a thread was: the address of its next instruction, its stack pointer and its frame pointer.
fn registers(context: &libc::ucontext_t) -> (usize, usize, usize) {
    #[cfg(target_arch = "x86_64")]
    let (next, stack, frame) = {
        let of = |register: libc::c_int| {
            usize::try_from(context.uc_mcontext.gregs[register as usize].cast_unsigned())
                .unwrap_or(0)
        };
        (of(libc::REG_RIP), of(libc::REG_RSP), of(libc::REG_RBP))
    };
    #[cfg(target_arch = "aarch64")]
    let (next, stack, frame) = {
        let machine = &context.uc_mcontext;
        (machine.pc as usize, machine.sp as usize, machine.regs[29] as usize)
    };
    (next, stack, frame)
}

/// The handler: writes the trace of the thread on which it runs, if one is wanted.
extern "C" fn write_trace(
    _signal: libc::c_int,
    _info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    if STATE.compare_exchange(WANTED, WRITING, AcqRel, Relaxed).is_err() {
        return;
    }
    // SAFETY: the kernel hands a ucontext_t to a handler with SA_SIGINFO, and nobody changes it meanwhile.
    let (next, mut stack, mut frame) = registers(unsafe { &*context.cast::<libc::ucontext_t>() });
    let (top, end) = (stack, STACK_END.get());
    ADDRESSES[0].store(next, Relaxed);
    let mut count = 1;
    let word = size_of::<usize>();
    while count < TRACE_FRAMES
        && frame >= stack
        && frame.is_multiple_of(word)
        && frame.checked_add(2 * word).is_some_and(|behind| behind <= end)
    {
        let place: *const [usize; 2] = ptr::with_exposed_provenance(frame);
        // SAFETY: two aligned words between the stack pointer and the end of this thread's stack are mapped, whatever
        // they contain.
        let [outer, back] = unsafe { place.read() };
        if back == 0 {
            break;
        }
        ADDRESSES[count].store(back, Relaxed);
        count += 1;
        (stack, frame) = (frame + 2 * word, outer);
    }
    COUNT.store(count, Relaxed);
    copy_stack(top, end);
    STATE.store(WRITTEN, Release);
}

/// Copies the words from here to the end of the stack of this thread, as many as there is room for.
fn copy_stack(top: usize, end: usize) {
    let word = size_of::<usize>();
    let top = top.next_multiple_of(word);
    let count = (end.saturating_sub(top) / word).min(TRACE_WORDS);
    for (place, room) in WORDS.iter().enumerate().take(count) {
        let place: *const usize = ptr::with_exposed_provenance(top + place * word);
        // SAFETY: an aligned word between the stack pointer and the end of this thread's stack is mapped, whatever it
        // contains.
        room.store(unsafe { place.read() }, Relaxed);
    }
    WORD_COUNT.store(count, Relaxed);
}

/// Where a thread is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The addresses at which it is and to which its calls return, innermost first.
    pub calls: Vec<u64>,
    /// Further addresses of code on its stack, innermost first: some are of calls that are over.
    pub perhaps: Vec<u64>,
}

/// Where a thread is; `None` if it did not answer in time: it waits in the kernel, or has ended. Takes up to 100 ms.
pub fn of(thread: TraceableThread) -> Option<Trace> {
    // One asks at a time: for another there is no trace.
    STATE.compare_exchange(IDLE, WANTED, AcqRel, Relaxed).ok()?;
    let process = std::process::id().cast_signed();
    // SAFETY: tgkill takes three numbers; the handler is in place before any thread is known.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, process, thread.thread, signal_number()) };
    let mut looks = if sent == 0 { TRACE_LOOKS } else { 0 };
    while STATE.load(Acquire) != WRITTEN {
        if looks == 0 && STATE.compare_exchange(WANTED, IDLE, AcqRel, Relaxed).is_ok() {
            return None;
        }
        // One that has begun to write ends soon.
        looks = looks.saturating_sub(1);
        sleep(TRACE_LOOK);
    }
    let count = COUNT.load(Relaxed).min(TRACE_FRAMES);
    let read = |words: &[AtomicUsize]| -> Vec<u64> {
        words.iter().map(|word| word.load(Relaxed) as u64).collect()
    };
    let calls = read(&ADDRESSES[..count]);
    let words = read(&WORDS[..WORD_COUNT.load(Relaxed).min(TRACE_WORDS)]);
    STATE.store(IDLE, Release);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let code: Vec<(u64, u64)> = maps.lines().filter_map(code_of).collect();
    let is_code = |word: &u64| code.iter().any(|(begin, end)| (begin..end).contains(&word));
    let mut perhaps: Vec<u64> = words.into_iter().filter(is_code).collect();
    perhaps.retain(|address| !calls.contains(address));
    perhaps.truncate(TRACE_FRAMES);
    Some(Trace { calls, perhaps })
}

/// The addresses of the code of a program or library, from a line of proc_pid_maps(5).
fn code_of(line: &str) -> Option<(u64, u64)> {
    let (range, rest) = line.split_once(' ')?;
    let is_code = rest.starts_with("r-x") && rest.contains(" /");
    let (begin, end) = range.split_once('-').filter(|_| is_code)?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(begin)?, number(end)?))
}

/// An address as the file of its program or library and the offset in it, such as `velodrome+0x1234`, which `addr2line`
/// reads; without a file as a number: code that was made as the program ran.
pub fn place_of(address: u64) -> String {
    // SAFETY: all zeros are a Dl_info without pointers.
    let mut info = unsafe { MaybeUninit::<libc::Dl_info>::zeroed().assume_init() };
    let pointer = ptr::without_provenance(usize::try_from(address).unwrap_or(0));
    // SAFETY: the first pointer is only compared, the second is to a whole value, which the call fills.
    let found = unsafe { libc::dladdr(pointer, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return format!("{address:#x}");
    }
    // SAFETY: the loader has filled it with the name of a loaded file, which ends with a NUL and stays.
    let file = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy();
    let name = file.rsplit('/').next().unwrap_or_default();
    let base = info.dli_fbase.addr() as u64;
    format!("{name}+{:#x}", address.saturating_sub(base))
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::hint::black_box;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    use super::*;

    static GOES_ON: AtomicBool = AtomicBool::new(true);

    #[inline(never)]
    extern "C" fn spin_in_here() {
        while GOES_ON.load(Relaxed) {
            black_box(());
        }
        black_box(());
    }

    #[test]
    fn a_thread_that_spins_says_where_and_one_that_has_ended_does_not() {
        let (tell, told) = channel();
        let spinning = std::thread::spawn(move || {
            tell.send(this_thread().unwrap()).unwrap();
            spin_in_here();
            black_box(());
        });
        let thread = told.recv().unwrap();
        let begin = spin_in_here as *const () as u64;
        let is_there = |addresses: &[u64]| {
            addresses.iter().any(|address| (begin..begin + 512).contains(address))
        };
        let seen = (0..1_000).any(|_| {
            of(thread).is_some_and(|trace| is_there(&trace.calls) && trace.calls.len() > 1)
        });
        GOES_ON.store(false, Relaxed);
        spinning.join().unwrap();
        assert!(seen, "it spins there all the time");
        assert_eq!(of(thread), None, "it has ended");
    }

    #[test]
    fn the_code_of_programs_is_told_from_other_memory() {
        let line = "7f00a000-7f00b000 r-xp 0000 08:01 7 /usr/lib/libc.so.6";
        assert_eq!(code_of(line), Some((0x7f00_a000, 0x7f00_b000)));
        for other in [&line.replace("r-x", "rw-"), "7f00a000-7f00b000 r-xp 0000 00:00 0", "", "x"] {
            assert_eq!(code_of(other), None, "{other}");
        }
    }

    #[test]
    fn an_address_is_named_by_its_file() {
        let place = place_of(this_thread as *const () as u64);
        assert!(place.contains("+0x"), "{place}");
        assert_eq!(place_of(16), "0x10");
    }
}

//! The tick: a timer signal to this thread that ends a page's time slice.
//!
//! Owns the timer, the signal handler and Lua's hook. Never decides how much time a page has in
//! total.
//!
//! While pages run, a POSIX timer signals this thread. The handler compares the number of the
//! current resume with the one it saw half a slice before. If they are equal, the slice is over,
//! and the handler sets Lua's count hook, which Lua documents as allowed in a signal handler.
//! Native code checks it in every loop (`LUAJIT_ENABLE_CHECKHOOK`) and exits to the interpreter,
//! which calls the hook, which yields. A resume pays a few plain stores for this.
//!
//! Signals cost, and pages rarely run long, so the timer is slow at first. A tick that finds a
//! running page comes again half a slice later, and stays at that rate as long as it finds the same
//! page. When no page has run for a while, the handler stops the timer, and the next resume starts
//! it.

use std::cell::Cell;
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed, compiler_fence,
};
use std::time::Duration;

use mlua_sys as api;
use mlua_sys::lua_State;

use crate::engine::ffi::inside::Inside;
use crate::limits::{COMPILER_TICKS, STALL_TICKS, TICK_ALERT, TICK_IDLE, TICK_SLOW};

/// The number of our realtime signal: beyond those that C libraries and debuggers use.
const SIGNAL_OFFSET: c_int = 9;

unsafe extern "C-unwind" {
    /// Whether the running coroutine may yield here; mlua-sys does not declare it.
    fn lua_isyieldable(state: *mut lua_State) -> c_int;
}

/// The time that a resume used. Plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    /// Half slices, sampled.
    pub(crate) ticks: u32,
    /// Whether Lua's hook was set meanwhile.
    pub(crate) hooked: bool,
    pub(crate) stalled: bool,
}

thread_local! {
    // Nothing here has a destructor, so the handler may read it at any time.
    static CURRENT: AtomicPtr<Watch> = const { AtomicPtr::new(ptr::null_mut()) };
    /// Half the slice for which the timer runs; 0 while it is stopped.
    static PERIOD_NS: AtomicU64 = const { AtomicU64::new(0) };
    /// The number of these periods from one tick to the next.
    static PACE: AtomicU32 = const { AtomicU32::new(1) };
    /// Ticks until the timer becomes slow again.
    static ALERT_TICKS: AtomicU32 = const { AtomicU32::new(0) };
    /// Periods without a running page.
    static IDLE_PERIODS: AtomicU32 = const { AtomicU32::new(0) };
    static TIMER: Cell<Option<libc::timer_t>> = const { Cell::new(None) };
    static USERS: Cell<u32> = const { Cell::new(0) };
}

/// The state that runs on a thread, as the handler and the hook know it. All accesses are on one thread, but the
/// handler may run between any two instructions.
///
/// Invariant: the state is open while the watch is used.
pub(super) struct Watch {
    state: AtomicPtr<lua_State>,
    /// Half its slice.
    period_ns: AtomicU64,
    /// The number of the current resume.
    resumes: AtomicU32,
    /// The number that the last tick saw.
    seen: AtomicU32,
    /// Half slices within the current resume, sampled.
    ticks: AtomicU32,
    /// Whether Lua's hook was set within the current resume.
    hooked: AtomicBool,
    /// Ticks since the slice ended.
    overdue: AtomicU32,
    /// Whether Lua's compiler is working.
    compiling: AtomicBool,
    /// Whether an error was raised because the page could not be interrupted otherwise.
    stalled: AtomicBool,
}

impl Watch {
    /// The watch of a state.
    ///
    /// # Safety
    /// The caller guarantees the invariant of the type.
    pub(super) unsafe fn new(state: NonNull<lua_State>) -> Self {
        Self {
            state: AtomicPtr::new(state.as_ptr()),
            period_ns: AtomicU64::new(0),
            resumes: AtomicU32::new(1),
            seen: AtomicU32::new(0),
            ticks: AtomicU32::new(0),
            hooked: AtomicBool::new(false),
            overdue: AtomicU32::new(0),
            compiling: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
        }
    }

    /// A resume begins. Returns the previous watch, because a host may run an engine of its own.
    fn begin(&self, period_ns: u64) -> *mut Watch {
        self.resumes.store(self.resumes.load(Relaxed).wrapping_add(1), Relaxed);
        self.ticks.store(0, Relaxed);
        self.overdue.store(0, Relaxed);
        self.period_ns.store(period_ns, Relaxed);
        let before = CURRENT.with(|current| current.load(Relaxed));
        CURRENT.with(|current| current.store(ptr::from_ref(self).cast_mut(), Relaxed));
        // The handler stops the timer only while there is no current watch, so from here on a running timer keeps
        // running.
        compiler_fence(SeqCst);
        require_period(period_ns);
        before
    }

    /// The resume has ended.
    ///
    /// # Safety
    /// `begin` has returned this watch for the resume, on this thread.
    #[inline]
    unsafe fn end(&self, before: *mut Watch) -> Used {
        CURRENT.with(|current| current.store(before, Relaxed));
        compiler_fence(SeqCst);
        // SAFETY: a watch from before belongs to a resume that is still under way, below this one.
        if let Some(before) = unsafe { before.as_ref() } {
            require_period(before.period_ns.load(Relaxed));
        }
        let hooked = self.hooked.load(Relaxed);
        if hooked {
            self.hooked.store(false, Relaxed);
            self.disarm();
        }
        let ticks = self.ticks.load(Relaxed);
        Used { ticks, hooked, stalled: self.stalled.swap(false, Relaxed) }
    }

    fn disarm(&self) {
        self.overdue.store(0, Relaxed);
        // SAFETY: the state is open while a watch is in use; taking the hook away only writes a few of its words.
        unsafe { api::lua_sethook(self.state.load(Relaxed), None, 0, 0) };
    }

    /// The compiler begins. It is working some instructions before this report, and after its last; an abort that comes
    /// there is overwritten, or seen at the page's next instruction.
    pub(super) fn on_compiler_begun(&self) {
        self.compiling.store(true, Relaxed);
    }

    /// The compiler has ended, successfully or not.
    pub(super) fn on_compiler_ended(&self) {
        self.compiling.store(false, Relaxed);
    }

    /// A tick came while this state ran, this many periods after the previous one.
    fn on_tick(&self, periods: u32) {
        self.ticks.store(self.ticks.load(Relaxed).wrapping_add(periods), Relaxed);
        let resumes = self.resumes.load(Relaxed);
        if self.seen.load(Relaxed) != resumes {
            self.seen.store(resumes, Relaxed);
            if periods > 1 {
                look_again();
            }
            return;
        }
        raise_timer_rate(self.period_ns.load(Relaxed));
        let overdue = self.overdue.load(Relaxed).saturating_add(1);
        self.overdue.store(overdue, Relaxed);
        // Setting a hook aborts the compiler through a word in its state. If that happens while the compiler is about
        // to finish a piece of code, the interpreter enters native code with the abort pending, which LuaJIT does not
        // expect. So the hook waits for the compiler, which takes far less than a tick.
        if self.compiling.load(Relaxed) && overdue < COMPILER_TICKS {
            return;
        }
        self.hooked.store(true, Relaxed);
        let state = self.state.load(Relaxed);
        // Taken away and set again: had a tick interrupted Lua while it switched hooks itself, this mends it.
        // SAFETY: allowed in a signal handler (it writes a few words of the state, whose thread this is).
        unsafe { api::lua_sethook(state, None, 0, 0) };
        // SAFETY: as above; `on_hook` keeps to the rules of hooks.
        unsafe { api::lua_sethook(state, Some(on_hook), api::LUA_MASKCOUNT, 1) };
    }
}

/// A state's share in the tick of its thread. The timer is deleted with the last one.
pub(super) struct Ticker {
    period_ns: u64,
}

impl Ticker {
    /// Creates the timer of this thread, unless another state has.
    pub(super) fn new(slice: Duration) -> io::Result<Self> {
        if USERS.get() == 0 {
            install_handler()?;
            TIMER.set(Some(make_timer()?));
            PERIOD_NS.with(|period| period.store(0, Relaxed));
        }
        USERS.set(USERS.get() + 1);
        let mut ticker = Self { period_ns: 0 };
        ticker.set_slice(slice);
        Ok(ticker)
    }

    /// Sets how long a resume may take, from the next one on.
    pub(super) fn set_slice(&mut self, slice: Duration) {
        self.period_ns = u64::try_from(slice.as_nanos() / 2).unwrap_or(u64::MAX).max(1);
    }

    /// Nanoseconds between two ticks: half a slice.
    pub(super) fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Runs `work` under the tick.
    pub(super) fn watched<T>(&self, watch: &Watch, work: impl FnOnce() -> T) -> (T, Used) {
        let before = watch.begin(self.period_ns);
        let result = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: it was returned for this resume.
        let used = unsafe { watch.end(before) };
        (result.unwrap_or_else(|panic| resume_unwind(panic)), used)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        USERS.set(USERS.get() - 1);
        if USERS.get() == 0
            && let Some(timer) = TIMER.take()
        {
            // SAFETY: the timer exists; a signal that is pending comes before this call returns.
            unsafe { libc::timer_delete(timer) };
        }
    }
}

fn signal_number() -> c_int {
    libc::SIGRTMIN() + SIGNAL_OFFSET
}

fn install_handler() -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeros are a valid sigaction.
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = on_signal as extern "C" fn(c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: a valid action, a handler that does only what handlers may.
    if unsafe { libc::sigaction(signal_number(), action, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the pointer is to a whole sigset_t.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: initialised by the call before.
    unsafe { libc::sigaddset(set.as_mut_ptr(), signal_number()) };
    // SAFETY: as above; the old mask is not asked for.
    let failure =
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut()) };
    if failure == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failure)) }
}

fn make_timer() -> io::Result<libc::timer_t> {
    let mut event = MaybeUninit::<libc::sigevent>::zeroed();
    // SAFETY: zeros are a valid sigevent.
    let event = unsafe { event.assume_init_mut() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = signal_number();
    // SAFETY: a call without arguments that cannot fail.
    event.sigev_notify_thread_id = unsafe { libc::gettid() };
    let mut timer = ptr::null_mut();
    // SAFETY: both pointers are to whole values.
    if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, event, &raw mut timer) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(timer)
}

/// Starts the timer of this thread, unless it runs with that period.
fn require_period(period_ns: u64) {
    if PERIOD_NS.with(|period| period.load(Relaxed)) != period_ns {
        start_timer(period_ns);
    }
}

/// Starts the timer of this thread for slices of two periods; 0 stops it.
fn start_timer(period_ns: u64) {
    IDLE_PERIODS.with(|idle| idle.store(0, Relaxed));
    ALERT_TICKS.with(|alert| alert.store(0, Relaxed));
    PERIOD_NS.with(|period| period.store(period_ns, Relaxed));
    set_pace(slow_pace(period_ns));
}

/// Periods from one tick to the next while no page runs long.
fn slow_pace(period_ns: u64) -> u32 {
    let pace = TICK_SLOW.as_nanos() / u128::from(period_ns.max(1));
    u32::try_from(pace).unwrap_or(u32::MAX).max(1)
}

/// A page was running when a tick came late: the next one comes half a slice later, to see whether it is still the same
/// page.
fn look_again() {
    be_quick(1);
}

/// A page exceeded its slice: ticks come every half slice for some time.
fn raise_timer_rate(period_ns: u64) {
    let ticks = TICK_ALERT.as_nanos() / u128::from(period_ns.max(1));
    be_quick(u32::try_from(ticks).unwrap_or(u32::MAX).max(1));
}

/// This many ticks come every half slice.
fn be_quick(ticks: u32) {
    ALERT_TICKS.with(|alert| alert.store(ticks, Relaxed));
    if PACE.with(|pace| pace.load(Relaxed)) != 1 {
        set_pace(1);
    }
}

/// One quick tick fewer; after the last one the timer is slow.
fn calm_down() {
    let alert = ALERT_TICKS.with(|alert| alert.load(Relaxed)).saturating_sub(1);
    ALERT_TICKS.with(|ticks| ticks.store(alert, Relaxed));
    let pace = slow_pace(PERIOD_NS.with(|period| period.load(Relaxed)));
    if alert == 0 && PACE.with(|current| current.load(Relaxed)) != pace {
        set_pace(pace);
    }
}

/// Sets the timer of this thread to tick every so many periods.
fn set_pace(pace: u32) {
    let Some(timer) = TIMER.get() else { return };
    PACE.with(|current| current.store(pace, Relaxed));
    let period_ns = PERIOD_NS.with(|period| period.load(Relaxed)).saturating_mul(u64::from(pace));
    let period = libc::timespec {
        tv_sec: (period_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (period_ns % 1_000_000_000).cast_signed(),
    };
    let setting = libc::itimerspec { it_interval: period, it_value: period };
    // SAFETY: the timer exists, the setting is valid, the old one is not asked for. Allowed in signal handlers.
    unsafe { libc::timer_settime(timer, 0, &raw const setting, ptr::null_mut()) };
}

extern "C" fn on_signal(_: c_int) {
    // SAFETY: the address of this thread's errno.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: valid as long as the thread.
    let errno = unsafe { *place };
    let watch = CURRENT.with(|current| current.load(Relaxed));
    let periods = PACE.with(|pace| pace.load(Relaxed));
    calm_down();
    // SAFETY: a current watch belongs to a state that runs on this thread, below this handler.
    match unsafe { watch.as_ref() } {
        Some(watch) => {
            IDLE_PERIODS.with(|idle| idle.store(0, Relaxed));
            watch.on_tick(periods);
        }
        None => on_idle_tick(periods),
    }
    // SAFETY: as above.
    unsafe { *place = errno };
}

fn on_idle_tick(periods: u32) {
    let idle = IDLE_PERIODS.with(|idle| idle.load(Relaxed)).saturating_add(periods);
    IDLE_PERIODS.with(|ticks| ticks.store(idle, Relaxed));
    let period_ns = PERIOD_NS.with(|period| period.load(Relaxed));
    if u128::from(period_ns) * u128::from(idle) >= TICK_IDLE.as_nanos() {
        start_timer(0);
    }
}

/// Lua's hook: yields, or waits for a point where it can.
unsafe extern "C-unwind" fn on_hook(state: *mut lua_State, _: *mut api::lua_Debug) {
    let watch = CURRENT.with(|current| current.load(Relaxed));
    // SAFETY: the hook is set while its watch is current, whose state called us.
    let Some(watch) = (unsafe { watch.as_ref() }) else { return };
    // SAFETY: Lua called us with its running coroutine.
    if unsafe { lua_isyieldable(state) } != 0 {
        watch.disarm();
        // SAFETY: allowed in a count hook with no values; it leaves this frame, where nothing is to be dropped.
        unsafe { api::lua_yield(state, 0) };
    } else if watch.overdue.load(Relaxed) > STALL_TICKS {
        // The hook stays: if the page catches the error, it yields at the next instruction where it can.
        watch.overdue.store(0, Relaxed);
        watch.stalled.store(true, Relaxed);
        let state = NonNull::new(state).expect("Lua calls with a state");
        // SAFETY: Lua called us with it, and nothing uses it after this.
        let inside = unsafe { Inside::of(state) };
        inside.raise("the page ran for too long where it cannot be interrupted");
    }
}

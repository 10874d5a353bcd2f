//! Standard error for threads that must not wait for its reader.
//!
//! Owns the lines that wait to be written, and the one thread that may wait with them. Never
//! decides what is logged.
//!
//! A line is written immediately if nothing waits before it and there is room. So it appears before
//! whatever its thread does next, as long as somebody reads. Otherwise it goes to the thread of the
//! outlet. Lines of one thread stay in order. This uses a channel of the standard library instead
//! of a mailbox, because any thread may write a line, including threads without an endpoint, and
//! nobody waits for an answer.

use std::io::{self, IsTerminal, Write};
// Not on a scheduler: it is set before they run. After that, reading it is one load.
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use sys::log_file::LogFile;

use crate::limits::{
    OUTLET_BYTES, OUTLET_DIRECT_BYTES, OUTLET_END_PAUSE, OUTLET_END_TRIES, OUTLET_READER_WAIT,
};

static OUTLET: OnceLock<Outlet> = OnceLock::new();

/// The waiting lines and the state of the writer.
struct Outlet {
    sender: Sender<Waiting>,
    /// Bytes of the waiting lines.
    waiting_bytes: AtomicUsize,
    /// Lines lost since the last report of lost lines.
    lost: AtomicU64,
    /// A thread is writing.
    is_taken: AtomicBool,
    /// A terminal may have room for some bytes but not for a whole line.
    is_terminal: bool,
}

/// A waiting line.
struct Waiting {
    line: String,
    /// Lines lost before this one.
    lost: u64,
}

/// Lines that were lost before the outlet was opened.
static LOST_EARLY: AtomicU64 = AtomicU64::new(0);

/// Starts the outlet: from now on no thread blocks when it writes a line.
///
/// # Errors
/// If its thread cannot be started. Lines are then written as before.
pub fn open() -> io::Result<()> {
    let (sender, receiver) = channel();
    let outlet = Outlet {
        sender,
        waiting_bytes: AtomicUsize::new(0),
        lost: AtomicU64::new(LOST_EARLY.swap(0, SeqCst)),
        is_taken: AtomicBool::new(false),
        is_terminal: io::stderr().is_terminal(),
    };
    if OUTLET.set(outlet).is_err() {
        return Ok(());
    }
    // The thread ends with the process.
    thread::Builder::new().name("errors".to_owned()).spawn(move || run(&receiver)).map(drop)
}

/// Writes a line, at once or as soon as there is room.
pub(crate) fn write(line: String) {
    let Some(outlet) = OUTLET.get() else { return write_by_itself(&line) };
    if !outlet.write_at_once(&line) {
        outlet.put(line);
    }
}

/// Writes a line without the outlet, at the beginning and at the end of the process. Waits only a short time for the
/// reader; then the line is lost.
pub fn write_by_itself(line: &str) {
    // It may be the line that says that no descriptor is left.
    let Ok(log) = LogFile::standard_error() else { return write_now(line) };
    // A reader that did not take one line is not waited for with the next.
    let most = if LOST_EARLY.load(SeqCst) > 0 { Duration::ZERO } else { OUTLET_READER_WAIT };
    if write_patiently(&log, line, most).is_err() {
        LOST_EARLY.fetch_add(1, SeqCst);
    }
}

/// Writes a text to standard output. Waits only a short time for the reader.
///
/// # Errors
/// The result of `write`; `WouldBlock` if nobody has made room in time.
pub fn print(text: &str) -> io::Result<()> {
    write_patiently(&LogFile::standard_output()?, text, OUTLET_READER_WAIT)
}

fn write_patiently(log: &LogFile, text: &str, most: Duration) -> io::Result<()> {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        if !log.wait_for_room(most) {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "nobody reads it"));
        }
        let count = log.write(rest)?;
        rest = rest.get(count..).unwrap_or_default();
    }
    Ok(())
}

/// At the end of the process, waits a short time until the waiting lines are written.
pub fn finish() {
    let Some(outlet) = OUTLET.get() else { return };
    for _ in 0..OUTLET_END_TRIES {
        if outlet.waiting_bytes.load(SeqCst) == 0 && !outlet.is_taken.load(SeqCst) {
            return;
        }
        // Not on a scheduler: they have ended.
        thread::sleep(OUTLET_END_PAUSE);
    }
}

impl Outlet {
    /// Writes a line at once if no other line waits and there is room.
    fn write_at_once(&self, line: &str) -> bool {
        if line.len() > OUTLET_DIRECT_BYTES || self.is_terminal || !self.take() {
            return false;
        }
        // Read while no other thread can write: lines that this thread queued count until they are written.
        let is_free = self.waiting_bytes.load(SeqCst) == 0
            && self.lost.load(SeqCst) == 0
            && sys::descriptor::has_room(&io::stderr());
        if is_free {
            write_now(line);
        }
        self.is_taken.store(false, SeqCst);
        is_free
    }

    /// Becomes the writer, unless another thread is.
    fn take(&self) -> bool {
        self.is_taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok()
    }

    /// Queues a line for the thread that may block, if there is room for its bytes.
    fn put(&self, line: String) {
        let bytes = cost(&line);
        if self.waiting_bytes.fetch_add(bytes, SeqCst) + bytes > OUTLET_BYTES {
            self.waiting_bytes.fetch_sub(bytes, SeqCst);
            self.lost.fetch_add(1, SeqCst);
            return;
        }
        let lost = self.lost.swap(0, SeqCst);
        // The receiving thread ends only with the process.
        let _sent = self.sender.send(Waiting { line, lost });
    }
}

/// The bytes that a waiting line is charged.
fn cost(line: &str) -> usize {
    line.len() + size_of::<Waiting>()
}

/// The thread that may block.
fn run(receiver: &Receiver<Waiting>) {
    let Some(outlet) = OUTLET.get() else { return };
    while let Ok(Waiting { line, lost }) = receiver.recv() {
        while !outlet.take() {
            // Another thread is writing a line, which takes no time.
            thread::yield_now();
        }
        write_loss(lost);
        write_now(&line);
        let before = outlet.waiting_bytes.fetch_sub(cost(&line), SeqCst);
        if before == cost(&line) {
            write_loss(outlet.lost.swap(0, SeqCst));
        }
        outlet.is_taken.store(false, SeqCst);
    }
}

fn write_loss(lost: u64) {
    if lost > 0 {
        let lines = if lost == 1 { "line is" } else { "lines are" };
        write_now(&format!(
            "velodrome: warn: {lost} {lines} lost here: standard error was not read\n"
        ));
    }
}

/// In one write, so that lines of several processes do not mix. If standard error is closed there is nowhere to report
/// it.
fn write_now(line: &str) {
    let _nobody_to_tell = io::stderr().write_all(line.as_bytes());
}

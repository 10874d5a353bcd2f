//! Helper threads: blocking work, separate from the schedulers.
//!
//! Owns the loop of such a thread: take messages, handle them, sleep until woken. A helper returns
//! bytes and results, never descriptors, because its descriptor table is not the scheduler's.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::limits::{FULL_RING_PAUSE, FULL_RING_TRIES};
use crate::mailbox::{Endpoint, Mailbox, Seat};

/// What a helper does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// Wait for the next message.
    Wait,
    /// End the thread.
    Stop,
}

/// Something that handles messages and may block meanwhile.
pub trait Handle<M> {
    /// A message came.
    fn on_message(&mut self, from: Endpoint, message: M, mailbox: &mut Mailbox<M>) -> Onward;

    /// All messages that waited were handled, or the time it wanted to rest is over: do what is done for many at once. Gives how long it rests at
    /// most if no message comes; `None` for as long as that takes.
    fn on_rest(&mut self, _mailbox: &mut Mailbox<M>) -> Option<Duration> {
        None
    }
}

/// Starts a helper thread with that name.
///
/// # Errors
/// When the thread cannot be started.
pub fn spawn<M, H>(
    name: &str,
    seat: Seat<M>,
    make: impl FnOnce() -> H + Send + 'static,
) -> io::Result<JoinHandle<()>>
where
    M: Send + 'static,
    H: Handle<M>,
{
    std::thread::Builder::new().name(name.to_owned()).spawn(move || run(seat, make()))
}

/// Sends a message from a thread that may block: while the ring is full it wakes who is to empty it, and tries again.
///
/// # Errors
/// Gives the message back when there was no room in [`FULL_RING_TRIES`] tries.
pub fn send_patiently<M: Send>(
    mailbox: &mut Mailbox<M>,
    to: Endpoint,
    mut message: M,
) -> Result<(), M> {
    for _ in 0..FULL_RING_TRIES {
        let sent = mailbox.send(to, message);
        mailbox.flush();
        match sent {
            Ok(()) => return Ok(()),
            Err(back) => message = back,
        }
        // Not on a scheduler: nobody tells a sender that there is room, as a ring is emptied by each turn of its owner.
        std::thread::sleep(FULL_RING_PAUSE);
    }
    Err(message)
}

fn run<M: Send, H: Handle<M>>(seat: Seat<M>, mut handler: H) {
    let Seat { mut mailbox, wake } = seat;
    let wake = wake.expect("a helper thread's mesh has wake descriptors");
    loop {
        if drain(&mut mailbox, &mut handler) == Onward::Stop {
            return;
        }
        // A handler that panics here rests until the next message, which calls it again.
        let rest = catch_unwind(AssertUnwindSafe(|| handler.on_rest(&mut mailbox)));
        mailbox.flush();
        if mailbox.prepare_to_sleep() {
            wake.wait(rest.unwrap_or(None));
            mailbox.wake_up();
            wake.drain();
        }
    }
}

/// Handles everything that waits. A handler that panics loses its message, not its thread.
fn drain<M: Send, H: Handle<M>>(mailbox: &mut Mailbox<M>, handler: &mut H) -> Onward {
    let mut from = 0;
    while let Some((sender, message)) = mailbox.take(&mut from) {
        let handled =
            catch_unwind(AssertUnwindSafe(|| handler.on_message(sender, message, mailbox)));
        mailbox.flush();
        if matches!(handled, Ok(Onward::Stop)) {
            return Onward::Stop;
        }
    }
    Onward::Wait
}

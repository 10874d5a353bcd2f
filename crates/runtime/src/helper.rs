//! Helper threads: blocking work, separate from the schedulers.
//!
//! Owns the loop of such a thread: take messages, handle them, sleep until woken. A helper returns
//! bytes and results, never descriptors, because its descriptor table is not the scheduler's.

use std::convert::Infallible;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::limits::{FULL_RING_PAUSE, FULL_RING_TRIES};
use crate::mailbox::{Endpoint, Mailbox, MailboxSeat};

/// The next step of a helper after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// Wait for the next message.
    Wait,
    /// End the thread.
    Stop,
}

/// A handler of messages that may block.
pub trait HelperHandler<M> {
    /// Handles a message.
    fn on_message(&mut self, from: Endpoint, message: M, mailbox: &mut Mailbox<M>) -> Onward;

    /// Called when all waiting messages were handled, or when the last rest is over: the place for work that covers
    /// many messages at once. Returns how long to rest at most if no message arrives; `None` rests until one does.
    fn on_rest(&mut self, _mailbox: &mut Mailbox<M>) -> Option<Duration> {
        None
    }
}

/// A helper's thread.
#[derive(Debug)]
pub struct HelperThread {
    thread: JoinHandle<()>,
    /// Closed when the thread has ended, however it ended.
    ended: Receiver<Infallible>,
}

impl HelperThread {
    /// Waits until the helper has ended, at most this long. `false`: it still runs.
    pub fn wait(&self, most: Duration) -> bool {
        matches!(self.ended.recv_timeout(most), Err(RecvTimeoutError::Disconnected))
    }

    /// Waits until the helper has ended.
    ///
    /// # Errors
    /// If it panicked: what it panicked with.
    pub fn join(self) -> thread::Result<()> {
        self.thread.join()
    }
}

/// Starts a helper thread with this name.
///
/// # Errors
/// When the thread cannot be started.
pub fn spawn<M, H>(
    name: &str,
    seat: MailboxSeat<M>,
    make: impl FnOnce() -> H + Send + 'static,
) -> io::Result<HelperThread>
where
    M: Send + 'static,
    H: HelperHandler<M>,
{
    let (alive, ended) = channel();
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _alive: Sender<Infallible> = alive;
        run(seat, make());
    });
    Ok(HelperThread { thread: spawned?, ended })
}

/// Sends a message from a thread that may block. While the ring is full it wakes the receiver and tries again.
///
/// # Errors
/// Gives the message back if there was no room in [`FULL_RING_TRIES`] tries.
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
        // Not on a scheduler: a sender is not told when there is room, because the owner of the ring empties it in
        // every turn.
        std::thread::sleep(FULL_RING_PAUSE);
    }
    Err(message)
}

fn run<M: Send, H: HelperHandler<M>>(seat: MailboxSeat<M>, mut handler: H) {
    let MailboxSeat { mut mailbox, wake } = seat;
    let wake = wake.expect("a helper thread's mesh has wake descriptors");
    loop {
        if drain(&mut mailbox, &mut handler) == Onward::Stop {
            return;
        }
        // If the handler panics here, it rests until the next message, which calls it again.
        let rest = catch_unwind(AssertUnwindSafe(|| handler.on_rest(&mut mailbox)));
        if mailbox.sleep(|| wake.wait(rest.unwrap_or(None))).is_some() {
            wake.drain();
        }
    }
}

/// Handles every waiting message. A handler that panics loses its message, not its thread.
fn drain<M: Send, H: HelperHandler<M>>(mailbox: &mut Mailbox<M>, handler: &mut H) -> Onward {
    while let Some((sender, message)) = mailbox.take() {
        let handled =
            catch_unwind(AssertUnwindSafe(|| handler.on_message(sender, message, mailbox)));
        mailbox.flush();
        if matches!(handled, Ok(Onward::Stop)) {
            return Onward::Stop;
        }
    }
    Onward::Wait
}

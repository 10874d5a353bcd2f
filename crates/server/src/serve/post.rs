//! Messages of the main thread to the other threads.
//!
//! Owns the main thread's mailbox. Never decides what is sent.

use runtime::diagnostic::{self, Level};
use runtime::helper::send_patiently;
use runtime::mailbox::{Endpoint, MailboxSeat};

use crate::message::{Mailbox, Message, ToControl, ToScheduler};

pub(super) fn endpoint(number: usize) -> Endpoint {
    Endpoint(u16::try_from(number).expect("endpoints are numbered in u16"))
}

/// The main thread's connection to the other threads.
pub(super) struct Post {
    mailbox: Mailbox,
    schedulers: usize,
    /// The control scheduler, if there is one.
    control: Option<Endpoint>,
}

impl Post {
    /// The connection of this seat to so many schedulers, and to the control scheduler if there is one.
    pub(super) fn new(
        seat: MailboxSeat<Message>,
        schedulers: usize,
        control: Option<Endpoint>,
    ) -> Self {
        Self { mailbox: seat.mailbox, schedulers, control }
    }

    /// All schedulers except the control scheduler.
    pub(super) fn schedulers(&self) -> impl Iterator<Item = Endpoint> + use<> {
        (0..self.schedulers).map(endpoint)
    }

    pub(super) fn tell_control(&mut self, message: ToControl) {
        if let Some(control) = self.control {
            self.send(control, message);
        }
    }

    /// Asks the schedulers to give memory back. One that has no room for the message works, and is asked again later.
    pub(super) fn ask_for_memory(&mut self) {
        for scheduler in self.schedulers() {
            let _later = self.mailbox.send(scheduler, ToScheduler::GiveMemoryBack.into());
        }
        self.mailbox.flush();
    }

    pub(super) fn send(&mut self, to: Endpoint, message: impl Into<Message>) {
        if send_patiently(&mut self.mailbox, to, message.into()).is_err() {
            let text =
                "is not told: it has not taken a message for seconds; is its core taken away?";
            diagnostic::write(Level::Error, format_args!("endpoint {} {text}", to.0));
        }
    }
}

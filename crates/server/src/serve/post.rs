//! Messages of the main thread to the other threads.
//!
//! Owns the main thread's mailbox. Never decides what is sent.

use runtime::diagnostic::{self, Level};
use runtime::helper::send_patiently;
use runtime::mailbox::{Endpoint, Mailbox};

use crate::message::{Message, ToControl};

pub(super) fn endpoint(number: usize) -> Endpoint {
    Endpoint(u16::try_from(number).expect("endpoints are numbered in u16"))
}

/// The main thread's connection to the other threads.
pub(super) struct Post {
    pub(super) mailbox: Mailbox<Message>,
    pub(super) schedulers: usize,
    /// The control scheduler, if there is one.
    pub(super) control: Option<Endpoint>,
}

impl Post {
    /// All schedulers except the control scheduler.
    pub(super) fn schedulers(&self) -> impl Iterator<Item = Endpoint> + use<> {
        (0..self.schedulers).map(endpoint)
    }

    pub(super) fn tell_control(&mut self, message: ToControl) {
        if let Some(control) = self.control {
            self.send(control, message);
        }
    }

    pub(super) fn send(&mut self, to: Endpoint, message: impl Into<Message>) {
        if send_patiently(&mut self.mailbox, to, message.into()).is_err() {
            let text =
                "is not told: it has not taken a message for seconds; is its core taken away?";
            diagnostic::write(Level::Error, format_args!("endpoint {} {text}", to.0));
        }
    }
}

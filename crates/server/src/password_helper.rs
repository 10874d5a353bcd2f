//! The password helper: the thread on which passwords are verified, one after the other.
//!
//! Owns nothing between two checks. One thread, because a check may take much memory: guesses of strangers occupy it,
//! and neither schedulers nor lookups of files.

use runtime::helper::{HelperHandler, Onward, send_patiently};
use runtime::mailbox::Endpoint;

use crate::message::{Mailbox, Message, ToScheduler};

pub(crate) struct PasswordHelper;

impl HelperHandler<Message> for PasswordHelper {
    fn on_message(&mut self, from: Endpoint, message: Message, mailbox: &mut Mailbox) -> Onward {
        let Message::PasswordHelper(check) = message else { return Onward::Wait };
        let answer = ToScheduler::Password(check.carry_out());
        // If there is no receiver, a request that waits for it reaches its answer deadline.
        let _nobody_turns = send_patiently(mailbox, from, answer.into());
        Onward::Wait
    }
}

//! A name helper: the thread on which names of hosts are looked up, which may take many seconds.
//!
//! Owns nothing. Apart from the file helpers, so that no file waits for a name.

use runtime::helper::{Handle, Onward, send_patiently};
use runtime::mailbox::{Endpoint, Mailbox};

use crate::fetch::resolve;
use crate::message::Message;

/// One name helper.
#[derive(Debug)]
pub struct NameHelper;

impl Handle<Message> for NameHelper {
    fn on_message(
        &mut self,
        from: Endpoint,
        message: Message,
        mailbox: &mut Mailbox<Message>,
    ) -> Onward {
        let Message::Resolve(name) = message else { return Onward::Wait };
        let found = resolve(&name);
        // Given back, it has nobody to go to: who waits for it meets his deadline.
        let _nobody_turns = send_patiently(mailbox, from, Message::Resolved(name, found));
        Onward::Wait
    }
}

//! A name helper: the thread that resolves host names, which may take many seconds.
//!
//! Owns nothing. Separate from the file helpers, so that no file waits for a name.

use runtime::helper::{HelperHandler, Onward, send_patiently};
use runtime::mailbox::{Endpoint, Mailbox};

use crate::names::{FoundAddresses, NameLookup, resolve};

/// One name helper.
#[derive(Debug)]
pub struct NameHelper;

/// A host name and its addresses.
pub type ResolvedName = (NameLookup, FoundAddresses);

impl<M> HelperHandler<M> for NameHelper
where
    M: Send + TryInto<NameLookup> + From<ResolvedName>,
{
    fn on_message(&mut self, from: Endpoint, message: M, mailbox: &mut Mailbox<M>) -> Onward {
        let Ok(name) = message.try_into() else { return Onward::Wait };
        let found = resolve(&name);
        // A result that cannot be sent is dropped: the request that waits for it reaches its deadline.
        let _nobody_turns = send_patiently(mailbox, from, M::from((name, found)));
        Onward::Wait
    }
}

//! Messages that pages publish to channels.
//!
//! Owns the messages of a turn until the site takes them, and the immediate result for the page.
//! Never numbers a message: its channel does.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use channels::{Payload, Rulebook, ServerRight, check_name};
use script::engine::PublishedValue;

use crate::limits::PUBLISHED_BYTES;

/// A message of a page.
#[derive(Debug)]
pub struct Publication {
    /// The right of the server to publish it, whose channel has its rules already.
    pub right: ServerRight<Box<str>>,
    /// The message.
    pub body: Payload,
}

/// The messages that the pages of a scheduler have published in this turn.
#[derive(Debug, Default)]
pub struct Publications {
    rulebook: RefCell<Arc<Rulebook>>,
    queue: RefCell<Vec<Publication>>,
    bytes: Cell<usize>,
}

impl Publications {
    /// Sets the current rules.
    pub fn set_rulebook(&self, rulebook: Arc<Rulebook>) {
        self.rulebook.replace(rulebook);
    }

    /// A page publishes.
    ///
    /// # Errors
    /// The reason, for the page.
    pub(crate) fn publish(&self, name: &[u8], value: PublishedValue<'_>) -> Result<(), String> {
        let name = check_name(name).map_err(|problem| problem.to_string())?;
        let body = match value {
            PublishedValue::Text(bytes) => Payload::of_bytes(bytes),
            PublishedValue::Json(text) => {
                Payload::of_json_of_page(text).map_err(|error| error.to_string())?
            }
        };
        let size = body.bytes().len();
        let rulebook = self.rulebook.borrow();
        let right = rulebook.server_right::<Box<str>>(name.into());
        let most = rulebook.policy(right.rule()).map_or(0, |rules| rules.message_size);
        if size as u64 > most {
            return Err(format!("the message has {size} bytes, and its channel takes {most}"));
        }
        // An empty message is work too.
        let bytes = self.bytes.get() + size + name.len();
        if bytes > PUBLISHED_BYTES {
            return Err("too much is published at once; wait a moment".to_owned());
        }
        self.bytes.set(bytes);
        self.queue.borrow_mut().push(Publication { right, body });
        Ok(())
    }

    /// The messages published since the last call.
    pub fn take(&self) -> Vec<Publication> {
        self.bytes.set(0);
        self.queue.take()
    }
}

#[cfg(test)]
mod tests {
    use channels::{ChannelGlob, ChannelPolicy};

    use super::*;

    #[test]
    fn a_page_is_told_at_once_what_is_wrong() {
        let publications = Publications::default();
        let small = ChannelPolicy { message_size: 3, ..ChannelPolicy::default() };
        publications.set_rulebook(Arc::new(Rulebook::new([(ChannelGlob::new("small"), small)])));
        let publish =
            |name: &[u8], text: &[u8]| publications.publish(name, PublishedValue::Text(text));
        assert_eq!(publish(b"small", b"abc"), Ok(()));
        assert!(publish(b"small", b"abcd").unwrap_err().contains("its channel takes 3"));
        assert!(publish(b"", b"a").is_err() && publish(b"a b", b"a").is_err());
        let long = vec![b'x'; 60_000];
        let taken = (0..100).take_while(|_| publish(b"a", &long).is_ok()).count();
        assert_eq!(taken, (PUBLISHED_BYTES - 8) / 60_001);
        assert_eq!(publications.take().len(), taken + 1);
        assert_eq!(publish(b"a", &long), Ok(()), "the next turn has room again");
    }
}

//! Messages and results with a number of a stream, which wait until the epoch of the stream is known.
//!
//! Owns how many of them there may be. Never knows an epoch.

use std::sync::Arc;

use channels::Payload;

use crate::limits::{HELD, HELD_BYTES};

/// Something with a number of a stream.
#[derive(Debug)]
pub(crate) enum Numbered {
    /// A message was added.
    Added { name: Arc<str>, number: u64, before: u64, body: Payload },
    /// A commit has this number, or had it already.
    Result { order: u64, number: u64, is_repeated: bool },
}

/// The messages and results that wait for the epoch of a stream.
#[derive(Debug, Default)]
pub(crate) struct Held {
    line: Vec<Numbered>,
    bytes: usize,
}

impl Held {
    /// Takes one. `false`: there is no room.
    pub(crate) fn take(&mut self, numbered: Numbered) -> bool {
        let bytes = match &numbered {
            Numbered::Added { name, body, .. } => name.len() + body.bytes().len(),
            Numbered::Result { .. } => 0,
        };
        let has_room = self.line.len() < HELD && self.bytes + bytes <= HELD_BYTES;
        if has_room {
            self.bytes += bytes;
            self.line.push(numbered);
        }
        has_room
    }

    /// All of them, in order.
    pub(crate) fn release(self) -> Vec<Numbered> {
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_wait_are_bounded_by_their_number_and_bytes() {
        let added = |number| {
            let body = Payload::of_binary(&[0; 64 * 1024]);
            Numbered::Added { name: "a".into(), number, before: 0, body }
        };
        let result = |order| Numbered::Result { order, number: order, is_repeated: false };
        let mut held = Held::default();
        assert_eq!((1..100).filter(|number| held.take(added(*number))).count(), 63);
        assert_eq!((1..20_000).filter(|order| held.take(result(*order))).count(), HELD - 63);
        assert_eq!(held.release().len(), HELD);
    }
}

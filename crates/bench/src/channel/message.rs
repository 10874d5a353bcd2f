//! A message: its due time, its run, its publisher, its number, and padding.
//!
//! Owns its text, which is UTF-8, and the number that it has among those of all publishers.

use serde::{Deserialize, Serialize};

use crate::limits::CHANNEL_MESSAGE_MINIMUM;

/// Digits of the time, of the run, of the publisher and of the number.
const TIME_DIGITS: usize = 16;
const RUN_DIGITS: usize = 4;
const PUBLISHER_DIGITS: usize = 2;
const NUMBER_DIGITS: usize = 10;

/// The shortest message.
const LEAST_BYTES: usize = TIME_DIGITS + RUN_DIGITS + PUBLISHER_DIGITS + NUMBER_DIGITS;

const _: () = assert!(LEAST_BYTES == CHANNEL_MESSAGE_MINIMUM);

/// Which message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageName {
    /// Its publisher, among those of all generators.
    pub publisher: u8,
    /// Its number among those of its publisher, from 0.
    pub number: u64,
}

impl MessageName {
    /// Its place if the publishers send in turn.
    pub(super) fn place(self, publishers: usize) -> usize {
        let number = usize::try_from(self.number).unwrap_or(usize::MAX);
        number.saturating_mul(publishers).saturating_add(usize::from(self.publisher))
    }

    /// The message at a place.
    pub(super) fn at(place: usize, publishers: usize) -> Self {
        let publishers = publishers.max(1);
        let publisher = u8::try_from(place % publishers).unwrap_or(u8::MAX);
        Self { publisher, number: (place / publishers) as u64 }
    }
}

/// A message as it is sent. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamped {
    /// When it was due, by the clock of its publisher's host.
    pub(crate) due_ns: u64,
    /// The run that it belongs to: others may use the channel, also an earlier run.
    pub(crate) run: u16,
    pub(crate) name: MessageName,
}

impl Stamped {
    /// The message with this many bytes.
    pub(super) fn text(self, size: usize) -> String {
        let Self { due_ns, run, name: MessageName { publisher, number } } = self;
        let mut text = format!("{due_ns:016x}{run:04x}{publisher:02x}{number:010}");
        text.extend(std::iter::repeat_n('x', size.saturating_sub(text.len())));
        text
    }

    /// Reads a message; `None` for one of another program.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text.get(..LEAST_BYTES)?).ok()?;
        let (time, rest) = text.split_at_checked(TIME_DIGITS)?;
        let (run, rest) = rest.split_at_checked(RUN_DIGITS)?;
        let (publisher, number) = rest.split_at_checked(PUBLISHER_DIGITS)?;
        Some(Self {
            due_ns: u64::from_str_radix(time, 16).ok()?,
            run: u16::from_str_radix(run, 16).ok()?,
            name: MessageName {
                publisher: u8::from_str_radix(publisher, 16).ok()?,
                number: number.parse().ok()?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let name = MessageName { publisher: 200, number: 42 };
        let stamped = Stamped { due_ns: 0xabc, run: 0xfedc, name };
        let text = stamped.text(100);
        assert_eq!((text.len(), Stamped::read(text.as_bytes())), (100, Some(stamped)));
        let name = MessageName { publisher: 255, number: 9_999_999_999 };
        assert_eq!(Stamped { due_ns: u64::MAX, run: 1, name }.text(10).len(), LEAST_BYTES);
        assert_eq!(Stamped::read(b"hello"), None);
        assert_eq!(Stamped::read(&[b'x'; 100]), None);
    }

    #[test]
    fn a_place_names_its_message() {
        let name = MessageName { publisher: 2, number: 7 };
        assert_eq!((name.place(3), MessageName::at(23, 3)), (23, name));
    }
}

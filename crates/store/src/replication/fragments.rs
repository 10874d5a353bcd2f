//! Messages in parts, because a transport bounds what it takes at once.
//!
//! Owns how a message is cut and put together. A message of which a part is missing is dropped: everything that matters
//! is asked for again.

use std::collections::VecDeque;

use super::bytes::ByteReader;
use super::talk::ReplicationPeer;
use crate::limits::{FRAGMENT_SIZE, MESSAGE_MOST, SENDERS};

/// Bytes in front of each part: the sender, the number of its message, the place of the part, and the length of all.
const HEAD: usize = 24;

/// Cuts a message. The numbers of a sender's messages grow.
pub(crate) fn cut(from: ReplicationPeer, number: u64, message: &[u8]) -> Vec<Vec<u8>> {
    let length = u32::try_from(message.len()).expect("messages are limited");
    let parts = message.chunks(FRAGMENT_SIZE);
    let mut at: u32 = 0;
    let with_head = |part: &[u8]| {
        let mut out = Vec::with_capacity(HEAD + part.len());
        out.extend_from_slice(&from.0.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&at.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(part);
        at += part.len() as u32;
        out
    };
    parts.map(with_head).collect()
}

/// A message of which some parts are here.
#[derive(Debug)]
struct Partial {
    from: ReplicationPeer,
    number: u64,
    length: usize,
    bytes: Vec<u8>,
}

/// Puts messages together, one of each sender at a time.
#[derive(Debug, Default)]
pub(crate) struct Assembly(VecDeque<Partial>);

impl Assembly {
    /// Takes a part. Returns the message if it is whole.
    pub(crate) fn take(&mut self, part: &[u8]) -> Option<Vec<u8>> {
        let mut reader = ByteReader::new(part);
        let (from, number) = (ReplicationPeer(reader.u64().ok()?), reader.u64().ok()?);
        let (at, length) = (reader.u32().ok()? as usize, reader.u32().ok()? as usize);
        let part = reader.rest();
        let known = self.0.iter().position(|partial| partial.from == from);
        if at == 0 {
            if let Some(known) = known {
                self.0.remove(known);
            }
            if length > MESSAGE_MOST || part.len() > length {
                return None;
            }
            if part.len() == length {
                return Some(part.to_vec());
            }
            if self.0.len() >= SENDERS {
                self.0.pop_front();
            }
            self.0.push_back(Partial { from, number, length, bytes: part.to_vec() });
            return None;
        }
        let known = known?;
        let partial = &mut self.0[known];
        let is_next = partial.number == number
            && partial.length == length
            && partial.bytes.len() == at
            && part.len() <= length - at;
        if !is_next {
            // A part that came twice changes nothing; after a missing one nothing fits any more.
            return None;
        }
        partial.bytes.extend_from_slice(part);
        if partial.bytes.len() < length {
            return None;
        }
        self.0.remove(known).map(|partial| partial.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: ReplicationPeer = ReplicationPeer(7);

    fn message(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn a_message_of_any_length_is_put_together_again() {
        let mut assembly = Assembly::default();
        for length in [1, FRAGMENT_SIZE, FRAGMENT_SIZE + 1, 3 * FRAGMENT_SIZE] {
            let message = message(length);
            let parts = cut(FROM, length as u64, &message);
            assert_eq!(parts.len(), length.div_ceil(FRAGMENT_SIZE));
            let (last, others) = parts.split_last().unwrap();
            for part in others {
                assert_eq!(assembly.take(part), None);
                // It comes again.
                assert_eq!(assembly.take(part), None);
            }
            assert_eq!(assembly.take(last), Some(message));
        }
    }

    #[test]
    fn a_message_without_one_of_its_parts_is_dropped() {
        let mut assembly = Assembly::default();
        let parts = cut(FROM, 1, &message(3 * FRAGMENT_SIZE));
        assert_eq!(assembly.take(&parts[0]), None);
        assert_eq!(assembly.take(&parts[2]), None);
        let other = cut(FROM, 2, &message(2 * FRAGMENT_SIZE));
        assert_eq!(assembly.take(&other[0]), None);
        assert_eq!(assembly.take(&parts[1]), None);
        assert!(assembly.take(&other[1]).is_some());
    }

    #[test]
    fn memory_for_parts_is_bounded() {
        let mut assembly = Assembly::default();
        let message = message(FRAGMENT_SIZE + 1);
        for sender in 0..1_000 {
            let parts = cut(ReplicationPeer(sender), 1, &message);
            assert_eq!(assembly.take(&parts[0]), None);
        }
        assert_eq!(assembly.0.len(), SENDERS);
        let mut huge = cut(FROM, 1, b"x").remove(0);
        huge[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!((assembly.take(&huge), assembly.take(b"short")), (None, None));
    }
}

//! One number for everything that happened in a world, to compare two runs.
//!
//! Owns how events are hashed into it. Keeps no log: if two runs differ, run them side by side.

use super::random::scramble;

/// The kinds of events that are hashed; the discriminant is part of the fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    Advanced = 1,
    Connected,
    ClientSent,
    ClientEnded,
    ClientReset,
    ClientClosed,
    ClientStalled,
    ClientTook,
    Listening,
    Accepted,
    NotAccepted,
    Watched,
    Interested,
    Received,
    Sent,
    OutputEnded,
    Closed,
    Reported,
    Cut,
    RefusingNew,
    Begun,
    Established,
}

/// The hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fingerprint {
    value: u64,
}

impl Fingerprint {
    pub(super) fn value(self) -> u64 {
        self.value
    }

    /// Hashes an event, with two numbers that tell it from others of its kind.
    pub(super) fn note(&mut self, happening: Happening, subject: u64, detail: u64) {
        self.fold(happening as u64);
        self.fold(subject);
        self.fold(detail);
    }

    /// Hashes bytes.
    pub(super) fn note_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            self.fold(u64::from_le_bytes(padded));
        }
        self.fold(bytes.len() as u64);
    }

    fn fold(&mut self, number: u64) {
        self.value = scramble(self.value.rotate_left(5) ^ number).wrapping_add(1);
    }
}

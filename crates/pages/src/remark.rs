//! Remarkable runs of pages: long without interruption, much CPU time, ended by a bound, a full mailbox.
//!
//! Owns the remarks since they were last asked for, a bounded number. Never looks at a run.

use crate::limits::REMARKS_MAX;

/// The remarkable thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    /// It ran this long without an interruption, in nanoseconds.
    LongSlice(u64),
    /// It has used this much CPU time, in nanoseconds, and goes on.
    MuchCpu(u64),
    /// It was ended by the bound of this name.
    Ended(&'static str),
    /// Its mailbox was full for so many messages.
    MailboxFull(u64),
    /// It could not spawn a process.
    SpawnRefused,
    /// A fetch of it has failed.
    FetchFailed,
}

/// A remark about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The remarkable thing.
    pub noticed: Noticed,
    /// Its page or module, with the line if that is known.
    pub place: String,
    /// More about it; empty if there is none.
    pub text: String,
    /// The calls that led to where it is, innermost first.
    pub calls: Vec<String>,
}

/// Remarks that were not asked for yet.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    list: Vec<Remark>,
    left_out: u64,
}

impl Remarks {
    pub(super) fn add(&mut self, remark: Remark) {
        if self.has_room() {
            self.list.push(remark);
        }
    }

    /// Whether there is a remark like this on a place.
    pub(super) fn has(&self, noticed: Noticed, place: &str) -> bool {
        self.list.iter().any(|remark| remark.noticed == noticed && remark.place == place)
    }

    /// Whether there is room for another one. One without is counted.
    pub(super) fn has_room(&mut self) -> bool {
        let has_room = self.list.len() < REMARKS_MAX;
        self.left_out += u64::from(!has_room);
        has_room
    }

    /// The remarks, and how many were left out.
    pub(super) fn into_parts(self) -> (Vec<Remark>, u64) {
        (self.list, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_bounded() {
        let mut remarks = Remarks::default();
        let remark = Remark {
            noticed: Noticed::MailboxFull(1),
            place: String::new(),
            text: String::new(),
            calls: Vec::new(),
        };
        (0..REMARKS_MAX + 3).for_each(|_| remarks.add(remark.clone()));
        assert_eq!((remarks.list.len(), remarks.left_out), (REMARKS_MAX, 3));
    }
}

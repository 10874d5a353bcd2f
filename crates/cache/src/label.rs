//! The label of a stored answer that is kept outside of memory: all that is known of it without reading it.
//!
//! Owns how a label is written as a name. What is written otherwise is no label.

use crate::limits::BLOCK_SIZE;
use crate::record::DiskRecord;

/// A label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// See [`DiskRecord::text`].
    pub text: u64,
    /// See [`DiskRecord::path`].
    pub path: u64,
    /// See [`DiskRecord::identity`].
    pub identity: u64,
    /// Higher than that of each that was stored before; no other one ever has it.
    pub serial: u64,
    /// Bytes of the whole: the record, the body, and what is around them.
    pub size: u64,
}

impl Label {
    /// The label of a record whose size is not known yet.
    pub fn new(record: &DiskRecord, serial: u64) -> Self {
        let DiskRecord { text, path, identity, .. } = *record;
        Self { text, path, identity, serial, size: 0 }
    }

    /// The name.
    pub fn name(&self) -> String {
        let Self { text, path, identity, serial, size } = self;
        format!("{text:016x}{path:016x}{identity:016x}{serial:016x}.{size:x}")
    }

    /// Reads a name.
    pub fn parse(name: &str) -> Option<Self> {
        let number = |at: usize| {
            let digits = name.get(16 * at..16 * (at + 1))?;
            u64::from_str_radix(digits, 16).ok()
        };
        let size = u64::from_str_radix(name.get(64..)?.strip_prefix('.')?, 16).ok()?;
        let (text, path) = (number(0)?, number(1)?);
        let label = Self { text, path, identity: number(2)?, serial: number(3)?, size };
        // One spelling only: no signs and no capitals.
        (label.name() == name).then_some(label)
    }

    /// Bytes that it uses, in whole blocks.
    pub(crate) fn cost(&self) -> usize {
        usize::try_from(self.size.next_multiple_of(BLOCK_SIZE)).unwrap_or(usize::MAX)
    }
}

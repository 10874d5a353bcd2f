//! The packets that the kernel dropped during an audit, by its reasons.
//!
//! Owns their text form, which is read as a file. Does not record them: the caller of the audit does.

use std::collections::BTreeMap;

use crate::lines::named;

/// The path under which they are read: `NETFILTER_DROP 12`.
pub(crate) const PLACE: &str = "/velodrome/drops";

/// Why they are not known.
const UNSEEN: &str = "unseen ";

/// Dropped packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DroppedPackets {
    /// They may not be seen: the reason.
    Unseen(String),
    /// They were seen: how many, by the kernel's names of the reasons.
    Seen(BTreeMap<String, u64>),
}

impl DroppedPackets {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Unseen(why) => format!("{UNSEEN}{why}\n"),
            Self::Seen(counts) => {
                counts.iter().map(|(reason, count)| format!("{reason} {count}\n")).collect()
            }
        }
    }

    /// Parses them; broken lines are left out.
    pub(crate) fn read(text: &str) -> Self {
        match text.strip_prefix(UNSEEN) {
            Some(why) => Self::Unseen(why.trim_end().to_owned()),
            None => Self::Seen(named(text)),
        }
    }
}

//! The packets that the kernel dropped during an audit, by its reasons.
//!
//! Owns their text form, which is read as a file. Does not record them: the caller of the audit does.

use std::collections::BTreeMap;

use crate::lines::named;

/// The path under which they are read: `in 2.0`, the seconds, and `NETFILTER_DROP 12`.
pub(crate) const PLACE: &str = "/velodrome/drops";

/// Why they are not known.
const UNSEEN: &str = "unseen ";

/// Dropped packets.
#[derive(Clone, Debug, PartialEq)]
pub enum DroppedPackets {
    /// They may not be seen: the reason.
    Unseen(String),
    /// They were seen.
    Seen {
        /// For how many seconds they were recorded.
        seconds: f64,
        /// How many there were, by the kernel's names of the reasons.
        counts: BTreeMap<String, u64>,
    },
}

impl DroppedPackets {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Unseen(why) => format!("{UNSEEN}{why}\n"),
            Self::Seen { seconds, counts } => {
                let line = |(reason, count): (&String, &u64)| format!("{reason} {count}\n");
                format!("in {seconds:.3}\n{}", counts.iter().map(line).collect::<String>())
            }
        }
    }

    /// Parses them; broken lines are left out.
    pub(crate) fn read(text: &str) -> Self {
        if let Some(why) = text.strip_prefix(UNSEEN) {
            return Self::Unseen(why.trim_end().to_owned());
        }
        let first = text.lines().next().and_then(|line| line.strip_prefix("in ")?.parse().ok());
        Self::Seen { seconds: first.unwrap_or(1.0), counts: named(text) }
    }
}

//! Whether nodes keep channels alike: in as many streams, and the same ones.
//!
//! Owns what nodes tell each other of that, and the complaint. Nodes that differ publish to different subjects and take
//! different leases, so each would miss something without a sign of it. Never changes what a node keeps.

use channels::Keeping;
use serde::{Deserialize, Serialize};

use crate::plan::StreamPlan;
use crate::subjects::fnv;

/// How a node keeps channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptForm {
    streams: u16,
    sections: u64,
}

impl KeptForm {
    pub(crate) fn of(plan: &StreamPlan) -> Self {
        Self { streams: plan.count, sections: plan.sections }
    }

    /// The complaint about a node with this name that does it like `other`; `None`: it does it like this one.
    pub(crate) fn complaint(self, name: &str, other: Self) -> Option<String> {
        if other.streams != self.streams {
            let (theirs, ours) = (other.streams, self.streams);
            return Some(format!(
                "the node `{name}` has `streams = {theirs}` in [cluster], and this one {ours}: they do not hear each \
                 other's messages of channels with a history, and run processes for the cluster twice. Give all nodes \
                 the same"
            ));
        }
        (other.sections != self.sections).then(|| {
            format!(
                "the node `{name}` has other `[[channel]]` sections: where only one of both keeps a history, they do \
                 not hear each other's messages. Give all nodes the same"
            )
        })
    }
}

impl StreamPlan {
    /// A number of the patterns of channels, in their order, and of those with a history: another one where nodes keep
    /// different channels. Sections that keep nothing count only before one that does.
    pub fn sections_of<'s>(sections: impl IntoIterator<Item = (&'s str, Keeping)>) -> u64 {
        let (mut parts, mut count): (Vec<&[u8]>, usize) = (Vec::new(), 0);
        for (pattern, keeping) in sections {
            parts.push(pattern.as_bytes());
            match keeping {
                Keeping::History => {
                    parts.push(b"+");
                    count = parts.len();
                }
                Keeping::Nothing => parts.push(b"-"),
            }
        }
        fnv(&parts[..count])
    }
}

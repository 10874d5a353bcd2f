//! Whether a stream has lost messages, if a server tells a state that is older than what was seen.
//!
//! Owns the verdict. A stream that is kept on several servers is led by one of them. One that was cut off from the
//! others still leads, with an old state, until it hears of its successor; and a server that knows no leader answers
//! with what it has itself. Never asks a stream.

use crate::limits::AGREEMENT_MS;
use crate::stream_forms::StreamSample;

/// Whether a stream seems to have lost messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Doubt {
    #[default]
    Nothing,
    /// An older state was told, the first one at this time, the last one by this leader.
    Told { since_ms: u64, leader: String },
    /// Numbers have come again.
    Repeated,
}

/// The meaning of a state for what was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    GoesOn,
    HasGoneBack,
    /// It is asked for again.
    Unclear,
}

impl Doubt {
    /// Judges a state. `leader`: the server that leads the stream, for the one that has told it; empty: it knows none.
    /// `highest`: the number that was seen when it was asked; 0: none.
    pub(crate) fn judge(
        &mut self,
        highest: u64,
        sample: &StreamSample,
        leader: &str,
        now_ms: u64,
    ) -> Verdict {
        let is_older = highest > sample.last;
        if sample.replicas > 1 && leader.is_empty() {
            return Verdict::Unclear;
        }
        match self {
            // It was older a moment ago, and has grown since.
            Self::Told { leader: before, .. } if !is_older && before == leader => {
                Verdict::HasGoneBack
            }
            _ if !is_older => Verdict::GoesOn,
            Self::Nothing if sample.replicas > 1 => {
                *self = Self::Told { since_ms: now_ms, leader: leader.to_owned() };
                Verdict::Unclear
            }
            Self::Told { since_ms, leader: before } if now_ms < *since_ms + AGREEMENT_MS => {
                leader.clone_into(before);
                Verdict::Unclear
            }
            Self::Nothing | Self::Told { .. } | Self::Repeated => Verdict::HasGoneBack,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on a state of so many servers, where number 9 was seen.
    fn judged(
        doubt: &mut Doubt,
        (last, leader, now_ms): (u64, &str, u64),
        replicas: u64,
    ) -> Verdict {
        let sample = StreamSample {
            epoch: 1,
            first: 1,
            last,
            at_ms: 0,
            made_ms: None,
            messages: 10,
            age_ms: None,
            bytes: None,
            replicas,
        };
        doubt.judge(9, &sample, leader, now_ms)
    }

    #[test]
    fn an_older_state_of_several_servers_is_asked_for_again_before_it_is_believed() {
        use Verdict::{GoesOn, HasGoneBack, Unclear};
        let before = AGREEMENT_MS - 1;
        for (answers, expected) in [
            // The servers have agreed, and it stays old.
            (&[(8, "a", 0), (8, "b", before), (8, "b", AGREEMENT_MS)][..], HasGoneBack),
            (&[(8, "a", 0), (8, "a", before)], Unclear),
            // The first answer was that of a server that had been cut off.
            (&[(8, "a", 0), (9, "b", 1_000)], GoesOn),
            // Numbers were used again.
            (&[(8, "a", 0), (9, "a", 1_000)], HasGoneBack),
            (&[(8, "a", 0), (8, "b", 1_000), (9, "b", 2_000)], HasGoneBack),
            // Servers of the stream that know no leader, each with its own state.
            (&[(8, "", 0), (9, "", 1_000)], Unclear),
            (&[(8, "", 0), (8, "", AGREEMENT_MS)], Unclear),
            (&[(9, "", 0)], Unclear),
            (&[(9, "", 0), (9, "b", 1_000)], GoesOn),
        ] {
            let mut doubt = Doubt::Nothing;
            let verdicts = answers.iter().map(|answer| judged(&mut doubt, *answer, 3));
            assert_eq!(verdicts.last(), Some(expected), "{answers:?}");
        }
        assert_eq!(judged(&mut Doubt::Nothing, (8, "a", 0), 1), HasGoneBack, "it has one server");
        assert_eq!(judged(&mut Doubt::Repeated, (8, "a", 0), 3), HasGoneBack);
    }
}

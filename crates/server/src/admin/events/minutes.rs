//! The minutes around slow events that the profiler keeps.
//!
//! Owns which events have one: those within a minute that is kept. Never sees a sample.

use std::collections::VecDeque;

use runtime::clock::milliseconds;

use super::moment::Moment;
use crate::events::Kind;
use crate::limits::{PROFILE_CUT_HALF, PROFILE_CUTS};
use crate::profile_order::ProfileCut;

#[derive(Debug, Default)]
pub(super) struct Minutes {
    /// The event that each was cut out for, and its time since 1970, the newest last.
    kept: VecDeque<(u64, u64)>,
    /// Those that the profiler was not told of.
    news: Vec<ProfileCut>,
}

/// Whether the reason of an event is in what threads did.
fn is_slow(kind: Kind) -> bool {
    matches!(kind, Kind::LongSlice | Kind::MuchCpu | Kind::LongTurn | Kind::Stuck)
}

impl Minutes {
    /// Something has happened.
    pub(super) fn on_event(&mut self, kind: Kind, event: u64, at: Moment) {
        if !is_slow(kind) || self.of(at.unix_ms).is_some() {
            return;
        }
        if self.kept.len() >= PROFILE_CUTS {
            self.kept.pop_front();
        }
        self.kept.push_back((event, at.unix_ms));
        self.news.push(ProfileCut { event, at_ns: at.now_ms * 1_000_000 });
    }

    /// The event whose minute has this time.
    pub(super) fn of(&self, unix_ms: u64) -> Option<u64> {
        let has =
            |(_, at_ms): &&(u64, u64)| at_ms.abs_diff(unix_ms) < milliseconds(PROFILE_CUT_HALF);
        self.kept.iter().rev().find(has).map(|(event, _)| *event)
    }

    /// The minutes that the profiler keeps.
    pub(super) fn take_news(&mut self) -> Vec<ProfileCut> {
        std::mem::take(&mut self.news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment { now_ms: seconds * 1_000, unix_ms: 1_000_000 + seconds * 1_000 }
    }

    #[test]
    fn a_slow_event_keeps_its_minute_and_shares_it_with_those_in_it() {
        let mut minutes = Minutes::default();
        minutes.on_event(Kind::Limit, 1, at(0));
        minutes.on_event(Kind::LongTurn, 2, at(10));
        minutes.on_event(Kind::LongSlice, 3, at(20));
        minutes.on_event(Kind::Stuck, 4, at(40));
        let cuts = minutes.take_news();
        let expected =
            [(2, 10), (4, 40)].map(|(event, s)| ProfileCut { event, at_ns: s * 1_000_000_000 });
        assert_eq!((&*cuts, minutes.take_news().len()), (&expected[..], 0));
        let of = |seconds| minutes.of(at(seconds).unix_ms);
        assert_eq!((of(0), of(20), of(69), of(70)), (Some(2), Some(4), Some(4), None));
    }

    #[test]
    fn the_oldest_minute_leaves() {
        let mut minutes = Minutes::default();
        for number in 0..=PROFILE_CUTS as u64 {
            minutes.on_event(Kind::LongTurn, number, at(number * 100));
        }
        let of = |seconds| minutes.of(at(seconds).unix_ms);
        assert_eq!((of(0), of(100), minutes.kept.len()), (None, Some(1), PROFILE_CUTS));
    }
}

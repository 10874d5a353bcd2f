//! The faults in a random program.
//!
//! Owns how often, and the rules of channels that go with it.

use channels::{ChannelPolicy, HistoryRules, Presence, SlowPolicy};
use world::Random;

use super::bus::BusFaults;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Nothing: no message may be lost, and nobody may be told so.
    Calm,
    /// The network between nodes.
    Rough,
    /// Streams as well.
    Stormy,
}

impl Weather {
    pub(crate) fn rules(self, random: &mut Random) -> ChannelPolicy {
        let presence = Presence::On;
        let (slow, count, age_ms, behind) = if self == Self::Calm {
            (SlowPolicy::Disconnect, 40, 600_000, 1_000_000)
        } else {
            let slow = [SlowPolicy::Disconnect, SlowPolicy::DropOldest, SlowPolicy::Latest];
            let slow = slow[random.index(3)];
            (slow, 1 + random.below(30) as u32, 20_000, 2_000 + random.below(20_000))
        };
        let history = HistoryRules { count, bytes: 200_000, age_ms };
        ChannelPolicy { slow, history, behind, presence, ..ChannelPolicy::default() }
    }

    /// Bytes of a message. With long ones a subscriber that stalls falls behind.
    pub(crate) fn longest(self, random: &mut Random) -> u64 {
        if self == Self::Calm { 600 } else { [600, 12_000][random.index(2)] }
    }

    pub(crate) fn faults(self, random: &mut Random) -> BusFaults {
        if self == Self::Calm {
            return BusFaults::default();
        }
        let mut often = |most| if random.chance(500_000) { random.below(most) as u32 } else { 0 };
        BusFaults {
            drop: often(100_000),
            repeat: often(200_000),
            reorder: often(200_000),
            lag: often(500_000),
            fail_read: often(200_000),
        }
    }
}

//! The seed of a world, and how bad its transport is.

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// How bad the world is.
#[derive(Clone, Copy)]
pub(crate) struct Weather {
    pub(crate) loses: u64,
    pub(crate) repeats: u64,
    pub(crate) damages: u64,
    pub(crate) delay_ms: u64,
}

pub(crate) const CALM: Weather =
    Weather { loses: u64::MAX, repeats: u64::MAX, damages: u64::MAX, delay_ms: 2 };

/// Some weather.
pub(crate) fn weather(dice: &mut Dice) -> Weather {
    let one_in = |dice: &mut Dice, most: u64| {
        if dice.one_in(3) { u64::MAX } else { 2 + dice.below(most) }
    };
    Weather {
        loses: one_in(dice, 30).max(4),
        repeats: one_in(dice, 10),
        damages: one_in(dice, 40).max(8),
        delay_ms: 1 + dice.below(80),
    }
}

//! Inputs from a seed: pseudo-random numbers, and mutations of given inputs.
//!
//! Owns how the stable driver computes bytes from a seed and the number of a run. Keeps no state between
//! runs, so that any run can be repeated by its number.

use crate::Target;

/// Longest input in bytes. Beyond: it is cut.
const INPUT_BYTES_MAX: usize = 40 * 1024;

/// Most mutations of one input.
const MUTATIONS_MAX: u64 = 6;

/// Most random bytes of an input that consists of nothing else.
const NOISE_BYTES_MAX: u64 = 64;

/// Bytes with a meaning in one of the grammars.
const TELLING: &[u8] = b"\0\t\n\r \"#%&'()*+,-./0123456789:;<=>?@AZ[\\]^_`az{|}~\x7f\x80\xc2\xff";

/// A small generator of pseudo-random numbers (splitmix64): every seed is a good one.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of one run of a target.
    pub fn new(seed: u64, target: &str, run: u64) -> Random {
        let mut random = Random(seed);
        for byte in target.bytes() {
            random.0 ^= u64::from(byte);
            random.next_number();
        }
        random.0 ^= run.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        random.next_number();
        random
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next_number() % bound }
    }

    /// An index into something of that length.
    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.next_number().to_le_bytes()[0]
    }

    fn choose<'a>(&mut self, from: &'a [&'static [u8]]) -> &'a [u8] {
        let index = self.index(from.len());
        from.get(index).copied().unwrap_or_default()
    }
}

/// The input of one run of a target.
pub fn input(target: &Target, seed: u64, run: u64) -> Vec<u8> {
    let mut random = Random::new(seed, target.name, run);
    let mut data = match random.below(16) {
        0 => noise(&mut random),
        1..=3 => sentence(target, &mut random),
        4..=5 => {
            let mut first = random.choose(target.seeds).to_vec();
            let second = random.choose(target.seeds);
            first.truncate(random.index(first.len() + 1));
            first.extend_from_slice(&second[random.index(second.len() + 1)..]);
            first
        }
        _ => random.choose(target.seeds).to_vec(),
    };
    for _ in 0..random.below(MUTATIONS_MAX) {
        mutate(&mut data, target, &mut random);
    }
    data.truncate(INPUT_BYTES_MAX);
    data
}

fn noise(random: &mut Random) -> Vec<u8> {
    (0..random.below(NOISE_BYTES_MAX)).map(|_| random.byte()).collect()
}

/// Words of the target one after the other, with some of the meaningful bytes between them.
fn sentence(target: &Target, random: &mut Random) -> Vec<u8> {
    let mut data = Vec::new();
    for _ in 0..random.below(12) {
        data.extend_from_slice(random.choose(target.words));
        if random.below(3) == 0 {
            data.push(TELLING[random.index(TELLING.len())]);
        }
    }
    data
}

fn mutate(data: &mut Vec<u8>, target: &Target, random: &mut Random) {
    let at = random.index(data.len() + 1);
    let end = at + random.index((data.len() - at).min(64) + 1);
    match random.below(8) {
        0 => {
            if let Some(byte) = data.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = data.get_mut(at) {
                *byte = TELLING[random.index(TELLING.len())];
            }
        }
        2 => data.insert(at, TELLING[random.index(TELLING.len())]),
        3 => drop(data.drain(at..end)),
        4 => {
            let piece = data[at..end].to_vec();
            data.splice(at..at, piece);
        }
        5 => {
            let word = random.choose(target.words).to_vec();
            data.splice(at..at, word);
        }
        6 => {
            let word = random.choose(target.words).to_vec();
            data.splice(at..end, word);
        }
        _ => {
            // Repetitions, which limits are for.
            let piece = data[at..end].to_vec();
            let times = 1 << random.below(9);
            data.splice(at..at, piece.repeat(times));
        }
    }
}

/// The shortest input found that still fails, by leaving out pieces of decreasing size.
pub fn shrink(data: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut best = data.to_vec();
    let mut piece = best.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < best.len() {
            let mut shorter = best.clone();
            shorter.drain(at..(at + piece).min(best.len()));
            if fails(&shorter) {
                best = shorter;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TARGETS;

    #[test]
    fn a_run_is_repeated_by_its_number_and_runs_differ() {
        let target = &TARGETS[0];
        assert_eq!(input(target, 7, 3), input(target, 7, 3));
        let distinct: std::collections::BTreeSet<_> =
            (0..100).map(|run| input(target, 7, run)).collect();
        assert!(distinct.len() > 80, "{}", distinct.len());
    }

    #[test]
    fn shrinking_keeps_what_makes_it_fail() {
        let data = b"a long text with a needle in it, and more".to_vec();
        let fails = |data: &[u8]| data.windows(6).any(|window| window == b"needle");
        assert_eq!(shrink(&data, fails), b"needle");
    }

    #[test]
    fn every_seed_passes_its_check() {
        for target in TARGETS {
            assert!(!target.seeds.is_empty() && !target.words.is_empty(), "{}", target.name);
            for seed in target.seeds {
                (target.check)(seed);
            }
        }
    }
}

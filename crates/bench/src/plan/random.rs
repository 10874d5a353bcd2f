//! Reproducible random numbers: one stream per thread and purpose, all from the seed of the plan.
//!
//! Owns how streams are separated. The numbers themselves are `fastrand`'s (wyrand), which is not
//! for secrets.

/// The purpose of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The content of requests: templates and the choice among targets.
    Content,
    /// When it is requested.
    Arrivals,
}

pub(crate) fn stream(seed: u64, thread: u32, purpose: Purpose) -> fastrand::Rng {
    let purpose = match purpose {
        Purpose::Content => 0,
        Purpose::Arrivals => 1,
    };
    fastrand::Rng::with_seed(mixed(mixed(seed) ^ (u64::from(thread) << 1 | purpose)))
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): neighbouring numbers become distant ones.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_numbers(seed: u64, thread: u32, purpose: Purpose) -> Vec<u64> {
        let mut random = stream(seed, thread, purpose);
        (0..1000).map(|_| random.u64(..)).collect()
    }

    #[test]
    fn a_stream_comes_again_and_no_other_is_like_it() {
        let mut seen = Vec::new();
        for (seed, thread) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)] {
            for purpose in [Purpose::Content, Purpose::Arrivals] {
                let numbers = first_numbers(seed, thread, purpose);
                assert_eq!(numbers, first_numbers(seed, thread, purpose));
                seen.extend(numbers);
            }
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((seen.len(), count), (10_000, 10_000));
    }
}

//! Which of N keys is requested.
//!
//! Owns the distributions and their notation: `uniform:N`, `zipf:N:S`, `hot:N:HOT:SHARE`. Keys are
//! the numbers from 0 to N - 1; lower ones are hotter.

use std::str::FromStr;

use super::zipf::Zipf;
use crate::limits::{KEYS_MAX, ZIPF_EXPONENT_MAX};

/// A distribution over keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyDistribution {
    count: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// All equally often.
    Uniform,
    /// The k-th in proportion to k^-s.
    Zipf(Zipf),
    /// `share` of all draws go to the first `hot` keys, the others to the rest.
    Hot { hot: u64, share: f64 },
}

/// An error in a distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not one of the three forms.
    #[error("`{0}` is not a distribution of keys; write uniform:N, zipf:N:S or hot:N:HOT:SHARE")]
    Form(String),
    /// Not a number of keys.
    #[error("`{0}` is not a number of keys; write one from 1 to {KEYS_MAX}")]
    Count(String),
    /// Not an exponent.
    #[error(
        "`{0}` is not an exponent; write a number from 0 to {ZIPF_EXPONENT_MAX}, as in \
         zipf:1000:1.1"
    )]
    Exponent(String),
    /// No key is hot, or more than there are.
    #[error("`{0}` is not a number of hot keys; write one from 1 to the number of keys")]
    Hot(String),
    /// Not a share.
    #[error("`{0}` is not a share; write a number from 0 to 1, as in hot:1000:10:0.9")]
    Share(String),
}

impl FromStr for KeyDistribution {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let words: Vec<&str> = text.split(':').collect();
        match words.as_slice() {
            ["uniform", count] => Ok(Self { count: count_of(count)?, kind: Kind::Uniform }),
            ["zipf", count, exponent] => {
                let count = count_of(count)?;
                let wrong = || KeyError::Exponent((*exponent).to_owned());
                let exponent = decimal(exponent, ZIPF_EXPONENT_MAX).ok_or_else(wrong)?;
                Ok(Self { count, kind: Kind::Zipf(Zipf::new(count, exponent)) })
            }
            ["hot", count, hot, share] => {
                let count = count_of(count)?;
                let hot_keys = number(hot).filter(|hot| (1..=count).contains(hot));
                let hot = hot_keys.ok_or_else(|| KeyError::Hot((*hot).to_owned()))?;
                let wrong = || KeyError::Share((*share).to_owned());
                let share = decimal(share, 1.0).ok_or_else(wrong)?;
                // If all keys are hot, there is no rest to draw from.
                let share = if hot == count { 1.0 } else { share };
                Ok(Self { count, kind: Kind::Hot { hot, share } })
            }
            _ => Err(KeyError::Form(text.to_owned())),
        }
    }
}

/// Only digits: `parse` would accept a sign.
pub(super) fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn count_of(text: &str) -> Result<u64, KeyError> {
    let count = number(text).filter(|count| (1..=KEYS_MAX).contains(count));
    count.ok_or_else(|| KeyError::Count(text.to_owned()))
}

fn decimal(text: &str, most: f64) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|number| is_plain && *number <= most)
}

impl KeyDistribution {
    /// The number of keys; all drawn numbers are below.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// One key.
    #[inline]
    pub(super) fn draw(&self, random: &mut fastrand::Rng) -> u64 {
        match &self.kind {
            Kind::Uniform => random.u64(..self.count),
            Kind::Zipf(zipf) => zipf.draw(random) - 1,
            Kind::Hot { hot, share } if random.f64() < *share => random.u64(..*hot),
            Kind::Hot { hot, .. } => random.u64(*hot..self.count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::random::{Purpose, stream};

    fn counts(text: &str, draws: u32) -> Vec<u32> {
        let key: KeyDistribution = text.parse().unwrap();
        let mut random = stream(11, 0, Purpose::Content);
        let mut counts = vec![0; key.count() as usize];
        for _ in 0..draws {
            counts[key.draw(&mut random) as usize] += 1;
        }
        counts
    }

    #[test]
    fn uniform_keys_are_equally_frequent() {
        for count in counts("uniform:100", 100_000) {
            // Five standard deviations of about 1,000.
            assert!(count.abs_diff(1000) < 160, "{count}");
        }
    }

    #[test]
    fn the_hot_keys_have_their_share() {
        let counts = counts("hot:100:10:0.9", 100_000);
        let hot: u32 = counts[..10].iter().sum();
        // Five standard deviations: sqrt(100,000 * 0.9 * 0.1) is 95.
        assert!(hot.abs_diff(90_000) < 475, "{hot}");
        assert!(counts.iter().all(|count| *count > 0));
        assert!(counts[..10].iter().all(|count| count.abs_diff(9000) < 475), "{counts:?}");
    }

    #[test]
    fn all_keys_may_be_hot_and_none() {
        assert!(counts("hot:5:5:0.1", 1000).iter().all(|count| *count > 100));
        assert_eq!(counts("hot:5:2:0", 1000)[..2], [0, 0]);
        assert_eq!(counts("hot:5:2:1", 1000)[2..], [0, 0, 0]);
    }

    #[test]
    fn the_first_key_of_zipf_is_the_hottest() {
        let counts = counts("zipf:1000:1.1", 100_000);
        assert!(counts[0] > counts[1] && counts[1] > counts[9] && counts[9] > counts[999]);
    }

    #[test]
    fn invalid_key_distribution_is_refused_by_part() {
        for (text, part) in [
            ("", "``"),
            ("normal:5", "`normal:5`"),
            ("uniform", "`uniform`"),
            ("uniform:0", "`0`"),
            ("uniform:+5", "`+5`"),
            ("uniform:99999999999999999999", "`99999999999999999999`"),
            ("zipf:10", "`zipf:10`"),
            ("zipf:10:-1", "`-1`"),
            ("zipf:10:nan", "`nan`"),
            ("zipf:10:", "``"),
            ("hot:10:11:0.5", "`11`"),
            ("hot:10:0:0.5", "`0`"),
            ("hot:10:1:1.5", "`1.5`"),
            ("hot:10:1:90%", "`90%`"),
        ] {
            let error = text.parse::<KeyDistribution>().unwrap_err().to_string();
            assert!(error.starts_with(part), "{text}: {error}");
        }
    }
}

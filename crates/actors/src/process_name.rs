//! Names of page processes among all schedulers, as pages see them:
//! `SCHEDULER.NUMBER.GENERATION.TOKEN`.
//!
//! Owns the format, and the token: 128 bits that nobody can guess and that are never reused, not
//! even after a restart. A name is enough to send to its process, so only those who were given it
//! may know it.

use std::fmt;
use std::str::FromStr;

use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use sha2::{Digest as _, Sha256};

/// The part of a name that cannot be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameToken(u128);

/// The tokens of one scheduler. Each is given once.
pub(super) struct Tokens {
    key: [u8; 32],
    count: u64,
}

impl Tokens {
    /// With a secret key, which no other scheduler and no other start has.
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { key, count: 0 }
    }

    /// The next token: the hash of the key and a number, both of fixed length.
    pub(super) fn next(&mut self) -> NameToken {
        self.count += 1;
        let hash = Sha256::new().chain_update(self.key).chain_update(self.count.to_be_bytes());
        let bytes: [u8; 32] = hash.finalize().into();
        let (half, _) = bytes.split_first_chunk().expect("a hash has 32 bytes");
        NameToken(u128::from_be_bytes(*half))
    }
}

/// The name of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessName {
    endpoint: Endpoint,
    mailbox: ProcessId,
    /// Known to holders of the name only.
    token: NameToken,
}

impl ProcessName {
    pub(super) fn new(endpoint: Endpoint, mailbox: ProcessId, token: NameToken) -> Self {
        Self { endpoint, mailbox, token }
    }

    /// The scheduler.
    pub fn endpoint(self) -> Endpoint {
        self.endpoint
    }

    /// The mailbox on that scheduler.
    pub fn mailbox(self) -> ProcessId {
        self.mailbox
    }

    /// The secret part.
    pub fn token(self) -> NameToken {
        self.token
    }
}

impl fmt::Display for ProcessName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.mailbox.to_bits();
        let (number, generation) = (bits & u64::from(u32::MAX), bits >> 32);
        write!(formatter, "{}.{number}.{generation}.{:032x}", self.endpoint.0, self.token.0)
    }
}

impl FromStr for ProcessName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let mut part = || parts.next().filter(|part| !part.is_empty()).ok_or(());
        let endpoint = Endpoint(part()?.parse().map_err(drop)?);
        let number: u32 = part()?.parse().map_err(drop)?;
        let generation: u32 = part()?.parse().map_err(drop)?;
        let token = part()?;
        let is_token = token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mailbox = ProcessId::from_bits(u64::from(generation) << 32 | u64::from(number));
        if parts.next().is_some() || !is_token {
            return Err(());
        }
        let token = NameToken(u128::from_str_radix(token, 16).map_err(drop)?);
        Ok(Self { endpoint, mailbox, token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let mailbox = ProcessId::from_bits(3 << 32 | 17);
        let name = ProcessName { endpoint: Endpoint(2), mailbox, token: NameToken(0xab) };
        let text = "2.17.3.000000000000000000000000000000ab";
        assert_eq!(name.to_string(), text);
        assert_eq!(text.parse(), Ok(name));
        let token = "000000000000000000000000000000ab";
        for wrong in ["", "2.17", "2.17.3", "2.17.3.ab", "2.17.3.+00000000000000000000000000000ab"]
        {
            assert_eq!(wrong.parse::<ProcessName>(), Err(()), "{wrong}");
        }
        for wrong in ["a.1.2", "1..2", "70000.1.1", "1.5000000000.1", "1.2.3.4"] {
            assert_eq!(format!("{wrong}.{token}").parse::<ProcessName>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn no_two_tokens_are_one_and_other_starts_have_others() {
        let mut tokens = [Tokens::new([1; 32]), Tokens::new([2; 32])];
        let mut seen = Vec::new();
        for _ in 0..100 {
            for tokens in &mut tokens {
                let token = tokens.next();
                assert!(!seen.contains(&token));
                // Each half differs too: it is not a number with a constant prefix.
                assert!(seen.iter().all(|NameToken(other)| token.0 >> 64 != other >> 64));
                seen.push(token);
            }
        }
    }
}

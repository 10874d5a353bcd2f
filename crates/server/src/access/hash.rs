//! The hash of a password, as `htpasswd` and others write it.
//!
//! Owns which kinds are accepted and what one may cost. Verifying takes tens of milliseconds: never on a scheduler.

use std::fmt;

use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, Params};

use crate::limits::{ARGON2_MEMORY_KIB_MAX, ARGON2_PASSES_MAX, BCRYPT_COST_MAX};

/// An accepted hash.
#[derive(Clone)]
pub(super) enum Hash {
    Bcrypt(Box<str>),
    Argon2(Box<PasswordHash>),
}

/// Why a hash is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HashFault {
    /// It is MD5, which `htpasswd` makes by default.
    #[error("has a hash of MD5, of which billions can be tried in a second")]
    Md5,
    /// It is SHA-1 without a salt.
    #[error("has a hash of SHA-1 without a salt, of which billions can be tried in a second")]
    Sha1,
    /// It is SHA-256 or SHA-512 of crypt, or another hash of crypt.
    #[error("has a hash of crypt, which is not supported")]
    Crypt,
    /// It is a password in clear, or a damaged hash.
    #[error("has no hash, but a password in clear or a damaged hash")]
    None,
    #[error(
        "has a hash that takes too long to verify; at most cost {BCRYPT_COST_MAX} of bcrypt, and \
         {ARGON2_MEMORY_KIB_MAX} KiB and {ARGON2_PASSES_MAX} passes of Argon2"
    )]
    Costly,
}

impl Hash {
    pub(super) fn read(text: &str) -> Result<Self, HashFault> {
        if text.starts_with("$argon2") {
            let hash = PasswordHash::new(text).map_err(|_| HashFault::None)?;
            let params = Params::try_from(&hash).map_err(|_| HashFault::None)?;
            let is_whole = hash.hash.is_some() && hash.salt.is_some();
            let is_cheap = params.m_cost() <= ARGON2_MEMORY_KIB_MAX
                && params.t_cost() <= ARGON2_PASSES_MAX
                && params.p_cost() <= ARGON2_PASSES_MAX;
            return match (is_whole, is_cheap) {
                (false, _) => Err(HashFault::None),
                (true, false) => Err(HashFault::Costly),
                (true, true) => Ok(Self::Argon2(Box::new(hash))),
            };
        }
        match text.get(..4) {
            Some("$2y$" | "$2b$" | "$2a$") => {
                let parts: bcrypt::HashParts = text.parse().map_err(|_| HashFault::None)?;
                match parts.get_cost() {
                    4..=BCRYPT_COST_MAX => Ok(Self::Bcrypt(text.into())),
                    0..4 => Err(HashFault::None),
                    _ => Err(HashFault::Costly),
                }
            }
            Some("$apr") | Some("$1$.") => Err(HashFault::Md5),
            Some("{SHA") => Err(HashFault::Sha1),
            _ if text.starts_with("$1$") => Err(HashFault::Md5),
            _ if text.starts_with('$') => Err(HashFault::Crypt),
            _ => Err(HashFault::None),
        }
    }

    /// How long a check takes, compared with other hashes: roughly the bytes that are gone through.
    pub(super) fn cost(&self) -> u64 {
        match self {
            // 4 KiB of state are written 2^cost times, in two passes of blocks.
            Self::Bcrypt(hash) => {
                let parts: Result<bcrypt::HashParts, _> = hash.parse();
                parts.map_or(0, |parts| 0x2_0000_u64 << parts.get_cost().min(32))
            }
            Self::Argon2(hash) => Params::try_from(&**hash)
                .map_or(0, |params| u64::from(params.m_cost()) * 1024 * u64::from(params.t_cost())),
        }
    }

    /// Whether this is the password. Takes as long as the hash was made to take.
    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        match self {
            Self::Bcrypt(hash) => bcrypt::verify(password, hash).unwrap_or(false),
            Self::Argon2(hash) => Argon2::default().verify_password(password, &**hash).is_ok(),
        }
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Hash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BCRYPT: &str = "$2y$05$pqB6G0k1tXKPxjwWuuzGJeFnWzvoGn8lbQJ41hRcYZvVrJpvXmmsO";

    #[test]
    fn weak_or_expensive_password_hash_is_refused() {
        for (text, fault) in [
            ("$apr1$Ipr1r7nZ$8JyZ0/1sCOgJlVGQHE0WA1", HashFault::Md5),
            ("$1$abc$xyz", HashFault::Md5),
            ("{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=", HashFault::Sha1),
            ("$5$rounds=5000$abc$xyz", HashFault::Crypt),
            ("$6$abc$xyz", HashFault::Crypt),
            ("$y$j9T$abc$xyz", HashFault::Crypt),
            ("rqXexS6ZhobKA", HashFault::None),
            ("secret", HashFault::None),
            ("", HashFault::None),
            ("\u{e4}\u{e4}\u{e4}", HashFault::None),
            ("$2y$05$short", HashFault::None),
            ("$2y$31$pqB6G0k1tXKPxjwWuuzGJeFnWzvoGn8lbQJ41hRcYZvVrJpvXmmsO", HashFault::Costly),
            ("$argon2id$v=19$m=4194304,t=3,p=1$c29tZXNhbHQ$aGFzaGhhc2hoYXNo", HashFault::Costly),
            ("$argon2id$v=19$m=19456,t=9999,p=1$c29tZXNhbHQ$aGFzaGhhc2hoYXNo", HashFault::Costly),
            ("$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ", HashFault::None),
            ("$argon2id$", HashFault::None),
        ] {
            assert_eq!(Hash::read(text).err(), Some(fault), "{text}");
        }
        assert!(Hash::read(BCRYPT).is_ok());
    }
}

//! The secret that signs cookies.
//!
//! Owns what is signed: the site, a name, an expiry and a value, in one unambiguous form. Never
//! knows the time; never reveals a key.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::engine::crypto::{self, HASH_SIZE};

/// The prefix of what is signed, so that no other use of the same keys produces the same codes.
const PURPOSE: &[u8] = b"velodrome page cookie 1\0";
/// The same for a site with a name, which follows.
const PURPOSE_OF_SITE: &[u8] = b"velodrome page cookie of site 1\0";

/// The text that a code signs. Plain data.
#[derive(Clone, Copy)]
pub(super) struct Signed<'a> {
    /// The name of the site; empty for the one without. A site does not accept the cookies of another.
    pub(crate) site: &'a [u8],
    /// The name of the cookie.
    pub(crate) name: &'a [u8],
    /// Seconds since 1970.
    pub(crate) expires: u64,
    /// Its value.
    pub(crate) value: &'a [u8],
}

/// Keys: the first signs, all verify. Engines that share them accept each other's cookies.
#[derive(Clone)]
pub struct Keys(Arc<[Hmac<Sha256>]>);

impl Keys {
    /// Keys from secrets, the newest first. Without any, nothing can be signed.
    pub fn new<Secret: AsRef<[u8]>>(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let key = |secret: Secret| {
            Hmac::new_from_slice(secret.as_ref()).expect("HMAC takes keys of any length")
        };
        Self(secrets.into_iter().map(key).collect())
    }

    /// One random key. `None` if the operating system provides no random bytes.
    pub fn random() -> Option<Self> {
        let mut secret = [0; HASH_SIZE];
        crypto::fill_with_random(&mut secret).then(|| Self::new([secret]))
    }

    /// The code of a cookie with the newest key; `None` without a key.
    pub(super) fn sign(&self, signed: Signed<'_>) -> Option<[u8; HASH_SIZE]> {
        let code = code_of(self.0.first()?, signed);
        Some(code.finalize().into_bytes().into())
    }

    /// Whether this is the cookie's code with any of the keys.
    pub(super) fn verify(&self, signed: Signed<'_>, code: &[u8]) -> bool {
        self.0.iter().any(|key| code_of(key, signed).verify_slice(code).is_ok())
    }
}

fn code_of(key: &Hmac<Sha256>, signed: Signed<'_>) -> Hmac<Sha256> {
    let Signed { site, name, expires, value } = signed;
    let mut code = key.clone();
    // A part without fixed length is last, or is preceded by its length.
    if site.is_empty() {
        code.update(PURPOSE);
    } else {
        code.update(PURPOSE_OF_SITE);
        code.update(&(site.len() as u64).to_be_bytes());
        code.update(site);
    }
    code.update(&(name.len() as u64).to_be_bytes());
    code.update(name);
    code.update(&expires.to_be_bytes());
    code.update(value);
    code
}

impl Default for Keys {
    /// Without keys.
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Keys({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of<'a>(name: &'a [u8], expires: u64, value: &'a [u8]) -> Signed<'a> {
        Signed { site: b"", name, expires, value }
    }

    #[test]
    fn no_part_can_be_moved_into_another() {
        let keys = Keys::new(["one key"]);
        let sign = |site: &str, name: &str, expires, value: &str| {
            let (site, value) = (site.as_bytes(), value.as_bytes());
            keys.sign(Signed { site, ..of(name.as_bytes(), expires, value) }).unwrap()
        };
        let code = sign("", "ab", 1, "cd");
        for (name, expires, value) in
            [("a", 1, "bcd"), ("abc", 1, "d"), ("ab", 2, "cd"), ("ab", 1, "c"), ("AB", 1, "cd")]
        {
            assert_ne!(code, sign("", name, expires, value));
        }
        let of_site = sign("a", "b", 1, "c");
        for (site, name) in [("", "ab"), ("", "b"), ("ab", ""), ("b", "b"), ("A", "b")] {
            assert_ne!(of_site, sign(site, name, 1, "c"));
        }
    }

    #[test]
    fn the_first_key_signs_and_all_verify() {
        let [old, new] = [Keys::new(["old"]), Keys::new(["new"])];
        let both = Keys::new(["new", "old"]);
        let signed = of(b"n", 9, b"v");
        let by = |keys: &Keys| keys.sign(signed).unwrap();
        assert_eq!(by(&both), by(&new));
        assert!(both.verify(signed, &by(&old)) && both.verify(signed, &by(&new)));
        assert!(!new.verify(signed, &by(&old)));
        assert_eq!(Keys::default().sign(signed), None);
        assert!(!Keys::default().verify(signed, &by(&old)));
    }

    #[test]
    fn random_keys_differ_and_none_is_shown() {
        let [one, other] = [Keys::random().unwrap(), Keys::random().unwrap()];
        assert_ne!(one.sign(of(b"n", 9, b"v")), other.sign(of(b"n", 9, b"v")));
        assert_eq!(format!("{:?}", Keys::new(["secret", "older"])), "Keys(2)");
    }

    proptest! {
        #[test]
        fn only_signed_value_verifies(
            secret in proptest::collection::vec(any::<u8>(), 0..100),
            site in proptest::collection::vec(any::<u8>(), 0..20),
            name in proptest::collection::vec(any::<u8>(), 0..20),
            expires in any::<u64>(),
            value in proptest::collection::vec(any::<u8>(), 0..100),
            flipped in 0_usize..HASH_SIZE * 8,
        ) {
            let keys = Keys::new([secret]);
            let signed = Signed { site: &site, ..of(&name, expires, &value) };
            let mut code = keys.sign(signed).unwrap();
            prop_assert!(keys.verify(signed, &code));
            let later = Signed { expires: expires.wrapping_add(1), ..signed };
            prop_assert!(!keys.verify(later, &code));
            prop_assert!(!keys.verify(signed, &code[1..]));
            code[flipped / 8] ^= 1 << (flipped % 8);
            prop_assert!(!keys.verify(signed, &code));
        }
    }
}

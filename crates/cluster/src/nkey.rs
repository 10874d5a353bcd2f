//! Nkeys: Ed25519 keys as NATS writes them, in base32 with a checksum.
//!
//! Owns their form, and signs with one. The seed is never shown.

use std::fmt;

use ed25519_dalek::{Signer, SigningKey};

/// Why a text is no seed of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedProblem {
    /// It is not base32, or has another length.
    #[error("it is no seed of 58 capitals and digits that begins with SU")]
    Form,
    /// Its checksum is wrong: a letter is missing or different.
    #[error("its checksum is wrong; a letter is missing or different")]
    Checksum,
    /// It is the seed of something else, such as an account.
    #[error("it is not the seed of a user, which begins with SU")]
    NotOfUser,
}

/// The key pair of a user.
pub struct UserKey(SigningKey);

impl fmt::Debug for UserKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "UserKey({})", self.public())
    }
}

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// The kind of a key is in the first five bits of what is encoded, so it is its first letter.
const SEED: u8 = 18 << 3;
const USER: u8 = 20 << 3;

impl UserKey {
    /// Reads a seed.
    ///
    /// # Errors
    /// If it is none.
    pub fn of_seed(text: &str) -> Result<Self, SeedProblem> {
        let raw = decode(text.trim()).ok_or(SeedProblem::Form)?;
        let (content, checksum) = raw.split_last_chunk::<2>().ok_or(SeedProblem::Form)?;
        if crc16(content) != u16::from_le_bytes(*checksum) {
            return Err(SeedProblem::Checksum);
        }
        let (kind, seed) = content.split_first_chunk::<2>().ok_or(SeedProblem::Form)?;
        let seed: &[u8; 32] = seed.try_into().map_err(|_| SeedProblem::Form)?;
        let of = (kind[0] & 7) << 5 | kind[1] >> 3;
        if kind[0] & 0xf8 != SEED || of != USER {
            return Err(SeedProblem::NotOfUser);
        }
        Ok(Self(SigningKey::from_bytes(seed)))
    }

    /// The public key.
    pub(crate) fn public(&self) -> String {
        let mut raw = vec![USER];
        raw.extend_from_slice(self.0.verifying_key().as_bytes());
        let checksum = crc16(&raw);
        raw.extend_from_slice(&checksum.to_le_bytes());
        encode(&raw)
    }

    /// The signature of a server's nonce.
    pub(crate) fn sign(&self, nonce: &[u8]) -> [u8; 64] {
        self.0.sign(nonce).to_bytes()
    }
}

/// Base32 without padding (RFC 4648 section 6).
fn encode(bytes: &[u8]) -> String {
    let (mut out, mut held, mut bits) = (String::new(), 0_u32, 0);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            out.push(char::from(ALPHABET[(held >> bits & 31) as usize]));
        }
        held &= (1 << bits) - 1;
    }
    if bits > 0 {
        out.push(char::from(ALPHABET[(held << (5 - bits) & 31) as usize]));
    }
    out
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter)?;
        held = held << 5 | value as u32;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits & 255) as u8);
        }
        held &= (1 << bits) - 1;
    }
    Some(out)
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // A pair of the documentation of NATS' own library.
    const SEED_TEXT: &str = "SUAPM67TC4RHQLKBX55NIQXSMATZDOZK6FNEOSS36CAYA7F7TY66LP4BOM";

    #[test]
    fn a_seed_gives_its_public_key() {
        let key = UserKey::of_seed(SEED_TEXT).unwrap();
        let public = key.public();
        assert_eq!(public, "UCNGL4W5QX66CFX6A6DCBVDH5VOHMI7B2UZZU7TXAUQQSI2JPHULCKBR");
        assert_eq!(key.sign(b"nonce").len(), 64);
        assert_eq!(encode(&decode(&public).unwrap()), public);
        assert!(!format!("{key:?}").contains(SEED_TEXT));
    }

    #[test]
    fn another_text_is_refused_with_its_reason() {
        let refused = |text: &str| UserKey::of_seed(text).unwrap_err();
        assert_eq!(refused(""), SeedProblem::Form);
        assert_eq!(refused("not a seed"), SeedProblem::Form);
        assert_eq!(refused(&SEED_TEXT[..57]), SeedProblem::Checksum);
        assert_eq!(refused(&SEED_TEXT.replace("APM", "APN")), SeedProblem::Checksum);
        let public = UserKey::of_seed(SEED_TEXT).unwrap().public();
        assert!(matches!(refused(&public), SeedProblem::Form | SeedProblem::NotOfUser));
    }
}

//! Hashes, comparisons, encodings and random bytes: `crypto` in pages.
//!
//! Owns the list of algorithms. Never keeps a text or a key longer than a call, except what a
//! [`Hasher`] needs.

use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use base64::{DecodeError, DecodeSliceError, Engine as _};
use ctutils::CtEq as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use memchr::memchr;
use sha2::{Digest as _, Sha256};

/// Bytes of a hash.
pub(super) const HASH_SIZE: usize = 32;

/// A hash of a text in pieces.
pub(super) enum Hasher {
    /// SHA-256 (FIPS 180-4).
    Plain(Sha256),
    /// HMAC-SHA-256 (RFC 2104).
    Keyed(Hmac<Sha256>),
}

impl Hasher {
    pub(super) fn plain() -> Self {
        Self::Plain(Sha256::new())
    }

    pub(super) fn keyed(key: &[u8]) -> Self {
        Self::Keyed(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    pub(super) fn update(&mut self, piece: &[u8]) {
        match self {
            Self::Plain(hash) => hash.update(piece),
            Self::Keyed(code) => code.update(piece),
        }
    }

    pub(super) fn finish(self) -> [u8; HASH_SIZE] {
        match self {
            Self::Plain(hash) => hash.finalize().into(),
            Self::Keyed(code) => code.finalize().into_bytes().into(),
        }
    }
}

/// Whether two texts are equal. The time depends only on their lengths.
pub(super) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).to_bool()
}

/// Fills a buffer with bytes from the operating system's generator. Returns whether it succeeded.
///
/// The generator is asked each time: bytes that are not kept cannot leak, and a machine restored from a snapshot does
/// not repeat them.
pub fn fill_with_random(place: &mut [u8]) -> bool {
    getrandom::fill(place).is_ok()
}

/// An encoding of bytes as text (RFC 4648).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Hexadecimal: lower case is written, both cases are read.
    Hex,
    /// base64 with padding.
    Base64,
    /// A part of a base64 text before its end, so without padding.
    Base64Inside,
    /// base64url without padding, for URLs, cookies and file names.
    Base64Url,
}

impl Encoding {
    /// All of them, in the order of their numbers in the library.
    pub(super) const ALL: [Encoding; 4] =
        [Self::Hex, Self::Base64, Self::Base64Inside, Self::Base64Url];

    /// Maximum bytes of the text for this many bytes.
    pub(super) const fn room_for_text(size: usize) -> usize {
        2 * size + 4
    }

    /// Maximum bytes that a text of this length decodes to, plus what the decoder needs.
    pub(super) const fn room_for_bytes(size: usize) -> usize {
        size + 4
    }

    /// Encodes `bytes` into `place`, which has [the room](Self::room_for_text). Returns the number of bytes written.
    pub(super) fn encode(self, bytes: &[u8], place: &mut [u8]) -> usize {
        let written = match self {
            Self::Hex => return write_hex(bytes, place),
            Self::Base64 | Self::Base64Inside => STANDARD.encode_slice(bytes, place),
            Self::Base64Url => URL_SAFE_NO_PAD.encode_slice(bytes, place),
        };
        written.expect("the place has twice the room")
    }

    /// Decodes `text` into `place`, which has [the room](Self::room_for_bytes). Returns the number of bytes written.
    ///
    /// # Errors
    /// The position of the error, from 0.
    pub(super) fn decode(self, text: &[u8], place: &mut [u8]) -> Result<usize, usize> {
        let decoded = match self {
            Self::Hex => return read_hex(text, place),
            Self::Base64 => STANDARD.decode_slice(text, place),
            Self::Base64Inside => STANDARD_NO_PAD.decode_slice(text, place),
            Self::Base64Url => URL_SAFE_NO_PAD.decode_slice(text, place),
        };
        decoded.map_err(|error| match error {
            DecodeSliceError::DecodeError(
                DecodeError::InvalidByte(offset, _) | DecodeError::InvalidLastSymbol { offset, .. },
            ) => offset,
            // For excess padding the position is its first byte, for missing padding the end.
            DecodeSliceError::DecodeError(DecodeError::InvalidPadding) if self != Self::Base64 => {
                memchr(b'=', text).unwrap_or(text.len())
            }
            DecodeSliceError::DecodeError(
                DecodeError::InvalidLength(_) | DecodeError::InvalidPadding,
            ) => text.len(),
            DecodeSliceError::OutputSliceTooSmall => {
                unreachable!("no text stands for more bytes than it has")
            }
        })
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn write_hex(bytes: &[u8], place: &mut [u8]) -> usize {
    for (byte, pair) in bytes.iter().zip(place.as_chunks_mut::<2>().0) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
    2 * bytes.len()
}

fn read_hex(text: &[u8], place: &mut [u8]) -> Result<usize, usize> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_chunks::<2>();
    for (index, (&[high, low], byte)) in pairs.iter().zip(place).enumerate() {
        let high = digit(high).ok_or(2 * index)?;
        *byte = high << 4 | digit(low).ok_or(2 * index + 1)?;
    }
    if rest.is_empty() { Ok(pairs.len()) } else { Err(text.len() - 1) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(encoding: Encoding, bytes: &[u8]) -> String {
        let mut place = vec![0; Encoding::room_for_text(bytes.len())];
        let size = encoding.encode(bytes, &mut place);
        place.truncate(size);
        String::from_utf8(place).unwrap()
    }

    fn decoded(encoding: Encoding, text: &[u8]) -> Result<Vec<u8>, usize> {
        let mut place = vec![0; Encoding::room_for_bytes(text.len())];
        let size = encoding.decode(text, &mut place)?;
        place.truncate(size);
        Ok(place)
    }

    fn hash(mut hasher: Hasher, text: &[u8]) -> String {
        hasher.update(text);
        encoded(Encoding::Hex, &hasher.finish())
    }

    #[test]
    fn sha_256_gives_the_known_answers() {
        // FIPS 180-4, the examples of NIST; the last is a million times "a".
        for (text, expected) in [
            (&b""[..], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                &[b'a'; 1_000_000],
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
        ] {
            assert_eq!(hash(Hasher::plain(), text), expected);
        }
    }

    #[test]
    fn hmac_gives_the_answers_of_rfc_4231() {
        let counted: Vec<u8> = (1..=25).collect();
        for (key, text, expected) in [
            (
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 20],
                &[0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                &counted,
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than block-size data. \
                The key needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ] {
            assert_eq!(hash(Hasher::keyed(key), text), expected);
        }
    }

    #[test]
    fn encodings_give_the_answers_of_rfc_4648() {
        for (text, base64, hex) in [
            ("", "", ""),
            ("f", "Zg==", "66"),
            ("fo", "Zm8=", "666f"),
            ("foo", "Zm9v", "666f6f"),
            ("foob", "Zm9vYg==", "666f6f62"),
            ("fooba", "Zm9vYmE=", "666f6f6261"),
            ("foobar", "Zm9vYmFy", "666f6f626172"),
        ] {
            assert_eq!(encoded(Encoding::Base64, text.as_bytes()), base64);
            assert_eq!(encoded(Encoding::Base64Url, text.as_bytes()), base64.trim_end_matches('='));
            assert_eq!(encoded(Encoding::Hex, text.as_bytes()), hex);
        }
        assert_eq!(encoded(Encoding::Base64, &[0xfb, 0xff]), "+/8=");
        assert_eq!(encoded(Encoding::Base64Url, &[0xfb, 0xff]), "-_8");
        assert_eq!(decoded(Encoding::Hex, b"00fFAb"), Ok(vec![0, 0xff, 0xab]));
    }

    #[test]
    fn one_text_alone_stands_for_the_same_bytes() {
        use Encoding::{Base64, Base64Inside, Base64Url, Hex};
        for (encoding, text, place) in [
            (Hex, "0", 0),
            (Hex, "00g0", 2),
            (Hex, "000x", 3),
            (Hex, "0a 1", 2),
            (Base64, "Zg=", 3),
            (Base64, "Zg", 2),
            (Base64, "Z", 1),
            // Unused bits that are set, padding inside, line ends, the other alphabet.
            (Base64, "Zh==", 1),
            (Base64, "Zg==Zg==", 2),
            (Base64, "Zm9v\n", 4),
            (Base64, "-_8=", 0),
            (Base64Inside, "Zm8=", 3),
            (Base64Url, "Zg==", 2),
            (Base64Url, "Zh", 1),
            (Base64Url, "+/8", 0),
        ] {
            assert_eq!(decoded(encoding, text.as_bytes()), Err(place), "{encoding:?} {text}");
        }
    }

    #[test]
    fn texts_are_equal_when_all_of_them_is() {
        assert!(is_equal(b"", b"") && is_equal(b"abc", b"abc"));
        for other in [&b"abd"[..], b"bbc", b"ab", b"abcd", b""] {
            assert!(!is_equal(b"abc", other));
        }
    }

    #[test]
    fn random_bytes_differ() {
        let draw = || {
            let mut place = [0; 32];
            assert!(fill_with_random(&mut place));
            place
        };
        let draws: [[u8; 32]; 8] = std::array::from_fn(|_| draw());
        for (index, one) in draws.iter().enumerate() {
            assert!(draws[..index].iter().all(|other| other != one));
        }
    }

    proptest! {
        #[test]
        fn encoded_text_decodes_to_input(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for encoding in [Encoding::Hex, Encoding::Base64, Encoding::Base64Url] {
                let text = encoded(encoding, &bytes);
                prop_assert_eq!(decoded(encoding, text.as_bytes()), Ok(bytes.clone()));
            }
        }

        #[test]
        fn nothing_that_is_decoded_fails_badly(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            for encoding in Encoding::ALL {
                match decoded(encoding, &text) {
                    Ok(bytes) => prop_assert!(bytes.len() <= text.len()),
                    Err(place) => prop_assert!(place <= text.len()),
                }
            }
        }

        #[test]
        fn a_text_in_pieces_has_one_hash(text in proptest::collection::vec(any::<u8>(), 0..300), cut in 0_usize..300) {
            let (one, other) = text.split_at(cut.min(text.len()));
            for start in [Hasher::plain, || Hasher::keyed(b"key")] {
                let mut hasher = start();
                hasher.update(one);
                prop_assert_eq!(hash(hasher, other), hash(start(), &text));
            }
        }
    }
}

//! Compressed messages (permessage-deflate, RFC 7692), each by itself.
//!
//! Owns what is agreed about them, and both directions. Neither side takes context over from one message to the next:
//! an idle connection holds nothing, and bytes that were compressed once are the same for everybody. The tables for
//! compressing are the thread's, made when they are first needed.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::frame::{Opcode, write_deflated_head, write_frame};
use crate::limits::{WEBSOCKET_DEFLATE_FROM, WEBSOCKET_DEFLATE_PIECE};

/// The agreement of both sides for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extension {
    /// No compression.
    #[default]
    None,
    /// Messages may be compressed.
    Deflate,
}

/// The name of the extension.
const NAME: &str = "permessage-deflate";

/// The answer to an offer (section 7.1), and to one that names the window that is used anyway (section 7.1.2.1).
const ACCEPTED: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
const ACCEPTED_WINDOW: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover; \
                               server_max_window_bits=15";

/// The end of every compressed message, which is removed before sending (section 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

thread_local! {
    static COMPRESS: RefCell<Option<Compress>> = const { RefCell::new(None) };
    static DECOMPRESS: RefCell<Option<Decompress>> = const { RefCell::new(None) };
}

/// The value of `Sec-WebSocket-Extensions` that answers the first acceptable offer; `None` if the client offers none.
pub fn answer_to<'f>(fields: impl Iterator<Item = &'f [u8]>) -> Option<&'static str> {
    let mut offers = fields.flat_map(|field| field.split(|byte| *byte == b','));
    offers.find_map(|offer| answer(str::from_utf8(offer).ok()?))
}

fn answer(offer: &str) -> Option<&'static str> {
    let mut parts = offer.split(';').map(str::trim);
    if parts.next() != Some(NAME) {
        return None;
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut accepted = ACCEPTED;
    for part in parts {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim().trim_matches('"'))),
            None => (part, None),
        };
        // Repeated or unknown parameters decline the offer (section 7.1).
        if seen.contains(&name) {
            return None;
        }
        seen.push(name);
        let bits = || value.and_then(window_bits);
        match name {
            "server_no_context_takeover" | "client_no_context_takeover" if value.is_none() => {}
            // A maximum for the client's window: it may use the largest.
            "client_max_window_bits" if value.is_none() || bits().is_some() => {}
            // One message is compressed for all clients, with the largest window.
            "server_max_window_bits" if bits() == Some(15) => accepted = ACCEPTED_WINDOW,
            _ => return None,
        }
    }
    Some(accepted)
}

/// A window as it has to be written: from 8 to 15, without a leading zero (section 7.1.2.1).
fn window_bits(text: &str) -> Option<u8> {
    let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|bits| is_plain && (8..=15).contains(bits))
}

/// Writes a whole message, compressed if that is shorter.
pub fn write_deflated(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    if payload.len() >= WEBSOCKET_DEFLATE_FROM {
        let deflated = deflate(payload);
        if deflated.len() < payload.len() {
            write_deflated_head(out, opcode, deflated.len());
            out.extend_from_slice(&deflated);
            return;
        }
    }
    write_frame(out, opcode, payload);
}

fn deflate(payload: &[u8]) -> Vec<u8> {
    COMPRESS.with_borrow_mut(|compress| {
        let compress = compress.get_or_insert_with(|| Compress::new(Compression::fast(), false));
        compress.reset();
        let mut out = Vec::with_capacity(payload.len() / 2 + WEBSOCKET_DEFLATE_PIECE);
        loop {
            let taken = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
            let rest = payload.get(taken..).unwrap_or_default();
            let room = out.capacity() - out.len();
            let done = compress.compress_vec(rest, &mut out, FlushCompress::Sync);
            // An error is only possible through a mistake of the caller.
            let is_over = done.is_err() || out.len() < out.capacity();
            if is_over && (rest.is_empty() || compress.total_in() == payload.len() as u64) {
                break;
            }
            out.reserve(room.max(WEBSOCKET_DEFLATE_PIECE));
        }
        if out.ends_with(&TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        out
    })
}

/// Why a compressed message is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InflateProblem {
    /// It is not valid deflate data.
    Invalid,
    /// It is too long.
    TooBig,
}

/// Decompresses a message of at most `most` bytes.
pub(super) fn inflate(deflated: &[u8], most: usize) -> Result<Vec<u8>, InflateProblem> {
    DECOMPRESS.with_borrow_mut(|decompress| {
        let decompress = decompress.get_or_insert_with(|| Decompress::new(false));
        decompress.reset(false);
        let mut out = Vec::new();
        for mut rest in [deflated, &TAIL[..]] {
            loop {
                if out.len() == out.capacity() {
                    out.reserve(WEBSOCKET_DEFLATE_PIECE.max(out.len()));
                }
                let (taken, made) = (decompress.total_in(), out.len());
                let status = decompress.decompress_vec(rest, &mut out, FlushDecompress::Sync);
                let status = status.map_err(|_| InflateProblem::Invalid)?;
                if out.len() > most {
                    return Err(InflateProblem::TooBig);
                }
                let taken = usize::try_from(decompress.total_in() - taken).unwrap_or(usize::MAX);
                rest = rest.get(taken..).unwrap_or_default();
                if status == Status::StreamEnd {
                    // A block marked as the last one need not be the last (section 7.2.3.4).
                    decompress.reset(false);
                } else if taken == 0 && out.len() == made {
                    break;
                }
                if rest.is_empty() && out.len() < out.capacity() {
                    break;
                }
            }
            if !rest.is_empty() {
                return Err(InflateProblem::Invalid);
            }
        }
        Ok(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(offer: &str) -> Option<&'static str> {
        answer_to(std::iter::once(offer.as_bytes()))
    }

    #[test]
    fn the_first_offer_that_can_be_kept_is_accepted() {
        for offer in [
            "permessage-deflate",
            "permessage-deflate; client_max_window_bits",
            "permessage-deflate;client_max_window_bits=9 ; server_no_context_takeover",
            "other, permessage-deflate; server_max_window_bits=9, permessage-deflate",
        ] {
            assert_eq!(answered(offer), Some(ACCEPTED), "{offer}");
        }
        let window = "permessage-deflate; server_max_window_bits=\"15\"";
        assert_eq!(answered(window), Some(ACCEPTED_WINDOW));
        for offer in [
            "",
            "permessage-deflates",
            "permessage-deflate; nope",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=015",
            "permessage-deflate; server_max_window_bits=+15",
            "permessage-deflate; client_max_window_bits=08",
            "permessage-deflate; client_max_window_bits=7",
            "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; client_max_window_bits; client_max_window_bits",
        ] {
            assert_eq!(answered(offer), None, "{offer}");
        }
    }

    #[test]
    fn a_message_comes_back_as_it_was() {
        for length in [0, 1, 100, 1_000, 70_000, 1_000_000] {
            let text: Vec<u8> = (0..length).map(|index| (index % 251 / 7) as u8).collect();
            assert_eq!(inflate(&deflate(&text), length).as_ref(), Ok(&text), "{length}");
            if length > 0 {
                assert_eq!(inflate(&deflate(&text), length - 1), Err(InflateProblem::TooBig));
            }
            // Data that compression does not shorten.
            let mut random = fastrand(length as u64);
            let noise: Vec<u8> = (0..length).map(|_| random()).collect();
            assert_eq!(inflate(&deflate(&noise), length), Ok(noise));
        }
    }

    /// A generator of incompressible bytes.
    fn fastrand(seed: u64) -> impl FnMut() -> u8 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        }
    }

    #[test]
    fn the_examples_of_the_specification_are_hello() {
        // RFC 7692, section 7.2.3: one block, one without compression, one that says it is the last, two blocks.
        for deflated in [
            &b"\xf2\x48\xcd\xc9\xc9\x07\x00"[..],
            b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00",
            b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
            b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
        ] {
            assert_eq!(inflate(deflated, 5).as_deref(), Ok(&b"Hello"[..]), "{deflated:x?}");
        }
        for broken in [&b"\xff\xff\xff"[..], b"\x00\x05\x00\xfa\xfe"] {
            assert_eq!(inflate(broken, 1_000), Err(InflateProblem::Invalid), "{broken:x?}");
        }
    }

    #[test]
    fn a_small_message_that_becomes_a_large_one_is_refused() {
        let bomb = deflate(&vec![0; 50_000_000]);
        assert!(bomb.len() < 1_000_000, "{}", bomb.len());
        assert_eq!(inflate(&bomb, 1 << 20), Err(InflateProblem::TooBig));
    }
}

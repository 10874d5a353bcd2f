//! Runs of bytes: where the first byte stands that does not belong.
//!
//! Owns the runs of the grammar and the search for their ends, a block of bytes at a time; which bytes belong is the
//! block's business. Knows nothing of lines or fields. A run never reads outside its input: the last block overlaps the
//! one before.

mod block;

use block::{Block, SIZE};

/// Index of the first byte at or after `at` that is not allowed in a field value (RFC 9110, 5.5: visible
/// ASCII, blank, tab and obs-text are), or the length of the input.
#[inline(always)]
pub(crate) fn value(input: &[u8], mut at: usize) -> usize {
    loop {
        at = run(input, at, Block::stops_in_value);
        match input.get(at) {
            Some(b'\t') => at += 1,
            _ => return at,
        }
    }
}

/// How many bytes at the start of the input are allowed in a request target (visible ASCII without the number sign,
/// which would begin a fragment), and how many of them come before a question mark.
#[inline(always)]
pub(in crate::http) fn target(input: &[u8]) -> (usize, usize) {
    let mut rest = input;
    let mut question = usize::MAX;
    let mut at = 0usize;
    loop {
        let Some((bytes, after)) = rest.split_first_chunk() else {
            let end = run(input, at, Block::stops_in_target);
            return (end, question.min(run(input, at, Block::stops_in_path)).min(end));
        };
        let block = Block::of(*bytes);
        let mark = block.stops_in_path();
        if mark < SIZE {
            question = question.min(at.wrapping_add(mark));
        }
        let end = block.stops_in_target();
        if end < SIZE {
            let end = at.wrapping_add(end);
            return (end, question.min(end));
        }
        at = at.wrapping_add(SIZE);
        rest = after;
    }
}

/// Index of the first question mark, which ends the path of a request target, or the
/// length of the target.
#[inline(always)]
pub(in crate::http) fn path(target: &[u8]) -> usize {
    run(target, 0, Block::stops_in_path)
}

/// Index of the first byte at or after `at` that is not allowed in a token (RFC 9110, 5.6.2), or the
/// length of the input.
#[inline(always)]
pub(crate) fn token(input: &[u8], at: usize) -> usize {
    let end = run(input, at, Block::stops_in_plain_token);
    match input.get(end) {
        Some(&(b':' | b' ')) | None => end,
        Some(_) => rest_of_token(input, end),
    }
}

/// Skips punctuation that is allowed in a token and that the search for plain bytes stops at.
#[inline(never)]
fn rest_of_token(input: &[u8], mut at: usize) -> usize {
    while input.get(at).is_some_and(|&byte| is_token(byte)) {
        at = run(input, at + 1, Block::stops_in_plain_token);
    }
    at
}

/// Index of the first byte at or after `at` that is not a letter, digit, hyphen or dot (nearly all
/// hosts consist of these), or the length of the input.
#[inline(always)]
pub(super) fn plain_host(input: &[u8], at: usize) -> usize {
    run(input, at, Block::stops_in_plain_host)
}

/// Whether the byte is allowed in a token.
pub(in crate::http) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.')
        || matches!(byte, b'^'..=b'`' | b'|' | b'~')
}

/// Whether the byte is allowed in a field value.
pub(in crate::http) const fn is_value(byte: u8) -> bool {
    (byte >= 0x20 && byte != 0x7f) || byte == b'\t'
}

/// Sums of indices wrap, but none exceeds the length of the input.
#[inline(always)]
fn run(input: &[u8], mut at: usize, stops: impl Fn(Block) -> usize) -> usize {
    let mut rest = input.get(at..).unwrap_or_default();
    while let Some((bytes, after)) = rest.split_first_chunk() {
        let length = stops(Block::of(*bytes));
        at = at.wrapping_add(length);
        if length < SIZE {
            return at;
        }
        rest = after;
    }
    at.wrapping_add(last(input, rest, stops))
}

/// The end of the input, where less than a block is left: `rest` is what the blocks before have left.
#[inline(never)]
fn last(input: &[u8], rest: &[u8], stops: impl Fn(Block) -> usize) -> usize {
    let bits = match input.last_chunk() {
        Some(bytes) => {
            let before = 8 * (SIZE - rest.len()) as u32;
            u128::from_le_bytes(*bytes).checked_shr(before).unwrap_or(0)
        }
        None => short(rest),
    };
    stops(Block::of(bits.to_le_bytes())).min(rest.len())
}

/// Less than a block as a number. The words of a longer input overlap.
#[inline(always)]
fn short(input: &[u8]) -> u128 {
    if let (Some(first), Some(last)) = (input.first_chunk(), input.last_chunk()) {
        let behind = u128::from(u64::from_le_bytes(*last)) << (8 * (input.len() - 8));
        return u128::from(u64::from_le_bytes(*first)) | behind;
    }
    if let (Some(first), Some(last)) = (input.first_chunk(), input.last_chunk()) {
        let behind = u64::from(u32::from_le_bytes(*last)) << (8 * (input.len() - 4));
        return u128::from(u64::from(u32::from_le_bytes(*first)) | behind);
    }
    input.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slowly(input: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> usize {
        input[at..].iter().position(|&byte| !belongs(byte)).map_or(input.len(), |run| at + run)
    }

    fn check(input: &[u8], at: usize) {
        assert_eq!(value(input, at), slowly(input, at, is_value), "value {input:x?}");
        let in_target = |byte| matches!(byte, 0x21..=0x7e) && byte != b'#';
        let end = slowly(input, at, in_target);
        let question = slowly(&input[..end], at, |byte| byte != b'?');
        assert_eq!(target(&input[at..]), (end - at, question - at), "target {input:x?}");
        assert_eq!(token(input, at), slowly(input, at, is_token), "token {input:x?}");
        let in_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        assert_eq!(plain_host(input, at), slowly(input, at, in_host), "host {input:x?}");
        let in_path = |byte| byte != b'?';
        assert_eq!(path(&input[at..]), slowly(&input[at..], 0, in_path), "path {input:x?}");
    }

    #[test]
    fn every_byte_in_every_lane_with_every_neighbour() {
        for byte in 0..=255 {
            for neighbour in 0..=255 {
                for length in [1, 5, 15, 16, 17, 33] {
                    let mut input = [b'a'; 33];
                    input[length - 1] = byte;
                    if length > 1 {
                        input[length - 2] = neighbour;
                    }
                    check(&input[..length], 0);
                    check(&input, length / 2);
                }
            }
        }
    }

    #[test]
    fn token_bytes_are_those_of_the_grammar() {
        let tokens: Vec<u8> = (0..=255).filter(|&byte| is_token(byte)).collect();
        let grammar =
            b"!#$%&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz|~";
        assert_eq!(tokens, grammar);
    }

    proptest! {
        #[test]
        fn a_run_ends_where_the_slow_one_does(
            input in prop::collection::vec(any::<u8>(), 0..80),
            text in "[ -~\t]{0,80}",
            at in 0usize..80,
        ) {
            check(&input, at.min(input.len()));
            check(text.as_bytes(), at.min(text.len()));
        }
    }
}

//! Runs of bytes: where the first byte stands that does not belong.
//!
//! Owns the byte classes of the grammar and the eight-bytes-at-a-time search for their ends. Knows
//! nothing of lines or fields. A run never reads outside its input: the last word overlaps the one before.
//!
//! A word is looked at with ordinary arithmetic: a class answers a word in which the highest bit of each
//! byte that does not belong is set. Bits above the lowest one may be wrong (a borrow runs upwards); the
//! lowest one is exact, and only that one is used.

/// Bytes that are looked at together.
const LANES: usize = 8;

/// Every byte of a word holds this byte.
const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; LANES])
}

const HIGH: u64 = all(0x80);
const LOW: u64 = all(0x7f);

/// Index of the first byte at or after `at` that may not stand in a field value (RFC 9110, 5.5: visible
/// ASCII, blank, tab and obs-text may), or the length of the input.
#[inline(always)]
pub(in crate::http) fn value(input: &[u8], mut at: usize) -> usize {
    loop {
        at = run(input, at, stops_in_value);
        match input.get(at) {
            Some(b'\t') => at += 1,
            _ => return at,
        }
    }
}

/// Index of the first byte at or after `at` that may not stand in a request target (visible ASCII but
/// the number sign, which would begin a fragment), or the length of the input.
#[inline(always)]
pub(super) fn target(input: &[u8], at: usize) -> usize {
    run(input, at, stops_in_target)
}

/// Index of the first question mark of the target between these two indices, or its end. Words are read beyond the target: its line
/// goes on, so that the last one is there in full.
#[inline(always)]
pub(super) fn path_within(input: &[u8], mut at: usize, end: usize) -> usize {
    while at < end {
        let Some(bytes) = input.get(at..).and_then(<[u8]>::first_chunk) else {
            return last_word(input, at, stops_in_path).min(end);
        };
        let found = stops_in_path(u64::from_le_bytes(*bytes));
        if found != 0 {
            return (at + lane(found)).min(end);
        }
        at += LANES;
    }
    end
}

/// Index of the first question mark, where the path of a request target ends and its query begins, or the
/// length of the target.
#[inline(always)]
pub(in crate::http) fn path(target: &[u8]) -> usize {
    run(target, 0, stops_in_path)
}

/// Index of the first byte at or after `at` that may not stand in a token (RFC 9110, 5.6.2), or the
/// length of the input.
#[inline(always)]
pub(in crate::http) fn token(input: &[u8], at: usize) -> usize {
    let end = run(input, at, stops_in_plain_token);
    match input.get(end) {
        Some(&(b':' | b' ')) | None => end,
        Some(_) => rest_of_token(input, end),
    }
}

/// Steps over the punctuation that a token may have and the run over plain bytes does not know.
#[inline(never)]
fn rest_of_token(input: &[u8], mut at: usize) -> usize {
    while input.get(at).is_some_and(|&byte| is_token(byte)) {
        at = run(input, at + 1, stops_in_plain_token);
    }
    at
}

/// Index of the first byte at or after `at` that is not a letter, a digit, a hyphen or a dot, which are
/// the bytes of nearly every host; or the length of the input.
#[inline(always)]
pub(super) fn plain_host(input: &[u8], at: usize) -> usize {
    run(input, at, stops_in_plain_host)
}

/// Whether the byte may stand in a token.
pub(in crate::http) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.')
        || matches!(byte, b'^'..=b'`' | b'|' | b'~')
}

/// Whether the byte may stand in a field value.
pub(in crate::http) const fn is_value(byte: u8) -> bool {
    (byte >= 0x20 && byte != 0x7f) || byte == b'\t'
}

/// Controls, tab included: the caller lets the tab pass.
#[inline(always)]
const fn stops_in_value(word: u64) -> u64 {
    let control = word.wrapping_sub(all(0x20));
    let delete = (word ^ all(0x7f)).wrapping_sub(all(1));
    (control | delete) & !word & HIGH
}

#[inline(always)]
const fn stops_in_target(word: u64) -> u64 {
    let blank = word.wrapping_sub(all(0x21));
    let delete = word.wrapping_add(all(1));
    let fragment = (word ^ all(b'#')).wrapping_sub(all(1));
    (blank | delete | fragment | word) & HIGH
}

#[inline(always)]
const fn stops_in_path(word: u64) -> u64 {
    let question = word ^ all(b'?');
    question.wrapping_sub(all(1)) & !question & HIGH
}

/// All but letters, digits and the hyphen: the caller looks at the rare other bytes one by one.
#[inline(always)]
const fn stops_in_plain_token(word: u64) -> u64 {
    let hyphen = HIGH.wrapping_sub(word & LOW ^ all(b'-'));
    (!(letters_and_digits(word) | hyphen) | word) & HIGH
}

/// All but letters, digits, the hyphen and the dot.
#[inline(always)]
const fn stops_in_plain_host(word: u64) -> u64 {
    let hyphen = HIGH.wrapping_sub(word & LOW ^ all(b'-'));
    let dot = HIGH.wrapping_sub(word & LOW ^ all(b'.'));
    (!(letters_and_digits(word) | hyphen | dot) | word) & HIGH
}

/// The highest bit of each byte below 0x80 that is a letter or a digit. No sum leaves its byte.
#[inline(always)]
const fn letters_and_digits(word: u64) -> u64 {
    let seven = word & LOW;
    let lower = seven | all(0x20);
    let letter = lower.wrapping_add(all(0x80 - b'a')) & !lower.wrapping_add(all(0x7f - b'z'));
    let digit = seven.wrapping_add(all(0x80 - b'0')) & !seven.wrapping_add(all(0x7f - b'9'));
    letter | digit
}

#[inline(always)]
fn run(input: &[u8], mut at: usize, stops: impl Fn(u64) -> u64) -> usize {
    while let Some(bytes) = input.get(at..).and_then(<[u8]>::first_chunk) {
        let found = stops(u64::from_le_bytes(*bytes));
        if found != 0 {
            return at + lane(found);
        }
        at += LANES;
    }
    last_word(input, at, stops)
}

/// The end of the input, where no whole word is left: whether the padding ends the run or not, it ends here. A line mostly goes on behind
/// a run, so this is out of the way of what does.
#[cold]
#[inline(never)]
fn last_word(input: &[u8], at: usize, stops: impl Fn(u64) -> u64) -> usize {
    let word = match input.last_chunk() {
        Some(bytes) => {
            let begin = input.len() - LANES;
            u64::from_le_bytes(*bytes).checked_shr(8 * (at - begin) as u32).unwrap_or(0)
        }
        None => input.iter().skip(at).rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    at + lane(stops(word)).min(input.len() - at)
}

#[inline(always)]
const fn lane(found: u64) -> usize {
    (found.trailing_zeros() / 8) as usize
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
        assert_eq!(target(input, at), slowly(input, at, in_target), "target {input:x?}");
        assert_eq!(token(input, at), slowly(input, at, is_token), "token {input:x?}");
        let in_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        assert_eq!(plain_host(input, at), slowly(input, at, in_host), "host {input:x?}");
        let in_path = |byte| byte != b'?';
        assert_eq!(path(&input[at..]), slowly(&input[at..], 0, in_path), "path {input:x?}");
        for end in at..=input.len() {
            let expected = slowly(&input[..end], at, in_path);
            assert_eq!(path_within(input, at, end), expected, "path to {end} {input:x?}");
        }
    }

    #[test]
    fn every_byte_in_every_lane_with_every_neighbour() {
        for byte in 0..=255 {
            for neighbour in 0..=255 {
                for length in [1, 5, 8, 9, 17] {
                    let mut input = [b'a'; 17];
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
            input in prop::collection::vec(any::<u8>(), 0..40),
            text in "[ -~\t]{0,40}",
            at in 0usize..40,
        ) {
            check(&input, at.min(input.len()));
            check(text.as_bytes(), at.min(text.len()));
        }
    }
}

//! Integers with a prefix of some bits (RFC 7541, 5.1).
//!
//! Owns their form and their bound: 32 bits.

use super::HpackError;

/// Bytes behind the first that an integer may have: as many as 32 bits need. More are refused even if they are zeros,
/// because they would be work without a meaning.
const MORE_BYTES: u32 = 5;

/// Reads an integer with a prefix of this many bits at the beginning of the input, and takes it from there.
#[inline(always)]
pub(super) fn read(input: &mut &[u8], prefix_bits: u32) -> Result<u32, HpackError> {
    let (first, rest) = input.split_first().ok_or(HpackError::Truncated)?;
    *input = rest;
    let most = (1u32 << prefix_bits) - 1;
    let value = u32::from(*first) & most;
    if value < most { Ok(value) } else { read_more(input, most) }
}

#[inline(never)]
fn read_more(input: &mut &[u8], prefix: u32) -> Result<u32, HpackError> {
    let mut value = u64::from(prefix);
    for shift in 0..MORE_BYTES {
        let (byte, rest) = input.split_first().ok_or(HpackError::Truncated)?;
        *input = rest;
        // Five times seven bits fit in 64.
        value += u64::from(byte & 0x7f) << (7 * shift);
        if byte & 0x80 == 0 {
            return u32::try_from(value).map_err(|_| HpackError::IntegerTooLarge);
        }
    }
    Err(HpackError::IntegerTooLarge)
}

/// Writes an integer with a prefix of this many bits, whose byte has these other bits set.
#[inline(always)]
pub(super) fn write(out: &mut Vec<u8>, bits: u8, prefix_bits: u32, value: u32) {
    let most = (1u32 << prefix_bits) - 1;
    if value < most {
        // Less than a byte.
        out.push(bits | value as u8);
    } else {
        out.push(bits | most as u8);
        write_more(out, value - most);
    }
}

#[inline(never)]
fn write_more(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(mut bytes: &[u8], prefix_bits: u32) -> Result<(u32, usize), HpackError> {
        let read = read(&mut bytes, prefix_bits)?;
        Ok((read, bytes.len()))
    }

    /// RFC 7541, C.1.
    #[test]
    fn the_integers_of_the_rfc() {
        assert_eq!(whole(&[0xea], 5), Ok((10, 0)));
        assert_eq!(whole(&[0x1f, 0x9a, 0x0a], 5), Ok((1337, 0)));
        assert_eq!(whole(&[42], 8), Ok((42, 0)));
    }

    #[test]
    fn an_integer_is_read_as_it_was_written() {
        for prefix in 4..=8 {
            for value in (0..40).flat_map(|shift| {
                let power = (1u64 << shift).min(u64::from(u32::MAX)) as u32;
                [power - 1, power, power.saturating_add(1), power.saturating_add(200)]
            }) {
                let mut out = Vec::new();
                write(&mut out, 0, prefix, value);
                assert_eq!(whole(&out, prefix), Ok((value, 0)), "{value} {prefix}");
                for cut in 0..out.len() {
                    assert_eq!(whole(&out[..cut], prefix), Err(HpackError::Truncated));
                }
            }
        }
    }

    #[test]
    fn an_integer_beyond_32_bits_is_refused() {
        let largest = [0xff, 0x80, 0xfe, 0xff, 0xff, 0x0f];
        assert_eq!(whole(&largest, 8), Ok((u32::MAX, 0)));
        let one_more = [0xff, 0x81, 0xfe, 0xff, 0xff, 0x0f];
        assert_eq!(whole(&one_more, 8), Err(HpackError::IntegerTooLarge));
        let zeros = [0x1f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00];
        assert_eq!(whole(&zeros, 5), Err(HpackError::IntegerTooLarge));
        assert_eq!(whole(&zeros[..5], 5), Err(HpackError::Truncated));
    }
}

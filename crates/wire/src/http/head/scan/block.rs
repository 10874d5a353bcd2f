//! Sixteen bytes looked at together.
//!
//! Owns the byte classes of the grammar, each as the index of the first byte of a block that does not belong, which is
//! the size of a block where all belong. Which runs are looked for, and where, is the business of `scan`.

use wide::u8x16;

/// Bytes of a block.
pub(super) const SIZE: usize = 16;

/// One block of input.
#[derive(Clone, Copy)]
pub(super) struct Block(u8x16);

impl Block {
    #[inline(always)]
    pub(super) const fn of(bytes: [u8; SIZE]) -> Block {
        Block(u8x16::new(bytes))
    }

    /// Control characters including tab, which the caller then allows.
    #[inline(always)]
    pub(super) fn stops_in_value(self) -> usize {
        first(self.within(0, 0x1f) | self.equal(0x7f))
    }

    /// Everything except visible ASCII, and the number sign.
    #[inline(always)]
    pub(super) fn stops_in_target(self) -> usize {
        first(!self.within(0x21, 0x7e) | self.equal(b'#'))
    }

    /// The question mark.
    #[inline(always)]
    pub(super) fn stops_in_path(self) -> usize {
        first(self.equal(b'?'))
    }

    /// Everything except letters, digits and the hyphen. The caller checks the other, rare bytes one by one.
    #[inline(always)]
    pub(super) fn stops_in_plain_token(self) -> usize {
        first(!(self.letters() | self.within(b'0', b'9') | self.equal(b'-')))
    }

    /// Everything except letters, digits, the hyphen and the dot.
    #[inline(always)]
    pub(super) fn stops_in_plain_host(self) -> usize {
        // The slash is between the dot and the digits.
        first(!(self.letters() | self.within(b'-', b'9')) | self.equal(b'/'))
    }

    #[inline(always)]
    fn letters(self) -> u8x16 {
        Block(self.0 | u8x16::splat(0x20)).within(b'a', b'z')
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u8x16 {
        self.0.simd_eq(u8x16::splat(byte))
    }

    /// Bytes from `low` to `high`, inclusive.
    #[inline(always)]
    fn within(self, low: u8, high: u8) -> u8x16 {
        let above = self.0 - u8x16::splat(low);
        above.min(u8x16::splat(high - low)).simd_eq(above)
    }
}

#[inline(always)]
fn first(marked: u8x16) -> usize {
    // One bit more than there are bytes: if none is marked, that one is first.
    (marked.to_bitmask() | 1 << SIZE).trailing_zeros() as usize
}

//! The Huffman code of strings (RFC 7541, 5.2 and appendix B).
//!
//! Owns the code and its tables. The code is canonical, so the lengths of its symbols say all; the tables are made of
//! them when the program is compiled. Never knows what a string is for.

use super::HpackError;

/// Symbols: the bytes, and the one that ends strings.
const SYMBOLS: usize = 257;
const END: u16 = 256;

/// Bits of each symbol (appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The longest symbol.
const LONGEST: usize = 30;

/// Bits that the short table looks at: every byte that is usual in a field has at most these.
const SHORT_BITS: u32 = 10;

/// A symbol and its length. Length 0: the symbol is longer than the short table's bits.
#[derive(Clone, Copy)]
struct Short {
    symbol: u8,
    bits: u8,
}

/// The symbol that each sequence of bits begins with.
static SHORT: [Short; 1 << SHORT_BITS] = short();

const fn short() -> [Short; 1 << SHORT_BITS] {
    let mut table = [Short { symbol: 0, bits: 0 }; 1 << SHORT_BITS];
    let mut symbol = 0;
    while symbol < SYMBOLS - 1 {
        let bits = LENGTHS[symbol];
        if bits as u32 <= SHORT_BITS {
            let free = SHORT_BITS - bits as u32;
            let mut at = CODES[symbol] << free;
            let end = (CODES[symbol] + 1) << free;
            while at < end {
                table[at as usize] = Short { symbol: symbol as u8, bits };
                at += 1;
            }
        }
        symbol += 1;
    }
    table
}

/// The bits of each symbol, in the lowest places.
static CODES: [u32; SYMBOLS] = CANON.codes;

/// The symbols in the order of their codes, and where each length begins.
static SORTED: [u16; SYMBOLS] = CANON.sorted;
static BEGINS: [Begin; LONGEST + 2] = CANON.begins;

/// Where the codes of a length begin.
#[derive(Clone, Copy)]
struct Begin {
    /// The first code, at the top of 32 bits. 33 bits, because the end of the last length is beyond them.
    code: u64,
    /// Its place among the sorted symbols.
    place: u16,
}

struct Canon {
    codes: [u32; SYMBOLS],
    sorted: [u16; SYMBOLS],
    begins: [Begin; LONGEST + 2],
}

const CANON: Canon = canon();

/// A canonical code counts: symbols of one length in their order, shorter ones before longer ones.
const fn canon() -> Canon {
    let mut codes = [0; SYMBOLS];
    let mut sorted = [0; SYMBOLS];
    let mut begins = [Begin { code: 0, place: 0 }; LONGEST + 2];
    let mut code = 0u64;
    let mut place = 0;
    let mut bits = 1;
    while bits <= LONGEST {
        code *= 2;
        begins[bits] = Begin { code: code << (32 - bits), place };
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == bits {
                codes[symbol] = code as u32;
                sorted[place as usize] = symbol as u16;
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        bits += 1;
    }
    begins[LONGEST + 1] = Begin { code: 1 << 32, place };
    Canon { codes, sorted, begins }
}

/// Bits that are still to be read, at the top, and how many they are.
struct Bits {
    bits: u64,
    count: u32,
}

/// Appends the string that the code means.
pub(super) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    // The shortest symbols have five bits.
    out.reserve(input.len() / 5 * 8 + 8);
    let mut rest = input;
    let mut bits = Bits { bits: 0, count: 0 };
    loop {
        bits.fill(&mut rest);
        while bits.count >= LONGEST as u32 {
            let short = bits.short();
            if short.bits != 0 {
                out.push(short.symbol);
                bits.skip(short.bits.into());
            } else {
                out.push(bits.long()?);
            }
        }
        if rest.is_empty() {
            return bits.finish(out);
        }
    }
}

impl Bits {
    /// Takes as many bytes as there is room for.
    #[inline(always)]
    fn fill(&mut self, rest: &mut &[u8]) {
        if let Some((word, _)) = rest.split_first_chunk() {
            // Bits beyond the count are put there again, by the next call.
            self.bits |= u64::from_be_bytes(*word) >> self.count;
            let bytes = (63 - self.count) / 8;
            self.count += bytes * 8;
            *rest = rest.get(bytes as usize..).unwrap_or_default();
        } else {
            while self.count <= 56
                && let Some((byte, after)) = rest.split_first()
            {
                self.bits |= u64::from(*byte) << (56 - self.count);
                self.count += 8;
                *rest = after;
            }
        }
    }

    #[inline(always)]
    fn short(&self) -> Short {
        SHORT[(self.bits >> (64 - SHORT_BITS)) as usize]
    }

    #[inline(always)]
    fn skip(&mut self, bits: u32) {
        self.bits <<= bits;
        self.count -= bits;
    }

    /// A symbol that the short table does not have.
    #[inline(never)]
    fn long(&mut self) -> Result<u8, HpackError> {
        let code = self.bits >> 32;
        let mut bits = SHORT_BITS as usize + 1;
        while bits < LONGEST && code >= BEGINS[bits + 1].code {
            bits += 1;
        }
        let begin = BEGINS[bits];
        let place = usize::from(begin.place) + ((code - begin.code) >> (32 - bits)) as usize;
        let symbol = SORTED[place];
        if bits as u32 > self.count {
            return Err(HpackError::Padding);
        }
        if symbol == END {
            return Err(HpackError::EndOfString);
        }
        self.skip(bits as u32);
        Ok(symbol as u8)
    }

    /// The last symbols, and the padding: at most 7 bits, the first of the symbol that ends strings.
    fn finish(mut self, out: &mut Vec<u8>) -> Result<(), HpackError> {
        loop {
            // Fewer than 30 bits are left.
            let padded = self.bits | u64::MAX >> self.count;
            if self.count < 8 && padded == u64::MAX {
                return Ok(());
            }
            self.bits = padded;
            let short = self.short();
            if short.bits == 0 {
                out.push(self.long()?);
            } else if u32::from(short.bits) > self.count {
                return Err(HpackError::Padding);
            } else {
                out.push(short.symbol);
                self.skip(short.bits.into());
            }
        }
    }
}

/// Bytes of a string in the code.
pub(super) fn encoded_size(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends a string in the code.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0u64;
    let mut count = 0u32;
    for byte in text {
        let symbol = usize::from(*byte);
        let length = u32::from(LENGTHS[symbol]);
        // At most 31 bits of before and 30 more.
        bits = bits << length | u64::from(CODES[symbol]);
        count += length;
        if count >= 32 {
            count -= 32;
            out.extend_from_slice(&((bits >> count) as u32).to_be_bytes());
        }
    }
    let padding = count.next_multiple_of(8) - count;
    bits = bits << padding | ((1 << padding) - 1);
    count += padding;
    while count > 0 {
        count -= 8;
        out.push((bits >> count) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(input: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut out = Vec::new();
        decode(input, &mut out).map(|()| out)
    }

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(text, &mut out);
        assert_eq!(out.len(), encoded_size(text));
        out
    }

    /// RFC 7541, C.4.1 and appendix B.
    #[test]
    fn the_code_is_that_of_the_rfc() {
        let domain = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(encoded(b"www.example.com"), domain);
        assert_eq!(decoded(&domain).unwrap(), b"www.example.com");
        for (symbol, code) in
            [(0, 0x1ff8), (b'0', 0), (b'Z', 0xfd), (10, 0x3fff_fffc), (255, 0x3ff_ffee)]
        {
            assert_eq!(CODES[usize::from(symbol)], code, "{symbol}");
        }
        assert_eq!(CODES[usize::from(END)], 0x3fff_ffff);
    }

    #[test]
    fn each_byte_is_read_as_it_was_written_wherever_it_stands() {
        for byte in 0..=255u8 {
            for before in 0..9 {
                for behind in 0..9 {
                    let mut text = vec![b'0'; before];
                    text.push(byte);
                    text.extend(vec![b':'; behind]);
                    assert_eq!(decoded(&encoded(&text)).as_deref(), Ok(&text[..]));
                }
            }
        }
    }

    /// RFC 7541, 5.2.
    #[test]
    fn wrong_padding_and_the_end_symbol_are_refused() {
        assert_eq!(decoded(b""), Ok(vec![]));
        // `0` has the bits 00000.
        assert_eq!(decoded(&[0b0000_0111]), Ok(vec![b'0']));
        for wrong in [
            &[0b0000_0110][..],
            &[0b0000_0011],
            &[0xff],
            &[0x00, 0b0000_0111, 0xff],
            &[0xff, 0xff, 0xff],
            // The beginning of a long symbol.
            &[0xff, 0xff, 0xfe],
        ] {
            assert_eq!(decoded(wrong), Err(HpackError::Padding), "{wrong:x?}");
        }
        for end in [&[0xff, 0xff, 0xff, 0xff][..], &[0x07, 0xff, 0xff, 0xff, 0xff], &[0xff; 40]] {
            assert_eq!(decoded(end), Err(HpackError::EndOfString), "{end:x?}");
        }
    }
}

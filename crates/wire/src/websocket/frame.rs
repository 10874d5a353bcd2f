//! One frame (RFC 6455 section 5.2): its head, its mask, and how it is written.
//!
//! Owns the layout. Never knows which frame may follow which: the reader does.

use super::close::CloseCode;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// Continues a message.
    Continuation,
    /// A text message, or the beginning of one.
    Text,
    /// A binary message, or the beginning of one.
    Binary,
    /// The end of the connection.
    Close,
    /// Asks whether the peer is there.
    Ping,
    /// Answers a ping.
    Pong,
}

impl Opcode {
    fn of_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    /// Whether it may come between the fragments of a message (section 5.5).
    pub(super) fn is_control(self) -> bool {
        self.bits() & 8 != 0
    }
}

/// Most bytes of a control frame (section 5.5).
pub(super) const CONTROL_BYTES: usize = 125;

/// Marks the last fragment.
const FINAL: u8 = 0x80;
/// Marks a compressed message, in its first frame (RFC 7692, section 6).
const DEFLATED: u8 = 0x40;
/// Bits of other extensions, none of which is supported.
const RESERVED: u8 = 0x30;
/// Marks a masked payload.
const MASKED: u8 = 0x80;

/// The head of a frame. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) opcode: Opcode,
    pub(crate) is_final: bool,
    pub(crate) is_deflated: bool,
    pub(crate) mask: Option<[u8; 4]>,
    pub(crate) payload: u64,
    /// Bytes of the head itself.
    pub(crate) length: usize,
}

/// Why bytes are not the head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadProblem {
    Reserved,
    Opcode,
    Control,
    Length,
}

impl Head {
    /// Reads a head; `None` if it is incomplete. Errors in its first two bytes are found as soon as these are there.
    pub(super) fn read(input: &[u8]) -> Result<Option<Self>, HeadProblem> {
        let [first, second, rest @ ..] = input else {
            return input.first().map_or(Ok(()), |first| opcode(*first).map(drop)).map(|()| None);
        };
        let opcode = opcode(*first)?;
        let is_final = first & FINAL != 0;
        let short = second & !MASKED;
        if opcode.is_control() && (!is_final || usize::from(short) > CONTROL_BYTES) {
            return Err(HeadProblem::Control);
        }
        let (payload, more) = match short {
            126 => match rest.first_chunk() {
                Some(bytes) => (u64::from(u16::from_be_bytes(*bytes)), 2),
                None => return Ok(None),
            },
            127 => match rest.first_chunk() {
                Some(bytes) => (u64::from_be_bytes(*bytes), 8),
                None => return Ok(None),
            },
            short => (u64::from(short), 0),
        };
        // A length must be written in the shortest form (section 5.2).
        let is_longer_than_needed = more == 2 && payload < 126 || more == 8 && payload < 0x1_0000;
        if is_longer_than_needed || payload >> 63 != 0 {
            return Err(HeadProblem::Length);
        }
        let mask = if second & MASKED == 0 {
            None
        } else {
            match rest[more..].first_chunk() {
                Some(mask) => Some(*mask),
                None => return Ok(None),
            }
        };
        let length = 2 + more + mask.map_or(0, |mask| mask.len());
        let is_deflated = first & DEFLATED != 0;
        Ok(Some(Self { opcode, is_final, is_deflated, mask, payload, length }))
    }
}

fn opcode(first: u8) -> Result<Opcode, HeadProblem> {
    if first & RESERVED != 0 {
        return Err(HeadProblem::Reserved);
    }
    Opcode::of_bits(first & 0x0f).ok_or(HeadProblem::Opcode)
}

/// Applies a mask (section 5.3), eight bytes at a time. `offset` is the position of the payload's first byte in its
/// frame.
pub(super) fn apply_mask(payload: &mut [u8], mask: [u8; 4], offset: u64) {
    let mut key = mask;
    key.rotate_left((offset % 4) as usize);
    let [a, b, c, d] = key;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = payload.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// Writes a whole message in one frame, as a server does.
pub fn write_frame(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    write_head(out, opcode, payload.len(), 0);
    out.extend_from_slice(payload);
}

/// Writes the head of a whole compressed message.
pub(super) fn write_deflated_head(out: &mut Vec<u8>, opcode: Opcode, payload: usize) {
    let begin = out.len();
    write_head(out, opcode, payload, 0);
    if let Some(first) = out.get_mut(begin) {
        *first |= DEFLATED;
    }
}

/// Writes a whole message in one masked frame, as a client does.
pub fn write_masked(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8], mask: [u8; 4]) {
    write_head(out, opcode, payload.len(), MASKED);
    out.extend_from_slice(&mask);
    let begin = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[begin..], mask, 0);
}

/// Writes a control frame of a server. Payload beyond 125 bytes is left out.
pub fn write_control(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    write_frame(out, opcode, &payload[..payload.len().min(CONTROL_BYTES)]);
}

/// Writes a close frame of a server. A reason of more than 123 bytes is left out.
pub fn write_close(out: &mut Vec<u8>, code: Option<CloseCode>, reason: &str) {
    let mut payload = Vec::with_capacity(2 + reason.len());
    if let Some(code) = code {
        payload.extend_from_slice(&code.number().to_be_bytes());
        if payload.len() + reason.len() <= CONTROL_BYTES {
            payload.extend_from_slice(reason.as_bytes());
        }
    }
    write_frame(out, Opcode::Close, &payload);
}

fn write_head(out: &mut Vec<u8>, opcode: Opcode, payload: usize, masked: u8) {
    out.push(FINAL | opcode.bits());
    match payload {
        0..=125 => out.push(masked | payload as u8),
        126..=0xffff => {
            out.push(masked | 126);
            out.extend_from_slice(&(payload as u16).to_be_bytes());
        }
        _ => {
            out.push(masked | 127);
            out.extend_from_slice(&(payload as u64).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 section 5.7 has these bytes.
    #[test]
    fn the_frames_of_the_rfc_are_written() {
        let mut out = Vec::new();
        write_frame(&mut out, Opcode::Text, b"Hello");
        assert_eq!(out, [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
        out.clear();
        write_masked(&mut out, Opcode::Text, b"Hello", [0x37, 0xfa, 0x21, 0x3d]);
        assert_eq!(out, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
        out.clear();
        write_frame(&mut out, Opcode::Binary, &[0; 256]);
        assert_eq!(out[..4], [0x82, 0x7e, 0x01, 0x00]);
        out.clear();
        write_frame(&mut out, Opcode::Binary, &[0; 65_536]);
        assert_eq!(out[..10], [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        for payload in [0, 1, 125, 126, 127, 65_535, 65_536, 100_000] {
            let mut out = Vec::new();
            write_masked(&mut out, Opcode::Binary, &vec![7; payload], [1, 2, 3, 4]);
            let length = out.len() - payload;
            for cut in 0..length {
                assert_eq!(Head::read(&out[..cut]), Ok(None), "{payload} {cut}");
            }
            let head = Head::read(&out).unwrap().unwrap();
            assert_eq!((head.payload, head.length), (payload as u64, length));
            assert_eq!(
                (head.opcode, head.is_final, head.mask),
                (Opcode::Binary, true, Some([1, 2, 3, 4]))
            );
        }
    }

    /// RFC 6455 sections 5.2 and 5.5.
    #[test]
    fn heads_that_must_not_be_are_refused_as_soon_as_they_are_known() {
        let cases: &[(&[u8], HeadProblem)] = &[
            (&[0xa1, 0x80], HeadProblem::Reserved),
            (&[0x91], HeadProblem::Reserved),
            (&[0x83], HeadProblem::Opcode),
            (&[0x87], HeadProblem::Opcode),
            (&[0x8b], HeadProblem::Opcode),
            (&[0x8f], HeadProblem::Opcode),
            (&[0x09, 0x80], HeadProblem::Control),
            (&[0x89, 0xfe], HeadProblem::Control),
            (&[0x88, 0xff], HeadProblem::Control),
            (&[0x82, 0xfe, 0x00, 0x7d], HeadProblem::Length),
            (&[0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff], HeadProblem::Length),
            (&[0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0], HeadProblem::Length),
        ];
        for (input, problem) in cases {
            assert_eq!(Head::read(input), Err(*problem), "{input:x?}");
        }
    }

    #[test]
    fn a_mask_is_applied_at_any_offset() {
        let plain: Vec<u8> = (0..100).collect();
        let mask = [0x11, 0x22, 0x33, 0x44];
        let whole: Vec<u8> =
            plain.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]).collect();
        for cut in 0..=plain.len() {
            let mut pieces = plain.clone();
            let (first, second) = pieces.split_at_mut(cut);
            apply_mask(first, mask, 0);
            apply_mask(second, mask, cut as u64);
            assert_eq!(pieces, whole, "{cut}");
        }
    }

    #[test]
    fn a_close_has_a_code_and_a_reason() {
        let mut out = Vec::new();
        write_close(&mut out, Some(CloseCode::NORMAL), "bye");
        assert_eq!(out, b"\x88\x05\x03\xe8bye");
        out.clear();
        write_close(&mut out, None, "");
        assert_eq!(out, [0x88, 0x00]);
        out.clear();
        write_close(&mut out, Some(CloseCode::NORMAL), &"x".repeat(124));
        assert_eq!(out, [0x88, 0x02, 0x03, 0xe8]);
    }
}

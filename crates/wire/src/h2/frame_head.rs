//! The first nine bytes of a frame (RFC 9113, 4.1).
//!
//! Owns their layout, the kinds of frames and their flags.

/// Bytes of the head of a frame.
pub const FRAME_HEAD_BYTES: usize = 9;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Bytes of the frame behind its head: 24 bits.
    pub length: u32,
    /// Its kind.
    pub kind: FrameKind,
    /// Its flags, which only its kind gives a meaning.
    pub flags: u8,
    /// The stream it belongs to; 0 is the connection. 31 bits: the reserved one is not kept.
    pub stream: u32,
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameKind(pub u8);

impl FrameKind {
    /// Content (6.1).
    pub const DATA: Self = Self(0);
    /// The fields of a head or of trailers (6.2).
    pub const HEADERS: Self = Self(1);
    /// A dependency, which has no meaning any more (6.3).
    pub const PRIORITY: Self = Self(2);
    /// The end of a stream (6.4).
    pub const RST_STREAM: Self = Self(3);
    /// Settings of the sender (6.5).
    pub const SETTINGS: Self = Self(4);
    /// A request that a server answers unasked (6.6).
    pub const PUSH_PROMISE: Self = Self(5);
    /// A question whether the peer is there, or its answer (6.7).
    pub const PING: Self = Self(6);
    /// The end of a connection (6.8).
    pub const GOAWAY: Self = Self(7);
    /// More room for content (6.9).
    pub const WINDOW_UPDATE: Self = Self(8);
    /// More of a block of fields (6.10).
    pub const CONTINUATION: Self = Self(9);
    /// The priority of a stream (RFC 9218, 7.1).
    pub const PRIORITY_UPDATE: Self = Self(0x10);
}

/// Flag of DATA and HEADERS: the sender sends no more on the stream.
pub(super) const END_STREAM: u8 = 0x1;
/// Flag of SETTINGS and PING: the answer to one.
pub(super) const ACK: u8 = 0x1;
/// Flag of HEADERS, CONTINUATION and PUSH_PROMISE: the block of fields is whole.
pub(super) const END_HEADERS: u8 = 0x4;
/// Flag of DATA, HEADERS and PUSH_PROMISE: padding follows the content.
pub(super) const PADDED: u8 = 0x8;
/// Flag of HEADERS: a dependency comes first.
pub(super) const PRIORITY: u8 = 0x20;

/// The bits of a number of a stream, or of an increment; the highest one is reserved.
pub(super) const NUMBER_BITS: u32 = 0x7fff_ffff;

impl FrameHead {
    /// The head at the beginning of the input, if it is whole.
    #[inline(always)]
    pub fn read(input: &[u8]) -> Option<Self> {
        let head = input.first_chunk::<FRAME_HEAD_BYTES>()?;
        let [high, middle, low, kind, flags, a, b, c, d] = *head;
        Some(Self {
            length: u32::from_be_bytes([0, high, middle, low]),
            kind: FrameKind(kind),
            flags,
            stream: u32::from_be_bytes([a, b, c, d]) & NUMBER_BITS,
        })
    }

    /// Appends the head.
    #[inline(always)]
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes());
    }

    /// The head as it is sent.
    #[must_use]
    #[inline(always)]
    pub fn bytes(self) -> [u8; FRAME_HEAD_BYTES] {
        let [_, high, middle, low] = self.length.to_be_bytes();
        let [a, b, c, d] = self.stream.to_be_bytes();
        [high, middle, low, self.kind.0, self.flags, a, b, c, d]
    }

    #[inline(always)]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

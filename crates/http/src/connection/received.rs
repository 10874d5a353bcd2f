//! The bytes that a connection is lent in one call, once a head was found in them.
//!
//! Owns where the head ends, and how many of the bytes were those of a request. Never reads them.

/// Received bytes that begin with a whole head.
#[derive(Clone, Copy)]
pub(super) struct Received<'i> {
    head: &'i [u8],
    rest: &'i [u8],
}

impl<'i> Received<'i> {
    /// With a head of this length.
    #[inline]
    pub(super) fn new(input: &'i [u8], head_length: usize) -> Self {
        let (head, rest) = input.split_at(head_length);
        Self { head, rest }
    }

    /// The bytes of the head.
    #[inline]
    pub(super) fn head(self) -> &'i [u8] {
        self.head
    }

    /// The bytes after it.
    #[inline]
    pub(super) fn rest(self) -> &'i [u8] {
        self.rest
    }

    /// How many there are.
    #[inline]
    pub(super) fn available(self) -> usize {
        self.head.len() + self.rest.len()
    }

    /// The request had the head, and so many bytes after it.
    #[inline]
    pub(super) fn used(self, of_rest: usize) -> InputUse {
        InputUse { consumed: self.head.len() + of_rest, available: self.available() }
    }
}

/// How many of the received bytes were those of a request. Plain data.
#[derive(Clone, Copy)]
pub(super) struct InputUse {
    pub(crate) consumed: usize,
    pub(crate) available: usize,
}

impl InputUse {
    /// An event that came without bytes.
    pub(super) const NONE: Self = Self { consumed: 0, available: 0 };

    /// Whether there are bytes that were not those of the request.
    #[inline]
    pub(super) fn leaves_some(self) -> bool {
        self.consumed < self.available
    }
}

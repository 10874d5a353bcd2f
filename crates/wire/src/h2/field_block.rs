//! A block of fields that comes in several frames (RFC 9113, 4.3).
//!
//! Owns its bytes until it is whole, within the bounds of its reader. Never decodes it.

/// More came than a block may have (CVE-2024-27316 is of readers without such bounds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockTooLarge;

/// The bounds of a block that comes in several frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockBounds {
    /// Frames behind the first one.
    pub continuations: usize,
    /// Bytes of all frames.
    pub bytes: usize,
}

/// A block that is incomplete, and its use.
///
/// ```
/// use wire::h2::{BlockBounds, BlockTooLarge, FieldBlock};
///
/// let bounds = BlockBounds { continuations: 2, bytes: 5 };
/// let mut block = FieldBlock::new(1, "trailers", b"ab");
/// assert_eq!(block.add(b"c", bounds), Ok(()));
/// assert_eq!(block.add(b"def", bounds), Err(BlockTooLarge));
/// assert_eq!(block.finish(), ("trailers", b"abc".to_vec()));
/// ```
#[derive(Debug)]
pub struct FieldBlock<U> {
    stream: u32,
    purpose: U,
    bytes: Vec<u8>,
    continuations: usize,
}

impl<U> FieldBlock<U> {
    /// The block of a stream with its first part.
    pub fn new(stream: u32, purpose: U, first: &[u8]) -> Self {
        Self { stream, purpose, bytes: first.to_vec(), continuations: 0 }
    }

    /// Its stream.
    pub fn stream(&self) -> u32 {
        self.stream
    }

    /// Adds a part.
    ///
    /// # Errors
    /// If it is beyond a bound; the connection should end.
    pub fn add(&mut self, part: &[u8], bounds: BlockBounds) -> Result<(), BlockTooLarge> {
        self.continuations += 1;
        let is_too_long = self.bytes.len() + part.len() > bounds.bytes;
        if self.continuations > bounds.continuations || is_too_long {
            return Err(BlockTooLarge);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// The block, which is whole, and its use.
    pub fn finish(self) -> (U, Vec<u8>) {
        (self.purpose, self.bytes)
    }

    /// Bytes of memory that it holds.
    pub fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_bounded_by_their_number_too() {
        let bounds = BlockBounds { continuations: 2, bytes: 100 };
        let mut block = FieldBlock::new(3, (), b"");
        assert_eq!((block.add(b"", bounds), block.add(b"", bounds)), (Ok(()), Ok(())));
        assert_eq!((block.add(b"", bounds), block.stream()), (Err(BlockTooLarge), 3));
    }
}

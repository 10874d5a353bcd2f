//! Input that a process has not consumed yet.
//!
//! Owns that taking bytes from its front costs as much as the bytes taken, however many wait behind
//! them. Never decides how many may wait.

/// Bytes of memory from which an inbox that is mostly empty is made smaller.
const SHRUNK_FROM: usize = 64 * 1024;

/// The unconsumed input of one process, in one piece.
#[derive(Debug)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Bytes at the front that are consumed. They are removed together, once they are at least as many as the others.
    consumed: usize,
}

impl Inbox {
    /// An inbox with these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), consumed: 0 }
    }

    /// The bytes that wait.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.bytes[self.consumed..]
    }

    /// Bytes of memory.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Adds input.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let (held, needed) = (self.bytes.capacity(), self.bytes.len() + bytes.len());
        if needed > held {
            // By half: memory that is not filled is the peer's for nothing.
            let grown = needed.max(held + held / 2);
            self.bytes.reserve_exact(grown - self.bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Removes bytes from the front.
    pub(crate) fn consume(&mut self, count: usize) {
        self.consumed = self.bytes.len().min(self.consumed + count);
        if self.consumed >= self.bytes.len() - self.consumed {
            self.bytes.drain(..self.consumed);
            self.consumed = 0;
            if self.bytes.capacity() > SHRUNK_FROM && self.bytes.len() < self.bytes.capacity() / 4 {
                self.bytes.shrink_to(2 * self.bytes.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumed_bytes_are_gone_and_the_rest_stays_in_order() {
        let mut inbox = Inbox::of(b"abc");
        inbox.consume(1);
        assert_eq!(inbox.waiting(), b"bc");
        inbox.add(b"def");
        assert_eq!(inbox.waiting(), b"bcdef");
        for left in (0..5).rev() {
            inbox.consume(1);
            assert_eq!(inbox.waiting(), &b"bcdef"[5 - left..]);
        }
        inbox.consume(1);
        assert_eq!(inbox.waiting(), b"");
    }

    #[test]
    fn the_memory_of_input_is_at_most_half_more_than_its_bytes() {
        for piece in [1, 7, 1_000] {
            let mut inbox = Inbox::of(&[7; 10]);
            for _ in 0..1_000 {
                inbox.add(&vec![7; piece]);
                let (length, memory) = (inbox.waiting().len(), inbox.capacity());
                assert!(memory <= length + length / 2, "{memory} for {length}");
            }
        }
    }

    #[test]
    fn a_byte_is_moved_once_at_most_for_each_byte_consumed() {
        const COUNT: usize = 10_000;
        let mut inbox = Inbox::of(&[7; COUNT]);
        let mut moved = 0;
        for _ in 0..COUNT {
            let before = inbox.consumed;
            inbox.consume(1);
            if inbox.consumed < before {
                moved += inbox.bytes.len();
            }
        }
        assert!(moved <= COUNT, "{moved}");
    }
}

//! A byte queue that is small when it is empty.
//!
//! Owns the bytes that wait at one end of a connection. Knows no connection.

use std::collections::VecDeque;

/// A byte queue; empty it owns no memory but one pointer, because a world may have a million.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "one word when empty instead of four")]
pub(super) struct Bytes(Option<Box<VecDeque<u8>>>);

// One pointer: a million idle connections multiply each byte.
const _: () = assert!(size_of::<Bytes>() == 8);

impl Bytes {
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |bytes| bytes.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.0.get_or_insert_default().extend(bytes);
        }
    }

    /// Takes as many bytes as `target` has room for; there must be that many.
    pub(super) fn take_into(&mut self, target: &mut [u8]) {
        let Some(bytes) = &mut self.0 else { return };
        let count = target.len().min(bytes.len());
        let (front, back) = bytes.as_slices();
        let first = count.min(front.len());
        target[..first].copy_from_slice(&front[..first]);
        target[first..count].copy_from_slice(&back[..count - first]);
        bytes.drain(..count);
        if bytes.is_empty() {
            self.0 = None;
        }
    }

    /// Takes this many bytes, or all there are.
    pub(super) fn take(&mut self, count: usize) -> Vec<u8> {
        let mut taken = vec![0; count.min(self.len())];
        self.take_into(&mut taken);
        taken
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_in_order_and_nothing_is_kept_when_empty() {
        let mut bytes = Bytes::default();
        bytes.append(b"");
        assert!(bytes.is_empty());
        bytes.append(b"hello ");
        bytes.append(b"world");
        assert_eq!(bytes.len(), 11);
        assert_eq!(bytes.take(4), b"hell");
        assert_eq!(bytes.take(100), b"o world");
        assert!(bytes.0.is_none());
    }
}

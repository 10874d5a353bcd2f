//! Request bodies of one fixed size: where each ends.
//!
//! Owns the bytes that each connection still has to send. Finds the end of a head, and reads nothing of it.

/// The bodies that are under way, by connection.
pub(crate) struct Bodies {
    size: usize,
    /// Bytes that are still to come; `None` before the end of a head.
    left: Vec<Option<usize>>,
}

impl Bodies {
    pub(crate) fn of(size: usize) -> Self {
        Self { size, left: Vec::new() }
    }

    pub(crate) fn begin(&mut self, connection: usize) {
        if self.left.len() <= connection {
            self.left.resize(connection + 1, None);
        }
        self.left[connection] = None;
    }

    /// Whether these bytes complete a request. Its client waits for the answer before it sends another, and a head
    /// comes whole.
    pub(crate) fn take(&mut self, connection: usize, received: &[u8]) -> bool {
        let left = &mut self.left[connection];
        let (before, came) = match *left {
            Some(before) => (before, received.len()),
            None => match received.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(end) => (self.size, received.len() - end - 4),
                None => return false,
            },
        };
        let rest = before.saturating_sub(came);
        *left = (rest > 0).then_some(rest);
        rest == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_complete_with_the_last_byte_of_its_body() {
        let mut bodies = Bodies::of(10);
        bodies.begin(3);
        for _ in 0..2 {
            assert!(!bodies.take(3, b"POST / HTTP/1.1\r\n\r\n1234"));
            assert!(!bodies.take(3, b"56789"));
            assert!(bodies.take(3, b"0"));
        }
        assert!(bodies.take(3, b"POST / HTTP/1.1\r\n\r\n1234567890"));
        assert!(!bodies.take(3, b"POST / HTTP/1.1\r\n\r\n"));
        bodies.begin(3);
        assert!(!bodies.take(3, b"POST / HTTP/1.1\r\n\r\n123456789"));
    }
}

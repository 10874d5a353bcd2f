//! Connections that a program accepts and closes again without having read anything from them.
//!
//! Owns how the calls of each thread, in their order, tell that. A descriptor that another thread or program may have
//! is never counted.

use std::collections::BTreeSet;

use syscalls::Sysno;

/// What the calls so far have told.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    /// Descriptors of connections from which nothing was read yet, by thread.
    unread: BTreeSet<(u32, i64)>,
    pub(crate) accepted: u64,
    pub(crate) closed_unread: u64,
}

impl Refused {
    /// Adds a call of a thread: its number, its first argument, and its result.
    pub(crate) fn note(&mut self, thread: u32, number: u64, first: i64, result: i64) {
        let call = usize::try_from(number).ok().and_then(Sysno::new);
        match call.map_or("", |call| call.name()) {
            "accept" | "accept4" if result >= 0 => {
                self.accepted += 1;
                self.unread.insert((thread, result));
            }
            "close" => self.closed_unread += u64::from(self.unread.remove(&(thread, first))),
            // A child, or the program at the other end of a socket, may read it.
            "clone" | "clone3" | "fork" | "vfork" | "sendmsg" => {
                self.unread.retain(|(other, _)| *other != thread);
            }
            name if name.starts_with("read") || name.starts_with("recv") => {
                self.unread.remove(&(thread, first));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_are_closed_unread_are_told_from_those_that_others_read() {
        let mut all = Refused::default();
        for (thread, call, first, result) in [
            (1, Sysno::accept4, 3, 8),
            (1, Sysno::recvfrom, 8, 90),
            (1, Sysno::close, 8, 0),
            (1, Sysno::accept4, 3, 8),
            (1, Sysno::close, 8, 0),
            (1, Sysno::accept4, 3, -11),
            // Another thread reads it and closes it.
            (1, Sysno::accept4, 3, 9),
            (2, Sysno::close, 9, 0),
            // A child has it.
            (1, Sysno::clone, 0, 77),
            (1, Sysno::close, 9, 0),
        ] {
            all.note(thread, call as u64, first, result);
        }
        assert_eq!((all.accepted, all.closed_unread), (3, 1));
    }
}

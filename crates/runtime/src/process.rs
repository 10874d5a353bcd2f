//! A process as its scheduler keeps it: the connection around a service's state.
//!
//! Owns the layout of a slot. An idle process has no buffer: inbox and outbox exist only while they
//! are not empty.

use std::num::NonZeroU32;

use sys::pollset::Corking;

use crate::extras::ExtraIndex;
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::posted::PostNumber;
use crate::slots::{ProcessId, Slots};
use crate::timer::{Link, Links, Tick};

/// The things that a process may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing: its connection is not yet established.
    Connecting,
    /// Input as it comes.
    Reading,
    /// No input until it is resumed or its output has been sent.
    Parked,
    /// The same, but its input is received and kept meanwhile.
    Collecting,
    /// Nothing: it closes when its output has been sent.
    Finishing,
    /// The same, but its input is discarded for a while before it closes.
    Lingering,
    /// Its input is being discarded.
    Discarding,
}

impl Mode {
    /// Whether the process goes on when its output has been sent.
    #[inline]
    pub(crate) fn goes_on(self) -> bool {
        matches!(self, Mode::Reading | Mode::Parked | Mode::Collecting)
    }

    /// Whether the process takes bytes from its socket.
    #[inline]
    pub(crate) fn receives(self) -> bool {
        matches!(self, Mode::Reading | Mode::Collecting | Mode::Discarding)
    }

    /// The things that come after the output that is being sent: for a process that ends, the end of the stream. The
    /// kernel then puts both into one segment, which saves a connection of one request a fifth of its CPU.
    #[inline]
    pub(crate) fn follows(self) -> Corking {
        match self {
            Mode::Finishing | Mode::Lingering => Corking::On,
            Mode::Connecting
            | Mode::Reading
            | Mode::Parked
            | Mode::Collecting
            | Mode::Discarding => Corking::Off,
        }
    }
}

/// The state of the socket, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(u16);

impl Flags {
    pub(crate) const NONE: Flags = Flags(0);
    /// The socket is registered with the pollset.
    pub(crate) const WATCHED: Flags = Flags(1);
    /// Bytes or an end of stream may be waiting that no further event will report.
    pub(crate) const READABLE: Flags = Flags(2);
    /// The peer ended its output or the connection: receive until the end shows.
    pub(crate) const ENDED: Flags = Flags(4);
    /// The process is in the run queue.
    pub(crate) const QUEUED: Flags = Flags(8);
    /// The pollset reports when the socket has room for output.
    pub(crate) const WANTS_ROOM: Flags = Flags(16);
    /// The process was resumed and has not been told yet.
    pub(crate) const RESUMED: Flags = Flags(32);
    /// The process waits for a file to be read into memory.
    pub(crate) const COLD: Flags = Flags(64);
    /// The process waits for memory before it may receive.
    pub(crate) const STARVED: Flags = Flags(128);
    /// Room for output is always reported, because the socket was registered for both directions when it connected.
    pub(crate) const ROOM_REPORTED: Flags = Flags(256);
    /// The process has been told that the peer ended its output, and has got no bytes since.
    pub(crate) const END_TOLD: Flags = Flags(512);
    /// The connection is over in both directions.
    pub(crate) const OVER: Flags = Flags(1024);
    /// Something was posted to the process in this turn.
    pub(crate) const POSTED: Flags = Flags(2048);
    /// All output has been sent, and the process has not been told yet.
    pub(crate) const DRAINED: Flags = Flags(4096);
    /// The peer reads at once, so the kernel may hold much of its output.
    pub(crate) const FAST: Flags = Flags(8192);
    /// The connection was begun here, and leads to another server.
    pub(crate) const REACHED: Flags = Flags(16_384);
    /// The peer takes no more output: only what it has sent before is still received.
    pub(crate) const REFUSED: Flags = Flags(32_768);

    #[inline]
    pub(crate) fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets. [`has`](Self::has) is true if any of them is set.
    #[inline]
    pub(crate) const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    #[inline]
    pub(crate) fn set(&mut self, other: Flags) {
        self.0 |= other.0;
    }

    /// Clears the flags and returns whether any was set.
    #[inline]
    pub(crate) fn take(&mut self, other: Flags) -> bool {
        let had = self.has(other);
        self.0 &= !other.0;
        had
    }
}

/// The content of one slot.
pub(crate) struct Process<K, T> {
    /// `None`: another process carries it.
    pub(crate) socket: Option<K>,
    /// Where its transport is, if it has one, or anything else that only some processes have.
    pub(crate) extra: Option<ExtraIndex>,
    pub(crate) deadline: Tick,
    pub(crate) link: Link,
    /// The tick of its last run; an idle process has been idle since then.
    pub(crate) last_run: Tick,
    pub(crate) mode: Mode,
    pub(crate) flags: Flags,
    /// The string posted to it in this turn, if there is only one and nothing else waits: then it needs no outbox.
    pub(crate) lone_post: Option<PostNumber>,
    pub(crate) inbox: Option<Box<Inbox>>,
    pub(crate) outbox: Option<Box<Outbox>>,
    pub(crate) state: T,
}

// The memory of an idle connection of the server, whose state has 48 bytes.
const _: () = assert!(Table::<NonZeroU32, [u64; 6]>::slot_bytes() == 104);

impl<K, T> Process<K, T> {
    /// A new process that has not run yet.
    pub(crate) fn new(socket: Option<K>, state: T) -> Self {
        Self {
            socket,
            extra: None,
            deadline: Tick::NEVER,
            link: Link::UNLINKED,
            last_run: Tick::NEVER,
            mode: Mode::Reading,
            flags: Flags::NONE,
            lone_post: None,
            inbox: None,
            outbox: None,
            state,
        }
    }

    /// Bytes of memory in its queues.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let inbox = self.inbox.as_ref().map_or(0, |inbox| inbox.capacity());
        inbox + self.outbox.as_ref().map_or(0, |outbox| outbox.counted_bytes())
    }

    /// Keeps the unconsumed part of lent bytes, in front of further input.
    #[inline]
    pub(crate) fn keep(&mut self, lent: &[u8], consumed: usize) {
        if let Some(rest) = lent.get(consumed..)
            && !rest.is_empty()
        {
            self.keep_rest(rest);
        }
    }

    #[inline(never)]
    fn keep_rest(&mut self, rest: &[u8]) {
        match &mut self.inbox {
            Some(inbox) => inbox.add(rest),
            None => self.inbox = Some(Box::new(Inbox::of(rest))),
        }
    }

    /// Drops consumed bytes from the inbox.
    pub(crate) fn consume(&mut self, consumed: usize) {
        if let Some(inbox) = &mut self.inbox {
            inbox.consume(consumed);
            if inbox.waiting().is_empty() {
                self.inbox = None;
            }
        }
    }
}

/// The table of a scheduler's processes.
pub(crate) type Table<K, T> = Slots<Process<K, T>>;

/// The table as seen by the timer wheel.
pub(crate) struct TableLinks<'a, K, T>(pub(crate) &'a mut Table<K, T>);

impl<K, T> Links for TableLinks<'_, K, T> {
    fn link(&mut self, index: u32) -> &mut Link {
        let process = self.0.at(index as usize);
        &mut process.expect("a process is unlinked before it is removed").link
    }
}

/// The number under which the wheel links a process.
pub(crate) fn wheel_index(id: ProcessId) -> u32 {
    u32::try_from(id.index()).expect("slots are numbered in u32")
}

//! The words for streams: processes without a socket, which another process carries.
//!
//! Owns the name of a stream and what its carrier may learn about it. [`Streams`](crate::streams::Streams) is what a
//! carrier does with them.

use crate::close_reason::CloseReason;
use crate::slots::ProcessId;

/// The name of a stream for its carrier. It is never given to another stream, and it is not the name of the stream's
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    place: ProcessId,
    tag: u32,
}

impl StreamId {
    /// The name of the stream at a place, with the tag of its carrier.
    pub(crate) fn new(place: ProcessId, tag: u32) -> Self {
        Self { place, tag }
    }

    /// Its place among the extras.
    pub(crate) fn place(self) -> ProcessId {
        self.place
    }

    /// The number that its carrier gave it with [`Streams::open`](crate::streams::Streams::open).
    #[must_use]
    pub fn tag(self) -> u32 {
        self.tag
    }
}

/// Why a stream was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOpened {
    /// The process carries [`STREAMS_PER_PROCESS`](crate::limits::STREAMS_PER_PROCESS) streams, or the scheduler has no
    /// room for another one.
    TooMany,
    /// The process is itself a stream. A stream carries no others.
    IsStream,
    /// The process has not begun yet: it may open streams from its first event on.
    TooEarly,
}

/// Why input was not handed to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHanded {
    /// The stream has ended, or its input has, or it will read no more.
    Gone,
    /// With these bytes, more than [`STREAM_INPUT_BYTES`](crate::limits::STREAM_INPUT_BYTES) would wait for the
    /// stream's process.
    Full,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its process finished, and all its output has been taken.
    Finished,
    /// Its process ended in another way, for this reason: it aborted, panicked, or was closed. Output that was not
    /// taken is lost.
    Aborted(CloseReason),
    /// It never had a process: the service or the scheduler did not want one.
    Refused,
}

/// Whether a stream's output ends with what is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputEnd {
    /// More may come.
    GoesOn,
    /// It ends with these bytes. Taking them lets go of the stream.
    Ends,
}

/// The next unit that a carrier may take from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOffer {
    /// Nothing now.
    Nothing,
    /// A head ([`Output::put_head`](crate::output::Output::put_head)), whole, whatever bound was given:
    /// [`Streams::with_head`](crate::streams::Streams::with_head) takes it.
    Head {
        /// Whether the output ends with it.
        then: OutputEnd,
    },
    /// Bytes that are not a head: [`Streams::take`](crate::streams::Streams::take) takes them.
    Body {
        /// How many, at most the given bound.
        bytes: usize,
        /// Whether the output ends with them.
        then: OutputEnd,
    },
    /// The stream has ended. This lets go of it: its name means nothing any more.
    Ended(Ending),
}

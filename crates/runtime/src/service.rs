//! The service contract: what an application provides to a scheduler, and what it is given.
//!
//! Handlers see no descriptors and need no system calls: they borrow the received bytes, write
//! bytes into [`Output`](crate::output::Output), and return what happens next. Everything that can
//! happen to a process is a method or an [`Event`]; the sets are closed.

mod context;

use std::any::Any;
use std::io;
use std::net::IpAddr;

use sys::pollset::Token;
use sys::socket::Peer;

pub use crate::close_reason::CloseReason;
pub use crate::sampler::Remarkable;
use crate::slots::ProcessId;
pub use crate::watch::Used;
pub use context::{Connect, Context, SchedulerCommand, ServiceContext};

use crate::limits::INBOX_BYTES;
use crate::mailbox::Endpoint;
use crate::output::FileRegion;
use crate::transport::{Transport, Violation};

/// The listener through which a connection came, numbered in the order in which they were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerIndex(pub u16);

impl ListenerIndex {
    pub(crate) fn token(self) -> Token {
        Token(Token::WAKE.0 - 1 - u64::from(self.0))
    }

    pub(crate) fn of_token(token: Token) -> Option<Self> {
        let distance = (Token::WAKE.0 - 1).checked_sub(token.0)?;
        u16::try_from(distance).ok().map(ListenerIndex)
    }
}

/// A connection that begins, for which a service may choose a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// It was accepted.
    Accepted {
        /// The listener through which it came.
        listener: ListenerIndex,
        /// The address that it comes from.
        peer: Peer,
    },
    /// It was begun by [`SchedulerCommand::Connect`]. The service knows which server name it asks for and which
    /// protocols it offers.
    Connecting {
        /// The ticket of the request.
        ticket: u64,
    },
}

/// The events of a process, apart from input.
///
/// The examples of [`Service`], [`Context`] and [`SchedulerCommand`] handle some of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer ended its output (half-close); everything it sent before was delivered. It may still read. If the
    /// connection is over in both directions, the process closes after this, whatever it wants next.
    InputEnded,
    /// The peer ended its output while the process was parked. Told once, and again if input was delivered since. Input
    /// may still wait before that end; it is delivered, followed by [`Event::InputEnded`], when the process reads
    /// again. If the connection is over in both directions, a parked process is closed instead.
    PeerFinished,
    /// The deadline it set has passed. No deadline runs while output waits for the peer: there the minimum rate of a
    /// reader applies.
    DeadlineReached,
    /// Its output had to wait, or it was parked, and now everything has been sent. Its deadline did not run meanwhile.
    OutputDrained,
    /// It was resumed because what it waited for has arrived, or the service wanted it to run
    /// ([`SchedulerCommand::Run`]).
    Resumed,
    /// The scheduler is shutting down: finish what runs, begin nothing.
    Draining,
    /// There is no memory for it: it was just accepted, or its client holds most of what is held. It should answer
    /// that, let go of what it holds, and finish. A process that continues is closed.
    Overloaded,
    /// The connection it began is established, or the stream for which it was made has begun. Output of this run is
    /// sent at once.
    Connected,
    /// The connection it began failed: `ConnectionRefused`, `TimedOut`, or another error of the network. The process
    /// ends, whatever it wants next.
    ConnectFailed(io::ErrorKind),
}

/// The next wish of a process.
///
/// See [`Service`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Input as it arrives.
    Read,
    /// It has become another kind of process in this run, as [`Service::kind`] now says. Input that is not yet consumed
    /// is delivered to it again, then input as it arrives.
    Changed,
    /// No input until it is resumed or its output has been sent. Then the unconsumed input comes first.
    Park,
    /// As [`Next::Read`], and the process runs again in the next turn, after others: input that it left is delivered
    /// again, and it is told [`Event::OutputDrained`] if no output waits. For a process that has done its share of this
    /// turn.
    Again,
    /// As [`Next::Park`], but the peer may go on sending: its input is received and kept, as far as
    /// [`Service::inbox_bytes`] allows. For a peer that sends much before it reads an answer, and would otherwise wait
    /// for this side to read while this side waits for it.
    Collect,
    /// Send what is queued, then close.
    Finish,
    /// Send what is queued, end our output, discard what the peer still sends, within bounds, then close: for
    /// answers to requests that were not read completely (RFC 9112 section 9.6).
    Linger,
    /// Close now with a reset. Queued output is not sent.
    Abort,
}

/// How much input a process consumed, and what it wants next.
///
/// See [`Service`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes consumed. The rest is kept and delivered again together with further input.
    pub consumed: usize,
    /// The next wish.
    pub next: Next,
}

/// When the clock is read for the time that a service sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockUse {
    /// Once per turn: this is free, but the last event of a turn sees the time of the first.
    PerTurn,
    /// Before every call of the service, and before its input is received: about 20 ns each.
    PerRun,
}

/// A process as a walk sees it: [`SchedulerCommand::Walk`].
#[derive(Debug)]
pub struct Seen<'a, T> {
    /// Its name.
    pub id: ProcessId,
    /// The service's state of it.
    pub process: &'a T,
    /// The activity, in a word or two.
    pub state: &'static str,
    /// Whether it has a transport, which encrypts.
    pub is_layered: bool,
    /// Bytes that wait for its peer.
    pub queued_bytes: usize,
    /// Bytes that wait for it.
    pub unread_bytes: usize,
    /// Milliseconds since it last ran.
    pub idle_ms: u64,
    /// The use since it is counted.
    pub used: Used,
}

/// An application on one scheduler. Each scheduler has its own; nothing in it is shared.
///
/// ```
/// use runtime::Peer;
/// use runtime::service::{Context, Event, ListenerIndex, Next, Progress, Service};
/// use world::Stage;
///
/// /// Sends everything back in capital letters.
/// struct Upper;
///
/// impl Service for Upper {
///     type Process = ();
///     type Message = ();
///     const KINDS: &'static [&'static str] = &["upper"];
///
///     fn kind(_: &()) -> usize {
///         0
///     }
///
///     fn is_idle(_: &()) -> bool {
///         true
///     }
///
///     fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, ()>) -> Option<()> {
///         Some(())
///     }
///
///     fn on_input(&mut self, _: &mut (), input: &[u8], context: &mut Context<'_, ()>) -> Progress {
///         context.output.put(&input.to_ascii_uppercase());
///         Progress { consumed: input.len(), next: Next::Read }
///     }
///
///     fn on_event(&mut self, _: &mut (), event: Event, _: &mut Context<'_, ()>) -> Next {
///         if event == Event::InputEnded { Next::Finish } else { Next::Read }
///     }
/// }
///
/// let mut stage = Stage::new(1, || Upper);
/// let client = stage.connect();
/// assert_eq!(stage.exchange(client, "abc"), "ABC");
/// ```
pub trait Service {
    /// The state of a process: a closed enum, kept in the process's slot.
    type Process;
    /// The messages between endpoints: a closed enum.
    type Message: Send;

    /// Names of the kinds of process, for statistics.
    const KINDS: &'static [&'static str];

    /// When the clock is read.
    const CLOCK: ClockUse = ClockUse::PerTurn;

    /// The kind of a process, as an index into [`Self::KINDS`].
    fn kind(process: &Self::Process) -> usize;

    /// Called once, before the first turn.
    fn on_start(&mut self, _context: &mut ServiceContext<'_, Self::Message>) {}

    /// A requested connection was begun. [`Event::Connected`] or [`Event::ConnectFailed`] follows, perhaps at once,
    /// unless its deadline comes first or the service ends it. Return `None` to give it up. It cannot have output yet.
    ///
    /// Or it could not be begun: `QuotaExceeded` (no descriptor, or the limit of connections), `AddrNotAvailable` (no
    /// such local address, or no free port), `Interrupted` (the scheduler drains), `OutOfMemory`, or an immediate error
    /// of the network, mostly `ConnectionRefused`. Then there is no process, and the returned state is dropped.
    ///
    /// `context.now` is the time before the connection was begun.
    fn on_connect(
        &mut self,
        _ticket: u64,
        _begun: Result<(), io::ErrorKind>,
        _context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process> {
        None
    }

    /// A connection was accepted. Output is sent at once. `None` closes it without sending anything.
    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process>;

    /// A process has opened a stream ([`Context::streams`]): the process of the stream, made of what was given with it.
    /// It has its own kind, deadline, input and output like a process with a connection; another process carries it.
    /// `None` refuses the stream.
    fn on_carry(
        &mut self,
        _opening: Box<dyn Any>,
        _context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process> {
        None
    }

    /// Some of the streams that a process carries have something for it:
    /// [`Streams::next_ready`](crate::streams::Streams::next_ready) names them. Told once for all of them, after they
    /// have run, also while the process is parked. A carrier whose output is full ([`Context::output_is_full`]) takes
    /// no more, parks like any process, and goes on at [`Event::OutputDrained`].
    fn on_streams_ready(
        &mut self,
        _process: &mut Self::Process,
        _context: &mut Context<'_, Self::Message>,
    ) -> Next {
        Next::Read
    }

    /// The transport for a connection that begins; `None`: it is plain. Called after [`on_accept`](Self::on_accept) or
    /// [`on_connect`](Self::on_connect) has made the process. Input and output of the process are plain bytes either
    /// way. Output from before the end of the handshake waits for it, and the deadline of the process does not run
    /// meanwhile.
    fn transport(&mut self, _beginning: Beginning) -> Option<Box<dyn Transport>> {
        None
    }

    /// The handshake of its transport is over: [`Context::agreed`] says what was agreed, and the process may become
    /// another kind ([`Next::Changed`]). Input comes after this. A deadline for the handshake is the deadline of the
    /// process.
    fn on_agreed(
        &mut self,
        _process: &mut Self::Process,
        _context: &mut Context<'_, Self::Message>,
    ) -> Next {
        Next::Read
    }

    /// The handshake of its transport failed. The process ends after this, with reason [`CloseReason::Failed`]; it
    /// cannot have output. Told after [`on_agreed`](Self::on_agreed) if the peer refuses by an alert before it has sent
    /// anything: in TLS 1.3 a server checks a client's certificate when the client has agreed.
    fn on_handshake_failed(
        &mut self,
        _process: &mut Self::Process,
        _why: Violation,
        _context: &mut Context<'_, Self::Message>,
    ) {
    }

    /// Its transport failed after the handshake, such as by an alert of the peer or because the connection was cut. The
    /// process ends after this, with reason [`CloseReason::Failed`]; it cannot have output.
    fn on_transport_failed(
        &mut self,
        _process: &mut Self::Process,
        _why: Violation,
        _context: &mut Context<'_, Self::Message>,
    ) {
    }

    /// Input arrived, or was left from before. It is lent for this call.
    fn on_input(
        &mut self,
        process: &mut Self::Process,
        input: &[u8],
        context: &mut Context<'_, Self::Message>,
    ) -> Progress;

    /// Something else happened.
    fn on_event(
        &mut self,
        process: &mut Self::Process,
        event: Event,
        context: &mut Context<'_, Self::Message>,
    ) -> Next;

    /// Whether a process is idle, so that it may be closed when room is needed.
    fn is_idle(process: &Self::Process) -> bool;

    /// Whether a process waits for the rest of something that its peer began and that this side can drop without loss,
    /// such as a request head. When room is needed, the one with the nearest deadline is closed, before any idle
    /// process.
    fn is_beginning(_process: &Self::Process) -> bool {
        false
    }

    /// Bytes that a process may leave unread; beyond this it is closed. They count towards the scheduler's memory
    /// limit. A stream may leave up to [`STREAM_INPUT_BYTES`](crate::limits::STREAM_INPUT_BYTES): its carrier bounds
    /// it.
    fn inbox_bytes(_process: &Self::Process) -> usize {
        INBOX_BYTES
    }

    /// Bytes of memory in which the state of a process keeps what its peer has sent, such as the part of a message that
    /// has arrived. They count towards the scheduler's memory limit. They may change only in a call for this process.
    fn held_bytes(_process: &Self::Process) -> usize {
        0
    }

    /// The address of the client for whom a process holds memory. When memory is short, the processes of one address
    /// (IPv6: of a /64 network) count together, unless it is a loopback address. `None`: a process counts by itself.
    fn client(_process: &Self::Process) -> Option<IpAddr> {
        None
    }

    /// A file region that a process sends is not in memory. Have it read, then resume the process.
    /// `false`: this cannot be done, and the connection is closed.
    fn on_cold_file(
        &mut self,
        _process: &Self::Process,
        _region: &FileRegion,
        _context: &mut Context<'_, Self::Message>,
    ) -> bool {
        false
    }

    /// A process ended.
    fn on_close(&mut self, _process: Self::Process, _reason: CloseReason) {}

    /// A message arrived.
    fn on_message(
        &mut self,
        _from: Endpoint,
        _message: Self::Message,
        _context: &mut ServiceContext<'_, Self::Message>,
    ) {
    }

    /// Shows a process of a walk: [`SchedulerCommand::Walk`].
    fn on_seen(&mut self, _seen: &Seen<'_, Self::Process>) {}

    /// A walk has seen as many slots as a turn may. `next` is the slot with which it goes on, if the service asks for
    /// that in a later turn; `None`: it has seen all.
    fn on_walked(
        &mut self,
        _next: Option<usize>,
        _context: &mut ServiceContext<'_, Self::Message>,
    ) {
    }

    /// Called at the end of each turn, before mailboxes and outboxes are flushed.
    fn on_turn_end(&mut self, _context: &mut ServiceContext<'_, Self::Message>) {}

    /// The scheduler has ended: send what is still held. Afterwards the service is dropped on its thread. Anything that
    /// must outlive it has to be sent from here, by mail or through a channel.
    fn on_stop(&mut self, _context: &mut ServiceContext<'_, Self::Message>) {}
}

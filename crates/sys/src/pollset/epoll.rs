//! The kernel's pollset: epoll, edge triggered for connections, level triggered for listeners.
//!
//! Owns the epoll descriptor, the event batch and the receive buffer. A connection is registered once, when it
//! first has to wait; closing its descriptor removes it. The registration changes again only for a
//! peer that does not read as fast as we send.
//!
//! A connection that is being established must be reported as writable once, so it is registered for both directions
//! from the start and stays so. Room is an edge that only comes after a send that found none, so this causes no extra
//! events; changing it back would be a second call for each connection. A connection that is established at once is
//! registered like an accepted one. Either way it is one call.

use std::io;
use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};

use super::exact::{self, ExactCall};
use super::polling::set_busy_polling_us;
use super::{
    AcceptError, ConnectOptions, Connecting, Corking, Interest, ListenOptions, Pollset, Ready,
    Received, Rest, Sent, Silence, Token, WaitLimit,
};
use crate::clock;
use crate::connect;
use crate::descriptor::set_unsent_bound;
use crate::file::FileHandle;
use crate::limits::UNSENT_BYTES_OF_FAST;
use crate::socket::{ListenAddress, Listener, Peer, Socket};
use crate::wake::WakeSource;

/// Events taken from the kernel in one wait. Consequence: further ones wait for the next turn.
pub const EVENT_BATCH: usize = 512;

/// Bytes of the receive buffer, one per scheduler. Consequence: a larger arrival takes several receives.
pub const RECEIVE_BUFFER: usize = 64 * 1024;

/// Bytes passed to one `sendfile` call. Consequence: a large file is sent in pieces of this size, so that a fast
/// reader cannot occupy a turn.
pub const FILE_PIECE: usize = 512 * 1024;

/// The kernel as a pollset.
pub struct Epoll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    buffer: Box<[u8]>,
    wake: Option<WakeSource>,
    exact_call: ExactCall,
}

impl Epoll {
    /// Opens an epoll descriptor in this thread's table; `wake` is reported as [`Token::WAKE`].
    pub fn new(wake: Option<WakeSource>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        if let Some(wake) = &wake {
            epoll::add(
                &epoll,
                wake.as_fd(),
                epoll::EventData::new_u64(Token::WAKE.0),
                epoll::EventFlags::IN,
            )?;
        }
        Ok(Self {
            epoll,
            events: Vec::with_capacity(EVENT_BATCH),
            buffer: vec![0; RECEIVE_BUFFER].into_boxed_slice(),
            wake,
            exact_call: ExactCall::Known,
        })
    }

    /// Sets for how many microseconds the kernel polls the network device before a wait sleeps; 0 turns it off.
    ///
    /// # Errors
    /// If the kernel does not support the call: it is older than 6.9.
    pub fn poll_devices(&self, microseconds: u32) -> io::Result<()> {
        set_busy_polling_us(&self.epoll, microseconds)
    }

    /// Waits with the call that has a resolution of milliseconds; `None` means without a limit.
    fn wait_coarsely(&mut self, left_ns: Option<u64>) -> Result<(), Errno> {
        let timeout = left_ns.map(|left_ns| Timespec {
            tv_sec: (left_ns / 1_000_000_000).cast_signed(),
            tv_nsec: (left_ns % 1_000_000_000).cast_signed(),
        });
        let into = spare_capacity(&mut self.events);
        epoll::wait(&self.epoll, into, timeout.as_ref()).map(drop)
    }

    /// Waits until an event or this time, in steps that approach it.
    fn wait_exactly(&mut self, deadline_ns: u64) -> Result<(), Errno> {
        loop {
            let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            if self.exact_call == ExactCall::Missing {
                return self.wait_coarsely(Some(left_ns));
            }
            let step_ns = exact::step_ns(left_ns);
            match exact::wait(self.epoll.as_fd(), &mut self.events, step_ns) {
                // The kernel, or a filter, does not know the call.
                Err(Errno::NOSYS | Errno::PERM) => self.exact_call = ExactCall::Missing,
                Ok(()) if self.events.is_empty() && step_ns < left_ns => {}
                answer => return answer,
            }
        }
    }
}

fn connection_flags(interest: Interest) -> epoll::EventFlags {
    let read = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    match interest {
        Interest::Read => read,
        Interest::ReadWrite => read | epoll::EventFlags::OUT,
    }
}

fn send_flags(follows: Corking) -> SendFlags {
    match follows {
        Corking::Off => SendFlags::NOSIGNAL,
        Corking::On => SendFlags::NOSIGNAL | SendFlags::MORE,
    }
}

fn sent(answer: Result<usize, Errno>, asked: usize) -> Sent {
    match answer {
        Ok(count) if count == asked => Sent::All,
        Ok(count) => Sent::Part(count),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NOMEM) => Sent::Part(0),
        Err(error) => Sent::Failed(error.kind()),
    }
}

impl Pollset for Epoll {
    type Listener = Listener;
    type Socket = Socket;

    fn listen(&mut self, options: &ListenOptions, token: Token) -> io::Result<Listener> {
        let listener = match &options.address {
            ListenAddress::Tcp(address) => Listener::tcp(*address, options.backlog)?,
            ListenAddress::TcpBeside(address) => Listener::tcp_beside(*address, options.backlog)?,
            ListenAddress::Unix(address) => Listener::unix(address, options.backlog)?,
            ListenAddress::Inherited(number) => Listener::inherited(*number)?,
        };
        listener.defer_accept(options.first.defer_s())?;
        if options.silent == Silence::Probed {
            listener.probe_silent_peers()?;
        }
        self.resume(&listener, token)?;
        Ok(listener)
    }

    fn accept(&mut self, listener: &Listener) -> Result<(Socket, Peer), AcceptError> {
        listener.accept().map_err(|error| match error {
            Errno::AGAIN => AcceptError::Blocked,
            // The kernel reserves the descriptor before it checks the queue: is any connection waiting at all?
            Errno::MFILE | Errno::NFILE if !listener.has_waiting() => AcceptError::Blocked,
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => AcceptError::NoDescriptor,
            Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP => {
                AcceptError::Listener(error.kind())
            }
            // accept(2): network errors of the new connection are reported here; treat them as a connection that died.
            _ => AcceptError::Aborted,
        })
    }

    fn connect(
        &mut self,
        options: &ConnectOptions,
        token: Token,
    ) -> Result<(Socket, Connecting), io::ErrorKind> {
        let (socket, connecting) = connect::begin(options).map_err(connect::kind_of)?;
        if connecting == Connecting::Pending {
            let data = epoll::EventData::new_u64(token.0);
            epoll::add(&self.epoll, &socket, data, connection_flags(Interest::ReadWrite))
                .map_err(connect::kind_of)?;
        }
        Ok((socket, connecting))
    }

    fn outcome(&mut self, socket: &Socket) -> Result<Connecting, io::ErrorKind> {
        // The kernel reports no room before the handshake is complete, and no spurious events: without an error it is
        // established.
        match rustix::net::sockopt::socket_error(socket).map_err(connect::kind_of)? {
            Ok(()) => Ok(Connecting::Done),
            Err(error) => Err(connect::kind_of(error)),
        }
    }

    fn pause(&mut self, listener: &Listener, _token: Token) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, listener)?)
    }

    fn resume(&mut self, listener: &Listener, token: Token) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token.0);
        Ok(epoll::add(&self.epoll, listener, data, epoll::EventFlags::IN)?)
    }

    fn refuse_new(&mut self, listener: &mut Listener) -> io::Result<()> {
        listener.refuse_new()
    }

    fn watch(&mut self, socket: &Socket, token: Token) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token.0);
        Ok(epoll::add(&self.epoll, socket, data, connection_flags(Interest::Read))?)
    }

    fn set_interest(
        &mut self,
        socket: &Socket,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token.0);
        Ok(epoll::modify(&self.epoll, socket, data, connection_flags(interest))?)
    }

    fn note_fast_peer(&mut self, socket: &Socket) {
        // A Unix socket has no such limit.
        let _unbounded = set_unsent_bound(socket.as_fd(), UNSENT_BYTES_OF_FAST);
    }

    #[inline]
    fn receive(&mut self, socket: &Socket) -> Received<'_> {
        match rustix::net::recv(socket, &mut *self.buffer, RecvFlags::empty()) {
            Ok((0, _)) => Received::End,
            Ok((count, _)) => {
                let rest = if count == self.buffer.len() { Rest::Perhaps } else { Rest::No };
                Received::Bytes(&mut self.buffer[..count], rest)
            }
            Err(Errno::AGAIN | Errno::INTR) => Received::Blocked,
            Err(error) => Received::Failed(error.kind()),
        }
    }

    fn send(&mut self, socket: &Socket, parts: &[IoSlice<'_>], follows: Corking) -> Sent {
        let asked = parts.iter().map(|part| part.len()).sum();
        let mut control = SendAncillaryBuffer::default();
        sent(rustix::net::sendmsg(socket, parts, &mut control, send_flags(follows)), asked)
    }

    #[inline]
    fn send_bytes(&mut self, socket: &Socket, bytes: &[u8], follows: Corking) -> Sent {
        sent(rustix::net::send(socket, bytes, send_flags(follows)), bytes.len())
    }

    fn send_file(
        &mut self,
        socket: &Socket,
        file: &FileHandle,
        offset: u64,
        length: usize,
    ) -> Sent {
        let piece = length.min(FILE_PIECE);
        if !file.read_ready(offset, piece) {
            return Sent::Cold;
        }
        let mut position = offset;
        match rustix::fs::sendfile(socket, file.as_fd(), Some(&mut position), piece) {
            Ok(0) => Sent::Failed(io::ErrorKind::UnexpectedEof),
            answer => sent(answer, length),
        }
    }

    fn outstanding(&mut self, socket: &Socket) -> u64 {
        crate::descriptor::outstanding(socket.as_fd())
    }

    fn end_output(&mut self, socket: &Socket) {
        // If the peer has already closed, there is no output to end.
        let _gone = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
    }

    fn reset_on_close(&mut self, socket: &Socket) {
        let _gone = crate::descriptor::set_reset_on_close(socket.as_fd());
    }

    fn wait(&mut self, patience: WaitLimit) -> io::Result<usize> {
        self.events.clear();
        let left_ns = |deadline_ns: u64| deadline_ns.saturating_sub(clock::monotonic_ns());
        let waited = match patience {
            WaitLimit::None => self.wait_coarsely(Some(0)),
            WaitLimit::Unbounded => self.wait_coarsely(None),
            WaitLimit::Until(deadline_ns) => self.wait_coarsely(Some(left_ns(deadline_ns))),
            WaitLimit::UntilExactly(deadline_ns) => self.wait_exactly(deadline_ns),
        };
        match waited {
            Ok(()) => {}
            Err(Errno::INTR) => return Ok(0),
            Err(error) => return Err(error.into()),
        }
        if let Some(wake) = &self.wake
            && self.events.iter().any(|event| event.data.u64() == Token::WAKE.0)
        {
            wake.drain();
        }
        Ok(self.events.len())
    }

    #[inline]
    fn event(&self, index: usize) -> Ready {
        let event = self.events[index];
        let flags = event.flags;
        let failed = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        Ready {
            token: Token(event.data.u64()),
            readable: flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::RDHUP | failed),
            writable: flags.intersects(epoll::EventFlags::OUT | failed),
            ended: flags.intersects(epoll::EventFlags::RDHUP | failed),
            over: flags.intersects(failed),
        }
    }

    fn monotonic_ns(&mut self) -> u64 {
        clock::monotonic_ns()
    }

    fn unix_ns(&mut self) -> u64 {
        let (seconds, nanoseconds) = clock::realtime();
        seconds * 1_000_000_000 + u64::from(nanoseconds)
    }
}

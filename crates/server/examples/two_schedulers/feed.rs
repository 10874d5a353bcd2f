//! A pollset without a world: one connection at a time, fixed requests, answers counted and forgotten.
//!
//! Owns nothing that another scheduler's feed could touch: what a scheduler stores or loads while it turns on a
//! feed is its own doing. Time goes on by a microsecond whenever it is read.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use sys::file::FileHandle;
use sys::pollset::{
    AcceptError, ConnectOptions, Connecting, Follows, Interest, ListenOptions, Patience, Pollset,
    Ready, Received, Rest, Sent, Token,
};
use sys::socket::Peer;

const PEER: Peer = Peer { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), port: 40_000 };

/// Wall-clock time at the start: some day in 2026.
const UNIX_NS: u64 = 1_790_000_000_000_000_000;

/// What the driver and the scheduler's pollset both see; both are on the scheduler's thread.
#[derive(Default)]
pub(crate) struct Line {
    /// A connection waits to be accepted.
    pub(crate) connecting: bool,
    /// The request that waits to be received.
    pub(crate) asked: Option<usize>,
    /// Bytes of answers.
    pub(crate) bytes: usize,
    listener: Option<Token>,
    connection: Option<Token>,
}

pub(crate) struct Feed {
    line: Rc<RefCell<Line>>,
    requests: Vec<Vec<u8>>,
    event: Option<Ready>,
    clock_ns: u64,
}

/// The only connection.
pub(crate) struct Wire;

impl Feed {
    pub(crate) fn new(requests: Vec<Vec<u8>>, line: Rc<RefCell<Line>>) -> Self {
        Self { line, requests, event: None, clock_ns: 1_000_000_000 }
    }

    fn took(&self, bytes: &[u8]) {
        let mut line = self.line.borrow_mut();
        line.bytes += bytes.len();
    }
}

impl Pollset for Feed {
    type Listener = ();
    type Socket = Wire;

    fn listen(&mut self, _: &ListenOptions, token: Token) -> io::Result<()> {
        self.line.borrow_mut().listener = Some(token);
        Ok(())
    }

    fn accept(&mut self, (): &()) -> Result<(Wire, Peer), AcceptError> {
        if std::mem::take(&mut self.line.borrow_mut().connecting) {
            return Ok((Wire, PEER));
        }
        Err(AcceptError::Blocked)
    }

    fn pause(&mut self, (): &(), _: Token) -> io::Result<()> {
        Ok(())
    }

    fn resume(&mut self, (): &(), _: Token) -> io::Result<()> {
        Ok(())
    }

    fn refuse_new(&mut self, (): &mut ()) -> io::Result<()> {
        Ok(())
    }

    fn connect(
        &mut self,
        _: &ConnectOptions,
        _: Token,
    ) -> Result<(Wire, Connecting), io::ErrorKind> {
        Err(io::ErrorKind::Unsupported)
    }

    fn outcome(&mut self, _: &Wire) -> Result<Connecting, io::ErrorKind> {
        Ok(Connecting::Done)
    }

    fn watch(&mut self, _: &Wire, token: Token) -> io::Result<()> {
        self.line.borrow_mut().connection = Some(token);
        Ok(())
    }

    fn set_interest(&mut self, _: &Wire, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self, _: &Wire) -> Received<'_> {
        match self.line.borrow_mut().asked.take().and_then(|index| self.requests.get(index)) {
            Some(request) => Received::Bytes(request, Rest::No),
            None => Received::Blocked,
        }
    }

    fn send(&mut self, _: &Wire, parts: &[IoSlice<'_>], _: Follows) -> Sent {
        parts.iter().for_each(|part| self.took(part));
        Sent::All
    }

    fn send_bytes(&mut self, _: &Wire, bytes: &[u8], _: Follows) -> Sent {
        self.took(bytes);
        Sent::All
    }

    fn send_file(&mut self, _: &Wire, _: &FileHandle, _: u64, _: usize) -> Sent {
        Sent::Failed(io::ErrorKind::Unsupported)
    }

    fn outstanding(&mut self, _: &Wire) -> u64 {
        0
    }

    fn end_output(&mut self, _: &Wire) {}

    fn reset_on_close(&mut self, _: &Wire) {}

    fn wait(&mut self, _: Patience) -> io::Result<usize> {
        let line = self.line.borrow();
        let token = if line.connecting {
            line.listener
        } else {
            line.connection.filter(|_| line.asked.is_some())
        };
        self.event = token.map(|token| Ready {
            token,
            readable: true,
            writable: false,
            ended: false,
            over: false,
        });
        Ok(usize::from(self.event.is_some()))
    }

    fn event(&self, _: usize) -> Ready {
        self.event.expect("read after a wait that announced it")
    }

    fn monotonic_ns(&mut self) -> u64 {
        self.clock_ns += 1_000;
        self.clock_ns
    }

    fn unix_ns(&mut self) -> u64 {
        UNIX_NS + self.clock_ns
    }
}

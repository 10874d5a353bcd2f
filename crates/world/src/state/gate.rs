//! Listeners of a world: their queues, and the answers of accepting from them.
//!
//! Owns the listeners, their system calls and the count of descriptors. Clients come in `client_side`.

use std::collections::VecDeque;
use std::io;

use rustix::io::Errno;
use sys::pollset::{AcceptError, ListenOptions, Ready, Token};
use sys::socket::{ListenAddress, Peer};

use super::State;
use crate::connection::Way;
use crate::fingerprint::Happening;
use crate::limits::BACKLOG_MAXIMUM;

/// The first port that is assigned for "any port".
const FIRST_FREE_PORT: u16 = 32_768;

/// A listener and its queue.
#[derive(Debug)]
pub(super) struct Gate {
    address: ListenAddress,
    scheduler: u16,
    token: Token,
    open: bool,
    refuses_new: bool,
    reported: bool,
    /// How long a connection without bytes is held back.
    defer_ns: u64,
    backlog: usize,
    deferred: usize,
    queue: VecDeque<u32>,
}

impl Gate {
    /// Whether clients of this address reach it.
    pub(super) fn listens_at(&self, address: &ListenAddress) -> bool {
        self.open && self.address == *address
    }

    /// A connection comes, and is held back for the time that is the result, or until its first bytes. `None` if it
    /// takes none.
    pub(super) fn begin_deferral(&mut self) -> Option<u64> {
        let full = self.queue.len() >= self.backlog || self.deferred >= self.backlog;
        if full || self.refuses_new {
            return None;
        }
        self.deferred += 1;
        Some(self.defer_ns)
    }

    /// A connection that was held back joins the queue.
    pub(super) fn enqueue_deferred(&mut self, index: u32) {
        self.deferred -= 1;
        self.queue.push_back(index);
    }

    /// A connection that was held back is lost.
    pub(super) fn lose_deferred(&mut self) {
        self.deferred -= 1;
    }

    /// Connections that have not been accepted.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + self.deferred
    }

    /// The event for this scheduler if it is to be told about connections in the queue.
    pub(super) fn readiness(&self, scheduler: u16) -> Option<Ready> {
        let is_told = self.scheduler == scheduler && self.open && self.reported;
        let (token, readable, writable) = (self.token, true, false);
        (is_told && !self.queue.is_empty()).then_some(Ready {
            token,
            readable,
            writable,
            ended: false,
            over: false,
        })
    }
}

impl State {
    pub(crate) fn listen(
        &mut self,
        scheduler: u16,
        options: &ListenOptions,
        token: Token,
    ) -> io::Result<u32> {
        self.settle();
        let side = &mut self.sides[usize::from(scheduler)];
        if side.descriptors >= side.descriptor_limit {
            return Err(Errno::MFILE.into());
        }
        // Clients know an address, not which scheduler opened it first.
        let mut address = match &options.address {
            ListenAddress::TcpBeside(address) => ListenAddress::Tcp(*address),
            address => address.clone(),
        };
        if let ListenAddress::Tcp(tcp) = &mut address
            && tcp.port() == 0
        {
            let used = u16::try_from(self.gates.len()).map_err(io::Error::other)?;
            tcp.set_port(FIRST_FREE_PORT + used);
        }
        let taken = self.gates.iter().any(|gate| gate.listens_at(&address));
        if taken && matches!(address, ListenAddress::Unix(_)) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        side.descriptors += 1;
        let is_tcp = matches!(address, ListenAddress::Tcp(_));
        let defer_s = if is_tcp { options.first.defer_s() } else { 0 };
        self.gates.push(Gate {
            address,
            scheduler,
            token,
            open: true,
            refuses_new: false,
            reported: true,
            defer_ns: u64::from(defer_s) * 1_000_000_000,
            backlog: options.backlog.clamp(1, BACKLOG_MAXIMUM) as usize,
            deferred: 0,
            queue: VecDeque::new(),
        });
        self.fingerprint.note(Happening::Listening, scheduler.into(), token.0);
        Ok(u32::try_from(self.gates.len() - 1).expect("a few listeners"))
    }

    /// The address of a listener, with the assigned port if the requested one was 0.
    pub(crate) fn listener_address(&self, listener: u32) -> ListenAddress {
        self.gates[listener as usize].address.clone()
    }

    pub(crate) fn close_listener(&mut self, listener: u32) {
        self.settle();
        let gate = &mut self.gates[listener as usize];
        gate.open = false;
        gate.deferred = 0;
        gate.queue.clear();
        self.sides[usize::from(gate.scheduler)].descriptors -= 1;
        for index in 0..u32::try_from(self.connections.len()).expect("its places have numbers") {
            if self.connection(index).lose_listener(listener) {
                self.dispatch_reset(index, Way::ToClient);
                self.free_if_over(index);
            }
        }
    }

    /// Lets no further client join a queue.
    pub(crate) fn refuse_new(&mut self, listener: u32) {
        self.settle();
        self.gates[listener as usize].refuses_new = true;
        self.fingerprint.note(Happening::RefusingNew, listener.into(), 0);
    }

    /// Changes whether a listener is reported. As in epoll, it is an error if nothing changes.
    pub(crate) fn report_listener(
        &mut self,
        listener: u32,
        token: Option<Token>,
    ) -> io::Result<()> {
        let gate = &mut self.gates[listener as usize];
        match token {
            Some(_) if gate.reported => return Err(io::ErrorKind::AlreadyExists.into()),
            None if !gate.reported => return Err(io::ErrorKind::NotFound.into()),
            Some(token) => gate.token = token,
            None => {}
        }
        gate.reported = token.is_some();
        Ok(())
    }

    pub(crate) fn accept(&mut self, listener: u32) -> Result<(u32, Peer), AcceptError> {
        self.settle();
        let accepted = self.try_accept(listener);
        let (happening, detail) = match accepted {
            Ok((index, _)) => (Happening::Accepted, u64::from(index)),
            Err(error) => (Happening::NotAccepted, u64::from(error == AcceptError::Blocked)),
        };
        self.fingerprint.note(happening, listener.into(), detail);
        accepted
    }

    fn try_accept(&mut self, listener: u32) -> Result<(u32, Peer), AcceptError> {
        let scheduler = self.gates[listener as usize].scheduler;
        if self.gates[listener as usize].queue.is_empty() {
            return Err(AcceptError::Blocked);
        }
        if self.is_out_of_descriptors(scheduler) {
            return Err(AcceptError::NoDescriptor);
        }
        let queue = &mut self.gates[listener as usize].queue;
        let index = queue.pop_front().ok_or(AcceptError::Blocked)?;
        if self.random.chance(self.faults.aborted) {
            self.cut(index);
            self.connection(index).close();
            self.free_if_over(index);
            return Err(AcceptError::Aborted);
        }
        self.sides[usize::from(scheduler)].descriptors += 1;
        let connection = self.connection(index);
        connection.give_to(scheduler);
        Ok((index, connection.peer()))
    }

    pub(crate) fn is_out_of_descriptors(&mut self, scheduler: u16) -> bool {
        let side = &self.sides[usize::from(scheduler)];
        if side.descriptors >= side.descriptor_limit || self.now_ns < side.no_descriptor_until_ns {
            return true;
        }
        let runs_out = self.random.chance(self.faults.no_descriptor);
        if runs_out {
            let span_ns = self.span_ns(self.faults.no_descriptor_ns_maximum);
            self.sides[usize::from(scheduler)].no_descriptor_until_ns = self.now_ns + span_ns;
        }
        runs_out
    }
}

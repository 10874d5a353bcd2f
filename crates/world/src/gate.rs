//! Listeners of a world: their queues, and the answers of accepting from them.
//!
//! Owns the listeners' system calls and the count of descriptors. Clients join a queue in `client_side`.

use std::collections::VecDeque;
use std::io;

use rustix::io::Errno;
use sys::pollset::{AcceptError, ListenOptions, Token};
use sys::socket::{ListenAddress, Peer};

use super::connection::Position;
use super::fingerprint::Happening;
use super::listening::Gate;
use super::state::{State, Way};
use crate::limits::BACKLOG_MAXIMUM;

/// The first port that is assigned for "any port".
const FIRST_FREE_PORT: u16 = 32_768;

impl Gate {
    /// Whether its scheduler is to be told about waiting connections.
    pub(super) fn is_ready(&self) -> bool {
        self.open && self.reported && !self.queue.is_empty()
    }
}

impl State {
    pub(super) fn listen(
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
        let taken = self.gates.iter().any(|gate| gate.open && gate.address == address);
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

    pub(super) fn close_listener(&mut self, listener: u32) {
        self.settle();
        let gate = &mut self.gates[listener as usize];
        gate.open = false;
        gate.deferred = 0;
        gate.queue.clear();
        self.sides[usize::from(gate.scheduler)].descriptors -= 1;
        for index in 0..u32::try_from(self.connections.len()).expect("its places have numbers") {
            let connection = self.connection(index);
            let waits = matches!(connection.place, Position::Deferred | Position::Queued);
            if waits && connection.listener == listener {
                connection.place = Position::Closed;
                self.dispatch_reset(index, Way::ToClient);
                self.free_if_over(index);
            }
        }
    }

    /// Lets no further client join a queue.
    pub(super) fn refuse_new(&mut self, listener: u32) {
        self.settle();
        self.gates[listener as usize].refuses_new = true;
        self.fingerprint.note(Happening::RefusingNew, listener.into(), 0);
    }

    /// Changes whether a listener is reported. As in epoll, it is an error if nothing changes.
    pub(super) fn report_listener(
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

    pub(super) fn accept(&mut self, listener: u32) -> Result<(u32, Peer), AcceptError> {
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
            self.connection(index).place = Position::Closed;
            self.free_if_over(index);
            return Err(AcceptError::Aborted);
        }
        self.sides[usize::from(scheduler)].descriptors += 1;
        let connection = self.connection(index);
        connection.place = Position::Accepted;
        connection.scheduler = scheduler;
        Ok((index, connection.peer))
    }

    pub(super) fn is_out_of_descriptors(&mut self, scheduler: u16) -> bool {
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

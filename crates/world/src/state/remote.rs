//! Connections that schedulers open, to remotes that a test plays.
//!
//! Owns the remotes' queues and the handshake. Once it is established, a connection that a scheduler opened is like
//! one that it accepted: the test has the other end.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;

use sys::connect::RemoteAddress;
use sys::pollset::{ConnectOptions, Connecting, Token};
use sys::socket::Peer;

use super::State;
use crate::agenda::{Event, Key};
use crate::fingerprint::Happening;

/// The listener of a connection that a scheduler opened.
const NO_LISTENER: u32 = u32::MAX;

/// An address at which a test accepts connections of schedulers.
#[derive(Debug)]
pub(super) struct Remote {
    address: RemoteAddress,
    waiting: VecDeque<Key>,
}

impl State {
    pub(crate) fn listen_remote(&mut self, address: &RemoteAddress) {
        if self.remote(address).is_none() {
            self.remotes.push(Remote { address: address.clone(), waiting: VecDeque::new() });
        }
    }

    pub(crate) fn close_remote(&mut self, address: &RemoteAddress) {
        self.settle();
        let Some(place) = self.remotes.iter().position(|remote| remote.address == *address) else {
            return;
        };
        for key in self.remotes.remove(place).waiting {
            if let Some(index) = self.find(key) {
                self.client_reset(index);
            }
        }
    }

    pub(crate) fn accept_remote(&mut self, address: &RemoteAddress) -> Option<(Key, Peer)> {
        self.settle();
        let key = self.remote(address)?.waiting.pop_front()?;
        Some((key, self.connection(key.index).peer()))
    }

    fn remote(&mut self, address: &RemoteAddress) -> Option<&mut Remote> {
        self.remotes.iter_mut().find(|remote| remote.address == *address)
    }

    pub(crate) fn begin_connect(
        &mut self,
        scheduler: u16,
        options: &ConnectOptions,
        token: Token,
    ) -> Result<(u32, Connecting), io::ErrorKind> {
        self.settle();
        let begun = self.try_connect(scheduler, options, token);
        let detail = match begun {
            Ok((_, connecting)) => u64::from(connecting == Connecting::Done),
            Err(_) => 2,
        };
        let subject = begun.map_or(0, |(index, _)| u64::from(index));
        self.fingerprint.note(Happening::Begun, subject, detail);
        begun
    }

    fn try_connect(
        &mut self,
        scheduler: u16,
        options: &ConnectOptions,
        token: Token,
    ) -> Result<(u32, Connecting), io::ErrorKind> {
        if self.is_out_of_descriptors(scheduler) {
            return Err(io::ErrorKind::QuotaExceeded);
        }
        let listens = self.remote(&options.to).is_some();
        let remote = match &options.to {
            RemoteAddress::Unix(_) if !listens => return Err(io::ErrorKind::NotFound),
            RemoteAddress::Unix(_) => {
                let index = self.insert_outbound(scheduler, Peer::LOCAL);
                self.arrive(index, &options.to);
                return Ok((index, Connecting::Done));
            }
            RemoteAddress::Tcp(remote) => *remote,
        };
        if self.random.chance(self.faults.no_port) {
            return Err(io::ErrorKind::AddrNotAvailable);
        }
        let refuses = !listens || self.random.chance(self.faults.refused);
        let mut at_ns = self.arrival_ns();
        if self.random.chance(self.faults.connect_late) {
            at_ns += self.span_ns(self.faults.delay_ns_maximum);
        }
        let pends = at_ns > self.now_ns || self.random.chance(self.faults.unanswered);
        if !pends && refuses {
            return Err(io::ErrorKind::ConnectionRefused);
        }
        if pends && self.random.chance(self.faults.watch_refused) {
            return Err(io::ErrorKind::OutOfMemory);
        }
        let port = 0x8000 | (self.count_connect() & 0x7fff) as u16;
        let address = options.from.unwrap_or(if remote.is_ipv6() {
            IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])
        } else {
            IpAddr::from([127, 0, 0, 1])
        });
        let index = self.insert_outbound(scheduler, Peer { address, port });
        if !pends {
            self.arrive(index, &options.to);
            return Ok((index, Connecting::Done));
        }
        self.connection(index).begin_connecting(token);
        if at_ns > self.now_ns {
            let event = if refuses { Event::Refuse } else { Event::Establish(options.to.clone()) };
            self.agenda.put(at_ns, self.key(index), event);
        }
        Ok((index, Connecting::Pending))
    }

    fn insert_outbound(&mut self, scheduler: u16, peer: Peer) -> u32 {
        let index = self.insert(NO_LISTENER, peer);
        self.connection(index).give_to(scheduler);
        self.side(usize::from(scheduler)).descriptors += 1;
        index
    }

    /// A connection joins the queue of its remote.
    fn arrive(&mut self, index: u32, to: &RemoteAddress) {
        let key = self.key(index);
        if let Some(remote) = self.remote(to) {
            remote.waiting.push_back(key);
        }
    }

    /// A handshake has succeeded.
    pub(crate) fn establish(&mut self, index: u32, to: &RemoteAddress) {
        if self.remote(to).is_none() {
            self.refuse(index);
            return;
        }
        self.fingerprint.note(Happening::Established, index.into(), 1);
        self.connection(index).establish();
        if self.random.chance(self.faults.cut_connection) {
            // The network resets it before the remote learns of it.
            self.cut(index);
            self.connection(index).release();
            return;
        }
        self.arrive(index, to);
        self.change(index);
    }

    /// The remote refuses it.
    pub(crate) fn refuse(&mut self, index: u32) {
        self.fingerprint.note(Happening::Established, index.into(), 0);
        self.connection(index).refuse();
        self.change(index);
    }

    pub(crate) fn outcome(&mut self, index: u32) -> Result<Connecting, io::ErrorKind> {
        self.settle();
        self.connection(index).outcome()
    }
}

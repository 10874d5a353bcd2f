//! Finds a connection for an exchange.
//!
//! Owns which address is used, whether it is allowed, and whether the exchange waits in line. Never sends anything.

use std::io;
use std::net::IpAddr;
use std::rc::Rc;

use runtime::service::{Connect, Context, SchedulerCommand};

use crate::begun::Begun;
use crate::client::Client;
use crate::failure::ExchangeFailure;
use crate::h2::StreamOrder;
use crate::id::ExchangeId;
use crate::led::Led;
use crate::names::Known;
use crate::origin::{Destination, OF_SOCKET, OriginHost};
use crate::outbound::{Outbound, Past, Purpose, Ticket};
use crate::pool::{Place, Promise, Usable};

impl Client {
    /// Determines the addresses of an exchange, and connects.
    pub(crate) fn find(&mut self, id: ExchangeId, now_ns: u64) {
        match self.addresses_of(id, now_ns) {
            Ok(Some(addresses)) => {
                if let Some(exchange) = self.exchanges.running(id) {
                    exchange.untried = addresses;
                    exchange.untried.reverse();
                }
                self.go(id);
            }
            Ok(None) => {}
            Err(failure) => self.fail(id, failure),
        }
    }

    /// The addresses that the exchange may reach, in the order in which they are tried; `None` while the name is being
    /// looked up.
    fn addresses_of(
        &mut self,
        id: ExchangeId,
        now_ns: u64,
    ) -> Result<Option<Vec<IpAddr>>, ExchangeFailure> {
        let Some(exchange) = self.exchanges.get(id).filter(|it| it.is_running()) else {
            return Ok(None);
        };
        let (transport, reach) = (exchange.to.origin.transport, &exchange.reach);
        let name = match &exchange.to.origin.host {
            OriginHost::Address(address) => {
                let is_allowed = reach.may_connect(transport, &address.to_string(), *address);
                return if is_allowed {
                    Ok(Some(vec![*address]))
                } else {
                    Err(ExchangeFailure::NotAllowed)
                };
            }
            OriginHost::Socket(_) => return Ok(Some(vec![OF_SOCKET])),
            OriginHost::Name(name) => name,
        };
        if !reach.may_look_up(transport, name) {
            return Err(ExchangeFailure::NotAllowed);
        }
        let known = match self.names.look_up(name, id, now_ns) {
            Known::Addresses(addresses) => addresses,
            Known::Later => return Ok(None),
            Known::Nothing => return Err(ExchangeFailure::NameNotFound),
            Known::NoRoom => return Err(ExchangeFailure::TooMany),
        };
        let is_allowed = |address: &&IpAddr| reach.may_connect(transport, name, **address);
        let allowed: Vec<IpAddr> = known.iter().filter(is_allowed).copied().collect();
        if allowed.is_empty() { Err(ExchangeFailure::NotAllowed) } else { Ok(Some(allowed)) }
    }

    /// Uses an idle connection to one of the addresses, or begins one.
    fn go(&mut self, id: ExchangeId) {
        let Some(exchange) = self.exchanges.running(id) else { return };
        if exchange.lead.is_some() {
            // A connection that is open has told of another client, or of none.
            self.connect(id);
            return;
        }
        let addresses = exchange.untried.iter().rev().copied();
        match self.pool.take(&exchange.to, addresses, exchange.sharing()) {
            None => self.connect(id),
            Some(Usable::Idle(connection)) => {
                exchange.connection = Some(connection);
                self.assigned.insert(connection, id);
                self.commands.push(SchedulerCommand::Run(connection));
            }
            Some(Usable::Shared(connection)) => {
                (exchange.connection, exchange.stream) = (Some(connection), Some(0));
                self.order(connection, StreamOrder::Begin(id));
            }
        }
    }

    /// Begins a connection to the next address, or waits in line for one.
    pub(crate) fn connect(&mut self, id: ExchangeId) {
        let Some(exchange) = self.exchanges.running(id) else { return };
        exchange.connection = None;
        if exchange.untried.is_empty() {
            self.fail(id, ExchangeFailure::NotConnected);
            return;
        }
        let promise = match self.pool.open(&exchange.to, id, exchange.sharing()) {
            Place::Taken(promise) => promise,
            Place::InLine(elsewhere) => {
                self.commands.extend(elsewhere.map(SchedulerCommand::Close));
                self.schedule(id);
                return;
            }
        };
        let Some(address) = exchange.untried.pop() else { return };
        exchange.untried.shrink_to_fit();
        let to = Rc::clone(&exchange.to);
        let remote = to.remote(address);
        let ticket = self.tickets.add(Ticket { exchange: id, to, address, promise });
        self.commands.push(SchedulerCommand::Connect(Connect { to: remote, from: None, ticket }));
        self.schedule(id);
    }

    /// A connection failed: tries the next address, or looks the name up again, which may lead elsewhere by now.
    pub(crate) fn connect_failed(&mut self, id: ExchangeId, failure: ExchangeFailure, now_ns: u64) {
        let Some(exchange) = self.exchanges.running(id) else { return };
        let is_own = matches!(failure, ExchangeFailure::Stopping | ExchangeFailure::TooMany);
        if failure != ExchangeFailure::Stopping && !exchange.untried.is_empty() {
            self.connect(id);
        } else if let OriginHost::Name(name) = &exchange.to.origin.host
            && !is_own
            && self.names.doubt(name, now_ns)
        {
            exchange.connection = None;
            self.find(id, now_ns);
        } else {
            self.fail(id, failure);
        }
    }

    /// A connection was begun, or could not be.
    pub fn on_connect<M>(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_, M>,
    ) -> Option<Outbound> {
        let Ticket { exchange: id, to, address, promise } = self.tickets.take(ticket)?;
        if let Err(kind) = begun {
            self.release(&to, promise);
            let failure = ExchangeFailure::of_connecting(kind);
            self.connect_failed(id, failure, context.now.monotonic_ns);
            return None;
        }
        let Some(exchange) = self.exchanges.running(id) else {
            // It was given up meanwhile.
            self.release(&to, promise);
            return None;
        };
        if let Some(connector) = &to.connector {
            let connector = self.sessions.at_port(connector, to.origin.port, exchange.sharing());
            let Some(transport) = connector.connect(&to.server_name()) else {
                self.release(&to, promise);
                self.fail(id, ExchangeFailure::NotConnected);
                return None;
            };
            self.begun = Begun::new(ticket, Led::by(exchange.lead.clone(), transport));
        }
        exchange.connection = Some(context.id);
        if !exchange.untried.is_empty() {
            // An address that does not answer at all must leave time for the others.
            let left_ns = exchange.due().0.saturating_sub(context.now.monotonic_ns);
            let part_ns = left_ns / (exchange.untried.len() as u64 + 1);
            context.set_deadline_after_ms((part_ns / 1_000_000).max(1));
        }
        let (past, purpose) = (Past::Connecting, Purpose::of(exchange.lead.as_ref()));
        let id = Some(id);
        Some(Outbound {
            id: context.id,
            to,
            address,
            exchange: id,
            past,
            purpose,
            promise,
            h2: None,
        })
    }

    /// A connection has ended, or was not begun: the next in line may have its place.
    pub(crate) fn release(&mut self, to: &Rc<Destination>, promise: Promise) {
        self.pool.close(to, promise);
        self.serve_line(to);
    }

    /// There may be places or connections for those in line. Each is asked once: one that may use none of them goes to
    /// the end of the line.
    pub(crate) fn serve_line(&mut self, to: &Rc<Destination>) {
        for _ in 0..self.pool.waiting(to) {
            let Some(id) = self.pool.next_in_line(to) else { break };
            self.go(id);
        }
    }
}

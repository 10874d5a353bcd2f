//! Finds a connection for a fetch.
//!
//! Owns which address is used, and whether it is allowed. Never sends anything.

use std::io;
use std::net::{IpAddr, SocketAddr};

use runtime::service::{Command, Connect, Context};
use sys::connect::RemoteAddress;

use super::client::Client;
use super::failure::Failure;
use super::names::Known;
use super::outbound::{Outbound, Past};
use super::outcome::Number;
use super::url::Host;

impl Client {
    /// Determines the addresses of a fetch, and connects.
    pub(super) fn find(&mut self, number: Number, host: &Host, now_ns: u64) {
        let addresses = match host {
            Host::Address(address) => {
                let named = address.to_string();
                if !self.rules.allow(&named, *address) {
                    self.fail(number, Failure::NotAllowed);
                    return;
                }
                vec![*address]
            }
            Host::Name(name) => match self.addresses_of(name, number, now_ns) {
                Ok(Some(addresses)) => addresses,
                Ok(None) => return,
                Err(failure) => {
                    self.fail(number, failure);
                    return;
                }
            },
        };
        self.go(number, addresses);
    }

    /// The addresses of a name that may be fetched from, in the order in which they are tried; `None` while the name is
    /// being looked up.
    fn addresses_of(
        &mut self,
        name: &str,
        number: Number,
        now_ns: u64,
    ) -> Result<Option<Vec<IpAddr>>, Failure> {
        let is_named = self.rules.allow_name(name);
        if !is_named && !self.rules.allow_networks() {
            return Err(Failure::NotAllowed);
        }
        let known = match self.names.look_up(name, number, now_ns) {
            Known::Addresses(addresses) => addresses,
            Known::Later => return Ok(None),
            Known::Nothing => return Err(Failure::NameNotFound),
            Known::NoRoom => return Err(Failure::TooMany),
        };
        let is_allowed = |address: &&IpAddr| self.rules.allow(name, **address);
        let allowed: Vec<IpAddr> = known.iter().filter(is_allowed).copied().collect();
        if allowed.is_empty() { Err(Failure::NotAllowed) } else { Ok(Some(allowed)) }
    }

    /// Uses an idle connection to one of these addresses, or begins one.
    fn go(&mut self, number: Number, addresses: Vec<IpAddr>) {
        let Some(fetch) = self.fetches.get_mut(&number) else { return };
        let port = fetch.request.port;
        let idle = addresses.iter().find_map(|ip| self.pool.take(SocketAddr::new(*ip, port)));
        fetch.untried = addresses;
        fetch.untried.reverse();
        let Some(connection) = idle else {
            self.connect(number);
            return;
        };
        fetch.connection = Some(connection);
        self.assigned.insert(connection, number);
        self.commands.push(Command::Run(connection));
    }

    pub(super) fn connect(&mut self, number: Number) {
        let Some(fetch) = self.fetches.get_mut(&number) else { return };
        fetch.connection = None;
        let Some(ip) = fetch.untried.last() else { return };
        let to = RemoteAddress::Tcp(SocketAddr::new(*ip, fetch.request.port));
        self.commands.push(Command::Connect(Connect { to, from: None, ticket: number.0 }));
    }

    /// A connection failed: tries the next address.
    pub(super) fn connect_failed(&mut self, number: Number, failure: Failure) {
        let Some(fetch) = self.fetches.get_mut(&number) else { return };
        if fetch.connection.take().is_none() {
            // It was refused at once, when its address was still on the list.
            fetch.untried.pop();
        }
        if fetch.untried.is_empty() || failure == Failure::Stopping {
            self.fail(number, failure);
        } else {
            self.connect(number);
        }
    }

    /// A connection was begun, or could not be.
    pub fn on_connect<M>(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_, M>,
    ) -> Option<Outbound> {
        let number = Number(ticket);
        if let Err(kind) = begun {
            self.connect_failed(number, Failure::of_connecting(kind));
            return None;
        }
        // The fetch may have been given up meanwhile.
        let fetch = self.fetches.get_mut(&number)?;
        let address = SocketAddr::new(fetch.untried.pop()?, fetch.request.port);
        fetch.connection = Some(context.id);
        fetch.untried.shrink_to_fit();
        if !fetch.untried.is_empty() {
            // An address that does not answer at all must leave time for the others.
            let left_ns = fetch.deadline_ns.saturating_sub(context.now.monotonic_ns);
            let part_ns = left_ns / (fetch.untried.len() as u64 + 1);
            context.set_deadline_after_ms((part_ns / 1_000_000).max(1));
        }
        Some(Outbound { id: context.id, address, fetch: Some(number), past: Past::Fresh })
    }
}

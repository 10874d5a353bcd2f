//! The server's connections at both readings.
//!
//! Judges nothing.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::host::HostReading;
use crate::tcp::TcpSocket;

/// The sockets of both readings, by port and peer.
pub(super) struct Pairs<'h> {
    all: Vec<(Option<&'h TcpSocket>, &'h TcpSocket)>,
}

impl<'h> Pairs<'h> {
    pub(super) fn of(host: &'h HostReading) -> Result<Self, Finding> {
        super::server(host)?;
        let Some(now) = &host.now.sockets else {
            return Finding::unknown("no TCP socket of it can be seen");
        };
        if host.seconds.is_none() {
            return Finding::unknown("needs two readings of the server");
        }
        let before: BTreeMap<_, _> =
            host.before.sockets.iter().flatten().map(|one| (one.key(), one)).collect();
        let is_connection = |one: &&TcpSocket| one.side.is_connection();
        let pair = |one: &'h TcpSocket| (before.get(&one.key()).copied(), one);
        Ok(Self { all: now.iter().filter(is_connection).map(pair).collect() })
    }

    /// The same of connections; without one, nothing is known about them.
    pub(super) fn of_connections(host: &'h HostReading) -> Result<Self, Finding> {
        let pairs = Self::of(host)?;
        match pairs.count() {
            0 => Finding::unknown("no connection was open at the second reading"),
            _ => Ok(pairs),
        }
    }

    /// How many connections there are now.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// All of them: before, where they were open then, and now.
    pub(super) fn all(&self) -> impl Iterator<Item = &(Option<&'h TcpSocket>, &'h TcpSocket)> {
        self.all.iter()
    }

    /// The connections as they are now.
    pub(super) fn now(&self) -> impl Iterator<Item = &'h TcpSocket> {
        self.all.iter().map(|(_, now)| *now)
    }

    /// The increase of a number over all connections.
    pub(super) fn moved(&self, name: &str) -> u64 {
        self.increases(name).sum()
    }

    /// The increase of a number of each connection.
    pub(super) fn increases(&self, name: &str) -> impl Iterator<Item = u64> {
        self.all.iter().map(move |(before, now)| {
            now.number(name).saturating_sub(before.map_or(0, |one| one.number(name)))
        })
    }
}

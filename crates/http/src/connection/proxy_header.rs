//! The PROXY header with which connections of some listeners begin.
//!
//! Owns what it changes: the client's address. Never checks whether the sender is a trusted proxy: the connection did
//! that when it was accepted.

use runtime::service::{Next, Progress};
use sys::socket::Peer;
use wire::proxy::{self, ParsedProxyHeader, ProxiedClient};

use super::{Connection, NEEDS_MORE, Phase};
use crate::application::Application;
use crate::shared::Http;

impl Connection {
    /// Takes the header, once it is complete.
    pub(super) fn take_proxy_header<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
    ) -> Progress {
        match proxy::parse(input) {
            Ok(ParsedProxyHeader::Partial) => NEEDS_MORE,
            Ok(ParsedProxyHeader::Complete { length, source }) => {
                if let ProxiedClient::Inet { source, .. } = source {
                    let (address, port) = (source.ip().to_canonical(), source.port());
                    self.arrival = self.arrival.with_peer(Peer { address, port });
                }
                self.phase = Phase::Idle;
                Progress { consumed: length, next: Next::Read }
            }
            Err(_) => {
                http.stats_mut().proxy_refused += 1;
                Progress { consumed: input.len(), next: Next::Abort }
            }
        }
    }
}

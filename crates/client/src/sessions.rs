//! The sessions of TLS that this scheduler resumes, by port.
//!
//! Owns one store for each port: rustls looks for a session by host name alone, and a server at another port of that
//! host has other keys. Schedulers share none, because a store has a lock. Never connects.

use ahash::HashMap;
use tls::Connector;

use crate::limits::{SESSION_PORTS, SESSIONS_PER_SERVER};
use crate::version::{HTTP1, HTTP2, Sharing};

/// The connectors with sessions of their own, by the settings of a request, the port, and what is offered.
#[derive(Debug, Default)]
pub(crate) struct Sessions(HashMap<(Connector, u16, Sharing), Connector>);

impl Sessions {
    /// The same settings, with the sessions of servers at this port. A connection that cannot be shared is not offered
    /// to be.
    pub(crate) fn at_port(
        &mut self,
        connector: &Connector,
        port: u16,
        sharing: Sharing,
    ) -> &Connector {
        let sharing = if connector.offers(HTTP2) { sharing } else { Sharing::Shared };
        let key = (connector.clone(), port, sharing);
        if self.0.len() >= SESSION_PORTS && !self.0.contains_key(&key) {
            self.0.clear();
        }
        self.0.entry(key).or_insert_with(|| {
            let own = connector.with_own_sessions(SESSIONS_PER_SERVER);
            if sharing == Sharing::Alone { own.offering(&[HTTP1]) } else { own }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tls::TrustedServers;

    #[test]
    fn each_port_has_its_own_sessions_until_there_are_too_many_ports() {
        let connector = Connector::new(&TrustedServers::Any, &[], None).unwrap();
        let mut sessions = Sessions::default();
        let first = sessions.at_port(&connector, 443, Sharing::Shared).clone();
        assert!(*sessions.at_port(&connector, 443, Sharing::Shared) == first && first != connector);
        assert!(*sessions.at_port(&connector, 444, Sharing::Shared) != first);
        for port in 0..SESSION_PORTS as u16 {
            sessions.at_port(&connector, port, Sharing::Shared);
        }
        assert!(sessions.0.len() <= SESSION_PORTS);
        assert!(*sessions.at_port(&connector, 443, Sharing::Shared) != first, "it was forgotten");
    }
}

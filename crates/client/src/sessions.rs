//! The sessions of TLS that this scheduler resumes, by port.
//!
//! Owns one store for each port: rustls looks for a session by host name alone, and a server at another port of that
//! host has other keys. Schedulers share none, because a store has a lock. Never connects.

use ahash::HashMap;
use tls::Connector;

use crate::limits::{SESSION_PORTS, SESSIONS_PER_SERVER};

/// The connectors with sessions of their own, by the settings of a request and the port.
#[derive(Debug, Default)]
pub(crate) struct Sessions(HashMap<(Connector, u16), Connector>);

impl Sessions {
    /// The same settings, with the sessions of servers at this port.
    pub(crate) fn at_port(&mut self, connector: &Connector, port: u16) -> &Connector {
        let key = (connector.clone(), port);
        if self.0.len() >= SESSION_PORTS && !self.0.contains_key(&key) {
            self.0.clear();
        }
        self.0.entry(key).or_insert_with(|| connector.with_own_sessions(SESSIONS_PER_SERVER))
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
        let first = sessions.at_port(&connector, 443).clone();
        assert!(*sessions.at_port(&connector, 443) == first && first != connector);
        assert!(*sessions.at_port(&connector, 444) != first);
        for port in 0..SESSION_PORTS as u16 {
            sessions.at_port(&connector, port);
        }
        assert!(sessions.0.len() <= SESSION_PORTS);
        assert!(*sessions.at_port(&connector, 443) != first, "it was forgotten");
    }
}

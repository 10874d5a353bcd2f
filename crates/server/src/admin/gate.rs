//! The clients of the control scheduler, and the actions that each may take.
//!
//! Owns the entrance that each listener is, the names by which it may be called, the keys, and the encryption. Answers
//! nothing.

use std::sync::Arc;

use config::Protocol;
use http::Request;
use runtime::service::ListenerIndex;
use runtime::transport::Transport;
use wire::http::url::{Authority, UrlHost};

use crate::conn::door::Door;
use crate::program_keys::{ProgramKeys, bearer_of};
use crate::site_tls::SiteTls;

/// The kinds of listeners of the control scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// The control socket, which only its owner can open.
    Socket,
    /// An address for programs with a key.
    Keyed,
    /// An address that only serves metrics.
    Metrics(AddressReach),
}

/// Where the clients of an address are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressReach {
    /// On this machine.
    Machine,
    /// Anywhere.
    Network,
}

/// The actions that a client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// Everything.
    Control,
    /// Read the metrics.
    Metrics,
    /// Nothing without a key.
    Nothing,
}

/// The entrances of the control scheduler, in the order of its listeners.
#[derive(Clone, Debug)]
pub struct Gate {
    entrances: Vec<Entrance>,
    keys: Arc<ProgramKeys>,
    tls: Arc<SiteTls>,
}

impl Gate {
    /// These entrances, with the keys of [`Entrance::Keyed`] and its certificates.
    pub(crate) fn new(entrances: Vec<Entrance>, keys: Arc<ProgramKeys>, tls: Arc<SiteTls>) -> Self {
        Self { entrances, keys, tls }
    }

    /// Other certificates are shown from now on.
    pub(super) fn on_shown(&mut self, tls: Arc<SiteTls>) {
        self.tls = tls;
    }

    /// An unknown listener only serves metrics.
    fn entrance(&self, listener: ListenerIndex) -> Entrance {
        self.entrances
            .get(usize::from(listener.0))
            .copied()
            .unwrap_or(Entrance::Metrics(AddressReach::Machine))
    }

    /// The actions that a request may take.
    pub(super) fn permission(&self, request: &Request<'_>) -> Permission {
        match self.entrance(request.listener) {
            Entrance::Socket => Permission::Control,
            Entrance::Metrics(_) => Permission::Metrics,
            Entrance::Keyed if bearer_of(request).is_some_and(|shown| self.keys.have(shown)) => {
                Permission::Control
            }
            Entrance::Keyed => Permission::Nothing,
        }
    }

    /// Whether the dashboard is on a listener. Its page needs no key: what it shows does.
    pub(super) fn has_dashboard(&self, listener: ListenerIndex) -> bool {
        !matches!(self.entrance(listener), Entrance::Metrics(_))
    }

    /// Whether a request may be meant for this server. A page of another site whose name was made to lead to this
    /// machine (DNS rebinding) is a page of this server for its browser: only its name in `Host` tells that it is not.
    pub(super) fn is_meant(&self, request: &Request<'_>) -> bool {
        let is_near = match self.entrance(request.listener) {
            Entrance::Socket => true,
            // A certificate shows the browser whose server it is.
            Entrance::Keyed => self.tls.admin_acceptor().is_none(),
            Entrance::Metrics(reach) => reach == AddressReach::Machine,
        };
        // Every browser names a host.
        !is_near || request.host().is_none_or(|host| host.is_empty() || is_of_this_machine(host))
    }

    /// The transport of a connection; `None`: it is plain.
    pub(super) fn transport(&self, listener: ListenerIndex) -> Option<Box<dyn Transport>> {
        if self.entrance(listener) != Entrance::Keyed {
            return None;
        }
        let transport = self.tls.admin_acceptor()?.accept();
        Some(Box::new(Door::before(transport, Protocol::Http, None)))
    }
}

/// Whether a host is an address, `localhost`, or a name without a dot, which nobody can register.
fn is_of_this_machine(host: &str) -> bool {
    match Authority::parse(host).map(|authority| authority.host) {
        Ok(UrlHost::Address(_)) => true,
        Ok(UrlHost::Name(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
            !name.contains('.') || name.ends_with(".localhost")
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_somebody_else_can_register_are_not_of_this_machine() {
        for host in [
            "127.0.0.1:9443",
            "[::1]:9443",
            "localhost",
            "LocalHost.:80",
            "a.localhost:1",
            "control",
        ] {
            assert!(is_of_this_machine(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9443",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "a@localhost",
        ] {
            assert!(!is_of_this_machine(host), "{host}");
        }
    }
}

//! The clients of the control scheduler, and the actions that each may take.
//!
//! Owns the entrance that each listener is, the keys, and the encryption. Answers nothing.

use std::sync::Arc;

use config::Protocol;
use http::Request;
use runtime::service::ListenerIndex;
use runtime::transport::Transport;

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
    Metrics,
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
        self.entrances.get(usize::from(listener.0)).copied().unwrap_or(Entrance::Metrics)
    }

    /// The actions that a request may take.
    pub(super) fn permission(&self, request: &Request<'_>) -> Permission {
        match self.entrance(request.listener) {
            Entrance::Socket => Permission::Control,
            Entrance::Metrics => Permission::Metrics,
            Entrance::Keyed if bearer_of(request).is_some_and(|shown| self.keys.have(shown)) => {
                Permission::Control
            }
            Entrance::Keyed => Permission::Nothing,
        }
    }

    /// Whether the dashboard is on a listener. Its page needs no key: what it shows does.
    pub(super) fn has_dashboard(&self, listener: ListenerIndex) -> bool {
        self.entrance(listener) != Entrance::Metrics
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

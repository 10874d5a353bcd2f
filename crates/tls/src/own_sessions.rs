//! The sessions that the connections of one thread resume.
//!
//! Owns a store as large as its user says: that of rustls keeps eight sessions for each server, and of a hundred
//! connections that open at once, eight would be resumed. Never shared by threads.

use std::collections::VecDeque;
use std::fmt;
use std::sync::PoisonError;

use ahash::HashMap;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

#[expect(
    clippy::disallowed_types,
    reason = "the library's interface asks for it; a store belongs to one thread, so no thread ever waits"
)]
type Cell<T> = std::sync::Mutex<T>;

/// The known facts about a server.
#[derive(Default)]
struct Known {
    group: Option<NamedGroup>,
    /// A session of TLS 1.2 may be used again and again.
    tls12: Option<Tls12ClientSessionValue>,
    /// The newest at the end. Each is used once (RFC 8446 appendix C.4).
    tls13: VecDeque<Tls13ClientSessionValue>,
}

/// Sessions by server.
pub(crate) struct OwnSessions {
    servers: Cell<HashMap<ServerName<'static>, Known>>,
    /// The most of TLS 1.3 for each server. Beyond, the oldest is forgotten.
    most: usize,
}

impl fmt::Debug for OwnSessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OwnSessions").field("most", &self.most).finish_non_exhaustive()
    }
}

impl OwnSessions {
    /// No sessions yet.
    pub(crate) fn new(most: usize) -> Self {
        Self { servers: Cell::new(HashMap::default()), most }
    }

    fn with<T>(&self, server: ServerName<'static>, work: impl FnOnce(&mut Known) -> T) -> T {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        work(servers.entry(server).or_default())
    }
}

impl ClientSessionStore for OwnSessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.with(server, |known| known.group = Some(group));
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.with(server.to_owned(), |known| known.group)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.with(server, |known| known.tls12 = Some(session));
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.with(server.to_owned(), |known| known.tls12.clone())
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.with(server.clone(), |known| known.tls12 = None);
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, session: Tls13ClientSessionValue) {
        self.with(server, |known| {
            if known.tls13.len() >= self.most {
                known.tls13.pop_front();
            }
            known.tls13.push_back(session);
        });
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.with(server.clone(), |known| known.tls13.pop_back())
    }
}

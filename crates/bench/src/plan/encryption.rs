//! How encrypted connections are made: which authorities they trust, which certificate they show to servers, and
//! whether they resume sessions.
//!
//! Owns the files that the user names for that, read before the run. Never makes a connection.

use std::path::PathBuf;

use runtime::transport::Transport;
use tls::{
    Authorities, Connector, ConnectorError, Identity, IdentityError, PemError, TrustedServers,
};

use super::LoadPlan;

/// Which certificates of servers are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTrust {
    /// Those that an authority of the system has issued.
    System,
    /// Those that an authority in this PEM file has issued.
    File(PathBuf),
    /// All of them (`--insecure`).
    Anyone,
}

/// The handshakes of new connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeMode {
    /// Every connection makes a full one.
    Full,
    /// A connection resumes the session of an earlier one, if the server has given a ticket for it.
    Resumed,
}

/// The certificate of this side and its key, in PEM files, which may be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFiles {
    /// The certificate with its chain.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// The wishes of a user for encrypted connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionAsk {
    /// Which certificates of servers are accepted.
    pub trust: ServerTrust,
    /// The certificate shown to a server that asks for one.
    pub own: Option<OwnFiles>,
    /// The name that is asked for and checked, instead of the host of the URL.
    pub server_name: Option<String>,
    /// The handshakes of new connections.
    pub handshakes: HandshakeMode,
}

/// Why no encrypted connection can be made.
#[derive(Debug, thiserror::Error)]
pub enum EncryptionError {
    /// The authorities cannot be read.
    #[error("--cacert: {0}")]
    Authorities(PemError),
    /// The own certificate cannot be used.
    #[error("--cert: {0}")]
    Own(IdentityError),
    /// The name is not one of a server.
    #[error(
        "`{0}` is not the name of a server; write a host name or an address, as in --sni \
         example.org"
    )]
    Name(String),
    /// There are no authorities, or the settings are refused.
    #[error("{error}{mend}", error = .0, mend = mend(.0))]
    Connector(ConnectorError),
}

fn mend(error: &ConnectorError) -> &'static str {
    match error {
        ConnectorError::NoAuthorities => " (--cacert FILE), or check nothing (--insecure)",
        _ => "",
    }
}

/// How encrypted connections are made.
#[derive(Clone, Debug)]
pub struct Encryption {
    ask: EncryptionAsk,
    connector: Connector,
}

impl Encryption {
    /// Reads the files that the user names. Connections offer these application protocols.
    ///
    /// # Errors
    /// The file or name that is wrong, and its fault.
    pub fn new(ask: EncryptionAsk, protocols: &[&str]) -> Result<Self, EncryptionError> {
        if let Some(name) = ask.server_name.as_ref().filter(|name| !Connector::is_name(name)) {
            return Err(EncryptionError::Name(name.clone()));
        }
        let peers = match &ask.trust {
            ServerTrust::System => {
                TrustedServers::Known(Authorities::of_system().map_err(EncryptionError::Connector)?)
            }
            ServerTrust::File(path) => TrustedServers::Known(
                Authorities::read(path).map_err(EncryptionError::Authorities)?,
            ),
            ServerTrust::Anyone => TrustedServers::Any,
        };
        let read = |files: &OwnFiles| Identity::read(&files.certificate, &files.key);
        let own = ask.own.as_ref().map(read).transpose().map_err(EncryptionError::Own)?;
        let connector = Connector::new(&peers, protocols, own.as_ref());
        Ok(Self { ask, connector: connector.map_err(EncryptionError::Connector)? })
    }

    /// The settings, for connections outside a run.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// The wishes of the user.
    pub fn ask(&self) -> &EncryptionAsk {
        &self.ask
    }

    /// The settings for a thread that has this many connections. Threads share no sessions.
    fn of_thread(&self, connections: u32) -> Connector {
        match self.ask.handshakes {
            HandshakeMode::Full => self.connector.without_resumption(),
            // A server gives two tickets for a full handshake, and one or two for a resumed one.
            HandshakeMode::Resumed => self.connector.with_own_sessions(2 * connections as usize),
        }
    }
}

impl LoadPlan {
    /// The settings of encrypted connections for a thread that has this many; `None` if there are none.
    pub(crate) fn connector(&self, connections: u32) -> Option<Connector> {
        self.encryption.as_ref().map(|encryption| encryption.of_thread(connections))
    }

    /// The name that is asked for and checked on connections to a peer; `None` if they are plain.
    pub(crate) fn server_name(&self, peer: usize) -> Option<&str> {
        let host = self.peers.get(peer)?.server_name.as_deref()?;
        Some(self.encryption.as_ref()?.ask.server_name.as_deref().unwrap_or(host))
    }

    /// The transport of a connection to a peer; `None` if it is plain. If there should be one and there is none, its
    /// handshake is never over, and nothing is sent in the clear.
    pub(crate) fn transport(
        &self,
        connector: Option<&Connector>,
        peer: usize,
    ) -> Option<Box<dyn Transport>> {
        connector?.connect(self.server_name(peer)?)
    }
}

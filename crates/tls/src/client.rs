//! The client's side: what a connection to another server trusts and shows, and its transport.
//!
//! Owns the settings of connections with the same authorities and the same certificate, with the sessions that they
//! resume. Never resolves a name and never opens a socket.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use runtime::transport::Transport;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientConnectionData, Resumption as ClientResumption, UnbufferedClientConnection,
};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::unbuffered::UnbufferedStatus;
use rustls::{
    ClientConfig, CommonState, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::carrier::Carrier;
use crate::identity::Identity;
use crate::limits::{CERTIFICATES_HELD_BYTES, CLIENT_SESSIONS};
use crate::own_sessions::OwnSessions;
use crate::pem::{PemError, read_certificates};
use crate::provider::provider;
use crate::session::{Session, Unbuffered};

/// The authorities that may have issued the certificates of servers.
#[derive(Clone, Debug)]
pub struct Authorities(Arc<RootCertStore>);

impl Authorities {
    /// Those that the system trusts: `/etc/ssl/certs`, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name. They are read
    /// at the first call; later ones return the same.
    ///
    /// # Errors
    /// If there are none.
    pub fn of_system() -> Result<Self, ConnectorError> {
        static FOUND: OnceLock<Arc<RootCertStore>> = OnceLock::new();
        let found = FOUND.get_or_init(|| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            Arc::new(roots)
        });
        if found.is_empty() {
            return Err(ConnectorError::NoAuthorities);
        }
        Ok(Self(Arc::clone(found)))
    }

    /// Reads them from a PEM file.
    ///
    /// # Errors
    /// The problem with the file.
    pub fn read(path: &Path) -> Result<Self, PemError> {
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(read_certificates(path)?);
        if added == 0 {
            return Err(PemError::NoCertificate(path.to_path_buf()));
        }
        Ok(Self(Arc::new(roots)))
    }
}

/// Which servers are trusted.
#[derive(Clone, Debug)]
pub enum TrustedServers {
    /// Those with a certificate for their name, by one of these authorities.
    Known(Authorities),
    /// All: for measurements and tests. Anyone on the way can read and change what is sent.
    Any,
}

/// Why there are no connections.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorError {
    /// The system has no certificates of authorities.
    #[error(
        "the system has no certificates of authorities; install the package ca-certificates, or \
         name a file"
    )]
    NoAuthorities,
    /// The library refuses the settings.
    #[error("{0}")]
    Rustls(String),
}

/// The settings of connections to other servers, with the sessions that they resume. Clones are equal and share both; a
/// connection of one may be used where another one that is equal is asked for.
#[derive(Clone)]
pub struct Connector {
    config: Arc<ClientConfig>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connector").finish_non_exhaustive()
    }
}

impl PartialEq for Connector {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.config, &other.config)
    }
}

impl Eq for Connector {}

impl Hash for Connector {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Arc::as_ptr(&self.config).hash(hasher);
    }
}

impl Connector {
    /// Connections that trust these servers, offer these application protocols, and show this certificate if they are
    /// asked for one. Sessions are resumed.
    ///
    /// # Errors
    /// If the library refuses the settings.
    pub fn new(
        peers: &TrustedServers,
        protocols: &[&str],
        own: Option<&Identity>,
    ) -> Result<Self, ConnectorError> {
        let refused = |error: Error| ConnectorError::Rustls(error.to_string());
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(refused)?;
        let builder = match peers {
            TrustedServers::Known(authorities) => {
                builder.with_root_certificates(Arc::clone(&authorities.0))
            }
            TrustedServers::Any => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider())))
            }
        };
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.key().cert.clone(), identity.private_key())
                .map_err(refused)?,
        };
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.resumption = ClientResumption::in_memory_sessions(CLIENT_SESSIONS);
        Ok(Self { config: Arc::new(config) })
    }

    /// The same without resumption: every connection makes a full handshake.
    pub fn without_resumption(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = ClientResumption::disabled();
        Self { config: Arc::new(config) }
    }

    /// The same with sessions of its own, of which it keeps this many for each server, for one thread that opens many
    /// connections at once. A session of TLS 1.3 is used once.
    pub fn with_own_sessions(&self, most: usize) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = ClientResumption::store(Arc::new(OwnSessions::new(most)));
        Self { config: Arc::new(config) }
    }

    /// The same, but only these application protocols are offered.
    pub fn offering(&self, protocols: &[&str]) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self { config: Arc::new(config) }
    }

    /// Whether this application protocol is offered.
    pub fn offers(&self, protocol: &str) -> bool {
        self.config.alpn_protocols.iter().any(|name| name == protocol.as_bytes())
    }

    /// The transport of a connection to the server with this host name or address; `None` if it is neither.
    pub fn connect(&self, server: &str) -> Option<Box<dyn Transport>> {
        let name = ServerName::try_from(server.to_owned()).ok()?;
        let asked = match &name {
            ServerName::DnsName(name) => Some(name.as_ref().into()),
            _ => None,
        };
        let connection = UnbufferedClientConnection::new(Arc::clone(&self.config), name).ok()?;
        let session = Session::new(ClientSide(connection), CERTIFICATES_HELD_BYTES);
        Some(Box::new(Carrier::new(session, asked)))
    }

    /// Whether a text can be the name of a server.
    pub fn is_name(server: &str) -> bool {
        server.parse::<IpAddr>().is_ok() || ServerName::try_from(server).is_ok()
    }
}

struct ClientSide(UnbufferedClientConnection);

impl Unbuffered for ClientSide {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        records: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.0.process_tls_records(records)
    }

    fn common(&self) -> &CommonState {
        &self.0
    }
}

/// Trusts every certificate, but checks that the server has its key.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

//! The server's side: what a listener offers, and the transport of each of its connections.
//!
//! Owns the settings that all connections of a listener share: certificates, protocols, tickets, the certificates that
//! clients show. No early data: what it carries may be sent twice by anyone (RFC 8446 section 8). Never opens a socket.

use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use runtime::transport::{Agreed, Transport};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    NoServerSessionStorage, ProducesTickets, ServerConnectionData, UnbufferedServerConnection,
    WebPkiClientVerifier,
};
use rustls::unbuffered::UnbufferedStatus;
use rustls::{CommonState, RootCertStore, ServerConfig};

use crate::carrier::Carrier;
use crate::certificate::Certificate;
use crate::choice::{CHALLENGE_PROTOCOL, Challenge, Choice, take_asked};
use crate::identity::Identity;
use crate::limits::{CERTIFICATES_HELD_BYTES, SERVER_HELD_BYTES, TICKETS};
use crate::pem::{PemError, read_certificates};
use crate::provider::{provider, tickets};
use crate::session::{Session, Unbuffered};

/// The keys of session tickets. A resumed session is as good as its first handshake: listeners may share these only if
/// they take the same certificates of clients. All schedulers share them, also over a reload; they are made anew every
/// six hours, and a ticket lives for at most twelve.
#[derive(Clone, Debug)]
pub struct Tickets(Arc<dyn ProducesTickets>);

impl Tickets {
    /// New keys.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn new() -> Result<Self, AcceptorError> {
        tickets().map(Self).map_err(|error| AcceptorError::Rustls(error.to_string()))
    }
}

/// Whether clients show certificates, and the authorities that issue them.
#[derive(Clone, Debug)]
pub enum ClientCertificates {
    /// They are not asked for.
    Ignored,
    /// They are asked for; a client without one is served too. One that no authority of this has issued is refused.
    Asked(ClientAuthorities),
    /// A client without one is refused.
    Required(ClientAuthorities),
}

/// The authorities that issue the certificates of clients.
#[derive(Clone, Debug)]
pub struct ClientAuthorities(Arc<RootCertStore>);

impl ClientAuthorities {
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

/// The certificates of a listener.
#[derive(Clone, Copy, Debug)]
pub enum Certificates<'a> {
    /// These, at least one. The first is for clients that ask for no known name.
    Fixed(&'a [Identity]),
    /// Certificates that an authority has issued so far, which may be none, and certificates that prove names to it.
    Ordered(&'a [Identity], &'a [Challenge]),
}

/// Why a listener cannot offer TLS.
#[derive(Debug, thiserror::Error)]
pub enum AcceptorError {
    /// There is no certificate.
    #[error("there is no certificate")]
    NoCertificate,
    /// The library refuses the settings.
    #[error("{0}")]
    Rustls(String),
}

/// The offer of a listener.
#[derive(Clone)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
    held_max: usize,
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Acceptor").finish_non_exhaustive()
    }
}

impl Acceptor {
    /// A listener with these certificates and these application protocols, the favourite first.
    ///
    /// # Errors
    /// If there is no certificate, or the library refuses the settings.
    pub fn new(
        certificates: Certificates<'_>,
        protocols: &[&str],
        clients: &ClientCertificates,
        tickets: &Tickets,
    ) -> Result<Self, AcceptorError> {
        let (identities, challenges) = match certificates {
            Certificates::Fixed([]) => return Err(AcceptorError::NoCertificate),
            Certificates::Fixed(identities) => (identities, &[][..]),
            Certificates::Ordered(identities, challenges) => (identities, challenges),
        };
        let refused = |error: &dyn fmt::Display| AcceptorError::Rustls(error.to_string());
        let held_max = match clients {
            ClientCertificates::Ignored => SERVER_HELD_BYTES,
            ClientCertificates::Asked(_) | ClientCertificates::Required(_) => {
                CERTIFICATES_HELD_BYTES
            }
        };
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| refused(&error))?;
        let builder = match verifier_of(clients).map_err(|error| refused(&error))? {
            None => builder.with_no_client_auth(),
            Some(verifier) => builder.with_client_cert_verifier(verifier),
        };
        let mut config =
            builder.with_cert_resolver(Arc::new(Choice::among(identities, challenges)));
        // An authority offers the protocol of challenges alone, so it is the favourite of nobody else. Where no
        // protocol is offered, clients may name any: there it would have them refused.
        let is_asked = !challenges.is_empty() && !protocols.is_empty();
        let of_challenges = is_asked.then_some(CHALLENGE_PROTOCOL);
        let protocols = protocols.iter().copied().chain(of_challenges);
        config.alpn_protocols = protocols.map(|name| name.as_bytes().to_vec()).collect();
        // Tickets hold a session; nothing is kept here.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = Arc::clone(&tickets.0);
        config.send_tls13_tickets = TICKETS;
        config.max_early_data_size = 0;
        let acceptor = Self { config: Arc::new(config), held_max };
        acceptor.session().map_err(|error| refused(&error))?;
        Ok(acceptor)
    }

    /// The transport of a connection that was accepted.
    ///
    /// # Panics
    /// Never: settings that the library refuses are refused by [`Acceptor::new`].
    pub fn accept(&self) -> Box<dyn Transport> {
        let session = self.session().expect("the settings were tried when they were made");
        Box::new(Carrier::new(session, None))
    }

    fn session(&self) -> Result<Session<ServerSide>, rustls::Error> {
        let connection = UnbufferedServerConnection::new(Arc::clone(&self.config))?;
        Ok(Session::new(ServerSide(connection), self.held_max))
    }
}

fn verifier_of(
    clients: &ClientCertificates,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, rustls::server::VerifierBuilderError> {
    let builder = |authorities: &ClientAuthorities| {
        WebPkiClientVerifier::builder_with_provider(Arc::clone(&authorities.0), provider())
    };
    match clients {
        ClientCertificates::Ignored => Ok(None),
        ClientCertificates::Asked(authorities) => {
            builder(authorities).allow_unauthenticated().build().map(Some)
        }
        ClientCertificates::Required(authorities) => builder(authorities).build().map(Some),
    }
}

struct ServerSide(UnbufferedServerConnection);

impl Unbuffered for ServerSide {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        records: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.0.process_tls_records(records)
    }

    fn common(&self) -> &CommonState {
        &self.0
    }

    fn take_asked() -> Option<Box<str>> {
        take_asked()
    }

    fn complete(agreed: &mut Agreed) {
        let shown = agreed.peer_certificate.as_deref();
        agreed.client = shown.map(|shown| Rc::new(Certificate::of_client(shown)));
    }
}

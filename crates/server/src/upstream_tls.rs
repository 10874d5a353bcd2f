//! The certificates that are trusted and shown at the servers of upstreams.
//!
//! Owns the settings of TLS that the schedulers begin with. Reads the files, on the main thread.

use std::path::PathBuf;

use config::{UpstreamTls, UpstreamVersion};
use files::rules::Root;
use files::secret::{SecretFault, SecretFile, WRITE_KEY};
use tls::{
    Authorities, Connector, ConnectorError, Identity, IdentityError, PemError, TrustedServers,
};

/// The application protocols that are offered to servers (RFC 7301), the preferred one first.
fn protocols(version: UpstreamVersion) -> &'static [&'static str] {
    match version {
        UpstreamVersion::Http1 => &[client::HTTP1],
        UpstreamVersion::Http2 => &[client::HTTP2, client::HTTP1],
    }
}

/// The certificates for each upstream, in the order of the configuration.
#[derive(Clone, Debug, Default)]
pub struct UpstreamConnectors {
    connectors: Vec<Option<Connector>>,
    /// Problems of files that do not prevent their use.
    pub warnings: Vec<String>,
}

/// A file of an upstream that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("[[upstream]] `{upstream}`: {why}")]
pub struct UpstreamTlsError {
    /// The name of the upstream.
    upstream: String,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("`ca`: {0}")]
    Authorities(PemError),
    #[error("`certificate` and `key`: {0}")]
    Identity(IdentityError),
    #[error("the key `{path}` {fault}", path = .0.display(), fault = .1.with_mend(WRITE_KEY))]
    Key(PathBuf, SecretFault),
    #[error("{0}")]
    Refused(ConnectorError),
}

impl UpstreamConnectors {
    /// Reads the files of all upstreams.
    ///
    /// # Errors
    /// The file that cannot be used, and why.
    pub fn load(
        upstreams: &[config::UpstreamSettings],
        roots: &[Root],
    ) -> Result<Self, UpstreamTlsError> {
        let mut loaded = Self::default();
        for upstream in upstreams {
            let offered = protocols(upstream.version);
            let connector = upstream.tls.as_ref();
            let connector = connector.map(|tls| loaded.connector_of(tls, offered, roots));
            let connector = connector
                .transpose()
                .map_err(|why| UpstreamTlsError { upstream: upstream.name.clone(), why })?;
            loaded.connectors.push(connector);
        }
        Ok(loaded)
    }

    fn connector_of(
        &mut self,
        tls: &UpstreamTls,
        protocols: &[&str],
        roots: &[Root],
    ) -> Result<Connector, Why> {
        let authorities = match &tls.authorities {
            Some(path) => Authorities::read(path).map_err(Why::Authorities)?,
            None => Authorities::of_system().map_err(Why::Refused)?,
        };
        let mut own = None;
        if let Some((certificate, key)) = &tls.certificate {
            own = Some(Identity::read(certificate, key).map_err(Why::Identity)?);
            let file =
                SecretFile::read(key, roots).map_err(|fault| Why::Key(key.clone(), fault))?;
            self.warnings.extend(file.warning);
        }
        Connector::new(&TrustedServers::Known(authorities), protocols, own.as_ref())
            .map_err(Why::Refused)
    }

    /// The certificates for the upstream at this place of the configuration.
    pub(crate) fn of(&self, place: usize) -> Option<&Connector> {
        self.connectors.get(place)?.as_ref()
    }
}

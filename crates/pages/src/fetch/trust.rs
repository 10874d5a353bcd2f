//! Which certificates fetches trust, and which one they show.
//!
//! Owns the settings of TLS that the schedulers begin with. Reads the files, on the main thread.

use std::path::PathBuf;

use config::FetchRules;
use files::rules::Root;
use files::secret::{SecretFault, SecretFile, WRITE_KEY};
use tls::{
    Authorities, Connector, ConnectorError, Identity, IdentityError, PemError, TrustedServers,
};

/// The application protocols that fetches speak (RFC 7301), the preferred one first.
const PROTOCOLS: [&str; 2] = [client::HTTP2, client::HTTP1];

/// The certificates that fetches trust and show.
#[derive(Clone, Debug, Default)]
pub struct FetchTrust {
    /// `None`: the system has no authorities, or nothing is fetched.
    connector: Option<Connector>,
    /// A problem of a file that does not prevent its use.
    pub warning: Option<String>,
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The authorities.
    #[error("`fetch_ca` in [pages]: {0}")]
    Authorities(PemError),
    /// The certificate or its key.
    #[error("`fetch_certificate` and `fetch_key` in [pages]: {0}")]
    Certificate(IdentityError),
    /// The key is not in a safe place.
    #[error(
        "the fetch_key `{path}` of [pages] {fault}",
        path = .0.display(),
        fault = .1.with_mend(WRITE_KEY)
    )]
    Key(PathBuf, SecretFault),
    /// The library refuses them.
    #[error("`fetch` in [pages]: {0}")]
    Refused(ConnectorError),
}

impl FetchTrust {
    /// Reads the configured files. The authorities of the system are read at the first call alone.
    ///
    /// # Errors
    /// If a file is not usable: its fault.
    pub fn load(settings: &config::Pages, roots: &[Root]) -> Result<Self, TrustError> {
        if !settings.enabled || settings.fetch == FetchRules::None {
            return Ok(Self::default());
        }
        let authorities = match &settings.fetch_ca {
            Some(path) => Authorities::read(path).map_err(TrustError::Authorities).map(Some)?,
            // A page is told when it fetches over TLS.
            None => Authorities::of_system().ok(),
        };
        let (mut own, mut warning) = (None, None);
        if let (Some(certificate), Some(key)) = (&settings.fetch_certificate, &settings.fetch_key) {
            own = Some(Identity::read(certificate, key).map_err(TrustError::Certificate)?);
            let file = SecretFile::read(key, roots);
            warning = file.map_err(|fault| TrustError::Key(key.clone(), fault))?.warning;
        }
        let connector = |authorities| {
            Connector::new(&TrustedServers::Known(authorities), &PROTOCOLS, own.as_ref())
        };
        let connector = authorities.map(connector).transpose().map_err(TrustError::Refused)?;
        Ok(Self { connector, warning })
    }

    /// The settings; `None`: there are no authorities.
    pub(super) fn connector(&self) -> Option<&Connector> {
        self.connector.as_ref()
    }
}

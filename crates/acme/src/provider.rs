//! The provider of cryptography, and the authorities that issuers prove themselves with.
//!
//! The only place of this crate that names the provider. Another one also needs the features of `instant-acme`, `rcgen`
//! and `rustls` changed.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;

/// The provider of cryptography.
pub(crate) fn provider() -> CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

/// How connections to issuers are secured.
///
/// # Errors
/// If one of the additional roots is not a certificate, or the provider lacks what TLS needs.
pub(crate) fn client_config(
    roots: &[CertificateDer<'static>],
) -> Result<Arc<ClientConfig>, rustls::Error> {
    let mut trusted = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for root in roots {
        trusted.add(root.clone())?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

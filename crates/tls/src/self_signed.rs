//! A certificate made on the spot, for a first look and for tests.
//!
//! Owns its names and its life. Never writes a file.

use std::path::Path;

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::identity::{Identity, IdentityError};

/// A certificate for these host names and addresses that has signed itself, with a new ECDSA key. Clients refuse it
/// unless they are told not to.
///
/// # Errors
/// If a name is not a name, or the system gives no random bytes.
pub fn self_signed(names: &[&str]) -> Result<Identity, SelfSignedError> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(SelfSignedError::Made)?;
    let params = CertificateParams::new(names).map_err(SelfSignedError::Made)?;
    let certificate = params.self_signed(&key).map_err(SelfSignedError::Made)?;
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let place = Path::new("--tls-self-signed");
    Identity::of(vec![certificate.der().clone()], private, (place, place))
        .map_err(SelfSignedError::Refused)
}

/// Why there is no such certificate.
#[derive(Debug, thiserror::Error)]
pub enum SelfSignedError {
    /// It could not be made.
    #[error("cannot make a certificate: {0}")]
    Made(rcgen::Error),
    /// It cannot be used.
    #[error("{0}")]
    Refused(IdentityError),
}

//! The two signature algorithms for `jsonwebtoken`, based on cryptography that this server already
//! has.
//!
//! Owns the bridge between the two: nothing is computed here.

use ed25519_dalek::VerifyingKey;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use sha2::Sha256;
use signature::{Error, Verifier};

use super::is_for;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Installs the algorithms in the library, once for the whole program.
pub(super) fn install() {
    // They are installed already.
    let _installed = PROVIDER.install_default();
}

fn signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if !is_for(*algorithm, key) {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    let bytes = key.try_get_as_bytes()?;
    if *algorithm == Algorithm::HS256 {
        let code = Hmac::new_from_slice(bytes).map_err(|_| ErrorKind::InvalidKeyFormat)?;
        return Ok(Box::new(Secret(code)));
    }
    let bytes = bytes.try_into().map_err(|_| ErrorKind::InvalidEddsaKey)?;
    let key = VerifyingKey::from_bytes(bytes).map_err(|_| ErrorKind::InvalidEddsaKey)?;
    Ok(Box::new(Public(key)))
}

struct Secret(Hmac<Sha256>);

impl Verifier<Vec<u8>> for Secret {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let mut code = self.0.clone();
        code.update(message);
        // The time does not depend on where the first difference is.
        code.verify_slice(signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Secret {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

struct Public(VerifyingKey);

impl Verifier<Vec<u8>> for Public {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let signature =
            ed25519_dalek::Signature::from_slice(signature).map_err(|_| Error::new())?;
        self.0.verify_strict(message, &signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Public {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

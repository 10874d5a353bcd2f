//! The proofs of names: what has to be answered, or be in DNS, for each kind of challenge.
//!
//! Owns the forms of RFC 8555 section 8, RFC 8737, RFC 8738 and draft-ietf-acme-dns-persist. Sends no request and
//! answers none.

use std::net::IpAddr;

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::names::Name;
use crate::sink::ChallengeAnswer;

pub(crate) fn http01(name: &Name, token: &str, thumbprint: &str) -> ChallengeAnswer {
    let key_authorization = format!("{token}.{thumbprint}");
    ChallengeAnswer::Http01 { name: name.clone(), token: token.to_owned(), key_authorization }
}

/// Whether a token is of the alphabet of base64url, so that it can be a segment of a path (RFC 8555 section 8.3).
pub(crate) fn is_token(token: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !token.is_empty() && token.len() <= 256 && token.bytes().all(is_letter)
}

/// The answer of TLS-ALPN-01: a certificate with the digest of the key authorization (RFC 8737 section 3).
pub(crate) fn tls_alpn01(
    name: &Name,
    token: &str,
    thumbprint: &str,
) -> Result<ChallengeAnswer, rcgen::Error> {
    let digest = Sha256::digest(format!("{token}.{thumbprint}"));
    let mut params = CertificateParams::new([name.to_string()])?;
    params.distinguished_name = DistinguishedName::new();
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(&digest)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?.der().clone();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok(ChallengeAnswer::TlsAlpn01 { server_name: server_name(name), certificate, key })
}

/// The server name of the authority's handshake. For an address it is the name of its reverse look-up (RFC 8738
/// section 6).
fn server_name(name: &Name) -> String {
    match name {
        Name::Dns(name) | Name::Wildcard(name) => name.clone(),
        Name::Address(IpAddr::V4(address)) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        Name::Address(IpAddr::V6(address)) => {
            let nibbles =
                address.octets().into_iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
            nibbles.map(|nibble| format!("{nibble:x}.")).chain(["ip6.arpa".to_owned()]).collect()
        }
    }
}

/// A record in DNS that proves a name for as long as it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PersistentRecord {
    pub(crate) domain: String,
    pub(crate) text: String,
}

/// An authorization as far as `instant-acme` does not read it.
#[derive(Deserialize)]
struct RawAuthorization {
    #[serde(default)]
    challenges: Vec<RawChallenge>,
}

#[derive(Deserialize)]
struct RawChallenge {
    url: String,
    #[serde(rename = "issuer-domain-names", default)]
    issuer_domain_names: Vec<String>,
}

/// The record that DNS-PERSIST-01 asks for, from the authorization as the authority sent it. Any of the authority's
/// names will do: the first is taken. `None` if this is not the authorization of the challenge, or if the authority
/// gave no name.
pub(crate) fn dns_persist01(
    authorization: &[u8],
    challenge_url: &str,
    name: &Name,
    account: &str,
) -> Option<PersistentRecord> {
    let (domain, policy) = match name {
        Name::Dns(domain) => (domain, ""),
        Name::Wildcard(domain) => (domain, "; policy=wildcard"),
        Name::Address(_) => return None,
    };
    let raw: RawAuthorization = serde_json::from_slice(authorization).ok()?;
    let challenge = raw.challenges.into_iter().find(|challenge| challenge.url == challenge_url)?;
    let authority = challenge.issuer_domain_names.into_iter().next()?;
    Some(PersistentRecord {
        domain: format!("_validation-persist.{domain}"),
        text: format!("{authority}; accounturi={account}{policy}"),
    })
}

//! The certificate for a connection: by the name that the client asks for (RFC 6066 section 3) and the signatures that
//! it understands.
//!
//! Owns the order: exact name, wildcard, default; without a name one for an address before the default. Of several for
//! one name, ECDSA before RSA, the first that the client can check. An authority that checks a name (RFC 8737) gets the
//! certificate made for that, and nobody else does. Never reads a file.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;

use ahash::HashMap;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::identity::Identity;
use crate::provider::provider;

thread_local! {
    /// The name that the last hello on this thread asked for. A session without buffers does not tell it.
    static ASKED: RefCell<Option<Box<str>>> = const { RefCell::new(None) };
}

/// Takes the name that the last hello on this thread asked for.
pub(crate) fn take_asked() -> Option<Box<str>> {
    ASKED.take()
}

/// The application protocol of a challenge, which is offered alone (RFC 8737 section 6.2).
pub const CHALLENGE_PROTOCOL: &str = "acme-tls/1";

/// A certificate that proves a name to an authority (RFC 8737). It is shown to those who ask for it by its protocol,
/// and for nothing else.
#[derive(Clone, Debug)]
pub struct Challenge {
    server_name: Box<str>,
    key: Arc<CertifiedKey>,
}

impl Challenge {
    /// The proof that is asked for with this server name.
    ///
    /// # Errors
    /// If the key is of a kind that TLS does not use.
    pub fn new(
        server_name: &str,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, ChallengeError> {
        let signing = provider().key_provider.load_private_key(key).map_err(|_| ChallengeError)?;
        // Its extension is critical, so it is not read: nothing here has to trust it.
        let key = Arc::new(CertifiedKey::new(vec![certificate], signing));
        Ok(Self { server_name: server_name.into(), key })
    }

    /// The server name that it is asked for with.
    pub fn server_name(&self) -> &str {
        &self.server_name
    }
}

/// The key of a challenge is of a kind that TLS does not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of a challenge cannot sign")]
pub struct ChallengeError;

/// Certificates by name.
#[derive(Debug)]
pub(crate) struct Choice {
    /// By exact name.
    exact: HashMap<Box<str>, Vec<Arc<CertifiedKey>>>,
    /// By what follows the first label.
    wildcards: HashMap<Box<str>, Vec<Arc<CertifiedKey>>>,
    /// For clients that ask for another name.
    default: Vec<Arc<CertifiedKey>>,
    /// For clients that ask for no name, as those do that connect to an address (RFC 6066 section 3).
    unnamed: Vec<Arc<CertifiedKey>>,
    /// By exact name, for authorities.
    challenges: HashMap<Box<str>, Arc<CertifiedKey>>,
}

impl Choice {
    /// A choice among these. The first one is the default, together with those for the same names.
    pub(crate) fn among(identities: &[Identity], challenges: &[Challenge]) -> Self {
        let of_authority = |one: &Challenge| (one.server_name.clone(), Arc::clone(&one.key));
        let mut choice = Self {
            exact: HashMap::default(),
            wildcards: HashMap::default(),
            default: Vec::new(),
            unnamed: Vec::new(),
            challenges: challenges.iter().map(of_authority).collect(),
        };
        for identity in identities {
            for name in &identity.certificate().names {
                let (map, name) = match name.strip_prefix("*.") {
                    Some(parent) => (&mut choice.wildcards, parent),
                    None => (&mut choice.exact, name.as_str()),
                };
                map.entry(name.into()).or_default().push(Arc::clone(identity.key()));
            }
        }
        let first = identities.first();
        choice.default = alike(identities, first);
        choice.unnamed =
            alike(identities, identities.iter().find(|one| is_for_address(one)).or(first));
        // ECDSA signs many times as fast as RSA; a client that cannot check it gets the other.
        let of_maps = choice.exact.values_mut().chain(choice.wildcards.values_mut());
        for keys in of_maps.chain([&mut choice.default, &mut choice.unnamed]) {
            keys.sort_by_key(|key| key.key.algorithm() == rustls::SignatureAlgorithm::RSA);
        }
        choice
    }

    fn of_name(&self, name: Option<&str>) -> &[Arc<CertifiedKey>] {
        let Some(name) = name else { return &self.unnamed };
        let wildcard = || self.wildcards.get(name.split_once('.')?.1);
        self.exact.get(name).or_else(wildcard).unwrap_or(&self.default)
    }
}

impl ResolvesServerCert for Choice {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // rustls has checked it and made it lower case.
        let name = hello.server_name();
        ASKED.set(name.map(Into::into));
        if is_challenge(&hello) {
            return self.challenges.get(name?).cloned();
        }
        let keys = self.of_name(name);
        let schemes = hello.signature_schemes();
        let fits = |key: &&Arc<CertifiedKey>| key.key.choose_scheme(schemes).is_some();
        // If none fits, rustls refuses the connection with the right alert.
        keys.iter().find(fits).or_else(|| keys.first()).cloned()
    }
}

/// The keys of those that have the same names as one of them.
fn alike(identities: &[Identity], one: Option<&Identity>) -> Vec<Arc<CertifiedKey>> {
    let names = one.map(|one| &one.certificate().names);
    let alike = identities.iter().filter(|other| Some(&other.certificate().names) == names);
    alike.map(|other| Arc::clone(other.key())).collect()
}

fn is_for_address(identity: &Identity) -> bool {
    identity.certificate().names.iter().any(|name| name.parse::<IpAddr>().is_ok())
}

/// Whether an authority asks for a proof: it offers the protocol of challenges and no other.
fn is_challenge(hello: &ClientHello<'_>) -> bool {
    let Some(mut offered) = hello.alpn() else { return false };
    offered.next() == Some(CHALLENGE_PROTOCOL.as_bytes()) && offered.next().is_none()
}

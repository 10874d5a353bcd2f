//! The certificate for a connection: by the name that the client asks for (RFC 6066 section 3) and the signatures that
//! it understands.
//!
//! Owns the order: exact name, wildcard, default. Of several for one name, ECDSA before RSA, the first that the client
//! can check. Never reads a file.

use std::cell::RefCell;
use std::sync::Arc;

use ahash::HashMap;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::identity::Identity;

thread_local! {
    /// The name that the last hello on this thread asked for. A session without buffers does not tell it.
    static ASKED: RefCell<Option<Box<str>>> = const { RefCell::new(None) };
}

/// Takes the name that the last hello on this thread asked for.
pub(crate) fn take_asked() -> Option<Box<str>> {
    ASKED.take()
}

/// Certificates by name.
#[derive(Debug)]
pub(crate) struct Choice {
    /// By exact name.
    exact: HashMap<Box<str>, Vec<Arc<CertifiedKey>>>,
    /// By what follows the first label.
    wildcards: HashMap<Box<str>, Vec<Arc<CertifiedKey>>>,
    /// For clients that ask for no name, or for another one.
    default: Vec<Arc<CertifiedKey>>,
}

impl Choice {
    /// A choice among these. The first one is the default, together with those for the same names.
    pub(crate) fn among(identities: &[Identity]) -> Self {
        let mut choice =
            Self { exact: HashMap::default(), wildcards: HashMap::default(), default: Vec::new() };
        for identity in identities {
            for name in &identity.certificate().names {
                let (map, name) = match name.strip_prefix("*.") {
                    Some(parent) => (&mut choice.wildcards, parent),
                    None => (&mut choice.exact, name.as_str()),
                };
                map.entry(name.into()).or_default().push(Arc::clone(identity.key()));
            }
        }
        if let Some(first) = identities.first() {
            let names = &first.certificate().names;
            let alike = identities.iter().filter(|one| &one.certificate().names == names);
            choice.default = alike.map(|one| Arc::clone(one.key())).collect();
        }
        // ECDSA signs many times as fast as RSA; a client that cannot check it gets the other.
        let of_maps = choice.exact.values_mut().chain(choice.wildcards.values_mut());
        for keys in of_maps.chain(std::iter::once(&mut choice.default)) {
            keys.sort_by_key(|key| key.key.algorithm() == rustls::SignatureAlgorithm::RSA);
        }
        choice
    }

    fn of_name(&self, name: Option<&str>) -> &[Arc<CertifiedKey>] {
        let Some(name) = name else { return &self.default };
        let wildcard = || self.wildcards.get(name.split_once('.')?.1);
        self.exact.get(name).or_else(wildcard).unwrap_or(&self.default)
    }
}

impl ResolvesServerCert for Choice {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // rustls has checked it and made it lower case.
        let name = hello.server_name();
        ASKED.set(name.map(Into::into));
        let keys = self.of_name(name);
        let schemes = hello.signature_schemes();
        let fits = |key: &&Arc<CertifiedKey>| key.key.choose_scheme(schemes).is_some();
        // If none fits, rustls refuses the connection with the right alert.
        keys.iter().find(fits).or_else(|| keys.first()).cloned()
    }
}

//! The certificates that authorities have issued, and the answers to their questions: a value that is replaced as a
//! whole.
//!
//! Owns which certificates are in use for the configured names. Orders nothing; listeners and `site` read it. A clone
//! shares its parts until one of them changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use acme::{CertificateNames, ChallengeAnswer, Name};
use tls::{Challenge, Identity};

/// The certificates and challenges of a server.
#[derive(Clone, Debug, Default)]
pub struct Issued {
    /// By each of their names.
    certificates: Arc<BTreeMap<Name, Identity>>,
    challenges: Arc<Vec<Challenge>>,
    /// Answers to an authority that asks on port 80, by token (RFC 8555 section 8.3).
    answers: Arc<BTreeMap<String, String>>,
}

impl Issued {
    /// Uses a certificate for its names, instead of those before.
    pub fn insert(&mut self, names: &CertificateNames, identity: &Identity) {
        let of_names = names.iter().map(|name| (name.clone(), identity.clone()));
        Arc::make_mut(&mut self.certificates).extend(of_names);
    }

    /// The certificates for these names, as the configuration writes them, in their order. One for several names that
    /// follow each other is there once.
    pub fn for_names(&self, names: &[String]) -> Vec<Identity> {
        let names = names.iter().filter_map(|name| Name::parse(name).ok());
        let mut found: Vec<Identity> =
            names.filter_map(|name| self.certificates.get(&name).cloned()).collect();
        found.dedup_by_key(|identity| identity.certificate().fingerprint);
        found
    }

    /// The certificates that authorities ask for.
    pub fn challenges(&self) -> &[Challenge] {
        &self.challenges
    }

    /// Answers an authority from now on.
    ///
    /// # Errors
    /// If the certificate of the answer cannot be shown.
    pub fn answer(&mut self, answer: ChallengeAnswer) -> Result<(), tls::ChallengeError> {
        match answer {
            ChallengeAnswer::Http01 { token, key_authorization, .. } => {
                Arc::make_mut(&mut self.answers).insert(token, key_authorization);
            }
            ChallengeAnswer::TlsAlpn01 { server_name, certificate, key } => {
                let challenge = Challenge::new(&server_name, certificate, key)?;
                Arc::make_mut(&mut self.challenges).push(challenge);
            }
        }
        Ok(())
    }

    /// Answers this no longer.
    pub fn withdraw(&mut self, answer: &ChallengeAnswer) {
        match answer {
            ChallengeAnswer::Http01 { token, .. } => {
                Arc::make_mut(&mut self.answers).remove(token);
            }
            ChallengeAnswer::TlsAlpn01 { server_name, .. } => {
                let challenges = Arc::make_mut(&mut self.challenges);
                challenges.retain(|one| one.server_name() != server_name);
            }
        }
    }

    /// Answers no authority any more.
    pub fn withdraw_all(&mut self) {
        self.challenges = Arc::default();
        self.answers = Arc::default();
    }

    /// Whether authorities are answered on port 80 now.
    pub fn has_http_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The body for a token of an authority.
    pub fn answer_to(&self, token: &str) -> Option<&str> {
        self.answers.get(token).map(String::as_str)
    }

    /// Whether listeners show the same with the other one: certificates and challenges of handshakes.
    pub fn shows_the_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.certificates, &other.certificates)
            && Arc::ptr_eq(&self.challenges, &other.challenges)
    }
}

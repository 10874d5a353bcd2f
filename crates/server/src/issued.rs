//! The certificates that authorities have issued, and the answers to their questions: a value that is replaced as a
//! whole.
//!
//! Owns which certificates are in use for the configured names. Orders nothing; listeners and `site` read it.

use acme::{Answer, Name};
use tls::{Challenge, Identity};

/// The certificates and challenges of a server.
#[derive(Clone, Debug, Default)]
pub struct Issued {
    certificates: Vec<(String, Identity)>,
    challenges: Vec<Challenge>,
    answers: Vec<HttpAnswer>,
}

/// The answer to an authority that asks on port 80 (RFC 8555 section 8.3).
#[derive(Clone, Debug, PartialEq, Eq)]
struct HttpAnswer {
    token: String,
    body: String,
}

impl Issued {
    /// Uses a certificate for a name, instead of the one before.
    pub fn insert(&mut self, name: String, identity: Identity) {
        self.certificates.retain(|(known, _)| *known != name);
        self.certificates.push((name, identity));
    }

    /// The certificates for these names, as the configuration writes them, in their order.
    pub fn for_names(&self, names: &[String]) -> Vec<Identity> {
        let names = names.iter().filter_map(|name| Name::parse(name).ok());
        let of_name = |name: Name| {
            let name = name.to_string();
            let found = self.certificates.iter().find(|(known, _)| *known == name);
            found.map(|(_, identity)| identity.clone())
        };
        names.filter_map(of_name).collect()
    }

    /// The certificates that authorities ask for.
    pub fn challenges(&self) -> &[Challenge] {
        &self.challenges
    }

    /// Answers an authority from now on.
    ///
    /// # Errors
    /// If the certificate of the answer cannot be shown.
    pub fn answer(&mut self, answer: Answer) -> Result<(), tls::ChallengeError> {
        match answer {
            Answer::Http01 { token, key_authorization, .. } => {
                self.answers.push(HttpAnswer { token, body: key_authorization });
            }
            Answer::TlsAlpn01 { server_name, certificate, key } => {
                self.challenges.push(Challenge::new(&server_name, certificate, key)?);
            }
        }
        Ok(())
    }

    /// Answers this no longer.
    pub fn withdraw(&mut self, answer: &Answer) {
        match answer {
            Answer::Http01 { token, .. } => self.answers.retain(|one| one.token != *token),
            Answer::TlsAlpn01 { server_name, .. } => {
                self.challenges.retain(|one| one.server_name() != server_name);
            }
        }
    }

    /// Whether authorities are answered on port 80 now.
    pub fn is_asked(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The body for a token of an authority.
    pub fn answer_to(&self, token: &str) -> Option<&str> {
        let found = self.answers.iter().find(|one| one.token == token);
        found.map(|one| one.body.as_str())
    }
}

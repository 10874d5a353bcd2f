//! The rights of clients.
//!
//! Owns the decision, from the rules of a channel and the rights of the client.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use runtime::transport::{Agreed, ClientCertificate};

use crate::outcome::ChannelRefusal;
use crate::rules::{Access, CertificateRule, ChannelPolicy};
use crate::token::Pass;

/// The rights of a client: what it has shown, and the certificate of its connection.
#[derive(Clone, Debug)]
pub struct Rights(Known);

/// The proofs of a client. Most have no certificate: they pay no memory for one.
#[derive(Clone, Debug)]
enum Known {
    Shown(Credential),
    Certified(Box<(Rc<ClientCertificate>, Credential)>),
}

// Every idle client of a channel or of the store keeps its rights.
const _: () = assert!(size_of::<Rights>() <= 16);

impl Default for Rights {
    fn default() -> Self {
        Self::ANYBODY
    }
}

/// The credential of a client, which it may replace later.
#[derive(Clone, Debug, Default)]
pub enum Credential {
    /// Nothing.
    #[default]
    Nothing,
    /// A token.
    Token(Arc<Pass>),
    /// A key or password of the server, for which the rules do not apply.
    Key,
}

/// A client that publishes.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'s> {
    /// Its rights.
    pub rights: &'s Rights,
    /// Its address; `None` for the server itself.
    pub address: Option<IpAddr>,
}

impl Sender<'_> {
    /// The server itself, or a program that may do everything.
    pub(crate) const SERVER: Sender<'static> = Sender { rights: &Rights::ALL, address: None };
}

impl Rights {
    /// Those of a client of whom nothing is known.
    pub const ANYBODY: Self = Self(Known::Shown(Credential::Nothing));

    /// Those of the server itself, for which the rules do not apply.
    pub const ALL: Self = Self(Known::Shown(Credential::Key));

    /// Those of a client that has shown this over a connection on which that was agreed.
    pub fn new(shown: Credential, agreed: Option<&Agreed>) -> Self {
        let certificate = agreed.and_then(|agreed| agreed.client.clone());
        Self(match certificate {
            None => Known::Shown(shown),
            Some(certificate) => Known::Certified(Box::new((certificate, shown))),
        })
    }

    /// The client has shown this instead. Its certificate remains.
    pub fn show(&mut self, shown: Credential) {
        match &mut self.0 {
            Known::Shown(before) => *before = shown,
            Known::Certified(known) => known.1 = shown,
        }
    }

    /// The credential of the client.
    pub fn shown(&self) -> &Credential {
        match &self.0 {
            Known::Shown(shown) => shown,
            Known::Certified(known) => &known.1,
        }
    }

    fn certificate(&self) -> Option<&ClientCertificate> {
        match &self.0 {
            Known::Shown(_) => None,
            Known::Certified(known) => Some(&known.0),
        }
    }

    /// Whether the rules do not apply to the client.
    pub fn are_all(&self) -> bool {
        matches!(self.shown(), Credential::Key)
    }

    /// Whether the client may subscribe to a channel with these rules.
    pub(crate) fn to_subscribe(
        &self,
        name: &str,
        rules: &ChannelPolicy,
    ) -> Result<(), ChannelRefusal> {
        let is_named = |pass: &Pass| pass.subscribe.iter().any(|glob| glob.matches(name));
        self.to((rules.subscribe, rules.subscribe_certificate.as_ref()), is_named)
    }

    /// Whether the client may publish to a channel with these rules.
    pub(crate) fn to_publish(
        &self,
        name: &str,
        rules: &ChannelPolicy,
    ) -> Result<(), ChannelRefusal> {
        let is_named = |pass: &Pass| pass.publish.iter().any(|glob| glob.matches(name));
        self.to((rules.publish, rules.publish_certificate.as_ref()), is_named)
    }

    fn to(
        &self,
        (access, certificates): (Access, Option<&CertificateRule>),
        is_named: impl FnOnce(&Pass) -> bool,
    ) -> Result<(), ChannelRefusal> {
        if self.are_all() {
            return Ok(());
        }
        // No token can take the place of a certificate, so none is asked for.
        if certificates.is_some_and(|certificates| !certificates.have(self.certificate())) {
            return Err(ChannelRefusal::NoCertificate);
        }
        match (access, self.shown()) {
            (Access::Open, _) | (_, Credential::Key) => Ok(()),
            (Access::Token, Credential::Nothing) => Err(ChannelRefusal::NoToken),
            (Access::Token, Credential::Token(pass)) if is_named(pass) => Ok(()),
            (Access::Token | Access::Closed, _) => Err(ChannelRefusal::Denied),
        }
    }

    /// When they expire, in seconds since 1970.
    pub fn expire(&self) -> Option<u64> {
        self.pass().map(|pass| pass.expires)
    }

    /// Milliseconds until they expire, if they do.
    pub fn left_ms(&self, unix_seconds: u64) -> Option<u64> {
        Some(self.expire()?.saturating_sub(unix_seconds).saturating_mul(1000))
    }

    /// Removes a credential that has expired. Returns whether there was one.
    pub fn end_if_over(&mut self, unix_seconds: u64) -> bool {
        let is_over = self.left_ms(unix_seconds) == Some(0);
        if is_over {
            self.show(Credential::Nothing);
        }
        is_over
    }

    /// The token.
    pub fn pass(&self) -> Option<&Arc<Pass>> {
        match self.shown() {
            Credential::Token(pass) => Some(pass),
            Credential::Nothing | Credential::Key => None,
        }
    }
}

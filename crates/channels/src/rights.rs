//! What a client may do.
//!
//! Owns the decision, from the rules of a channel and the rights of the client.

use std::net::IpAddr;
use std::sync::Arc;

use crate::outcome::Refusal;
use crate::rules::{Access, Rules};
use crate::token::Pass;

/// What a client has shown.
#[derive(Clone, Debug, Default)]
pub enum Rights {
    /// Nothing.
    #[default]
    Anybody,
    /// A token.
    Token(Arc<Pass>),
    /// A key or password of the server, for which the rules do not apply.
    All,
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
    pub const SERVER: Sender<'static> = Sender { rights: &Rights::All, address: None };
}

impl Rights {
    /// Whether the client may subscribe to a channel with these rules.
    ///
    /// # Errors
    /// Why not.
    pub fn to_subscribe(&self, name: &str, rules: &Rules) -> Result<(), Refusal> {
        self.to(rules.subscribe, |pass| pass.subscribe.iter().any(|glob| glob.matches(name)))
    }

    /// Whether the client may publish to a channel with these rules.
    ///
    /// # Errors
    /// Why not.
    pub fn to_publish(&self, name: &str, rules: &Rules) -> Result<(), Refusal> {
        self.to(rules.publish, |pass| pass.publish.iter().any(|glob| glob.matches(name)))
    }

    fn to(&self, access: Access, is_named: impl FnOnce(&Pass) -> bool) -> Result<(), Refusal> {
        match (access, self) {
            (_, Self::All) | (Access::Open, _) => Ok(()),
            (Access::Token, Self::Anybody) => Err(Refusal::NoToken),
            (Access::Token, Self::Token(pass)) if is_named(pass) => Ok(()),
            (Access::Token | Access::Closed, _) => Err(Refusal::Denied),
        }
    }

    /// When they expire, in seconds since 1970.
    #[must_use]
    pub fn expire(&self) -> Option<u64> {
        self.pass().map(|pass| pass.expires)
    }

    /// The token.
    #[must_use]
    pub fn pass(&self) -> Option<&Arc<Pass>> {
        match self {
            Self::Token(pass) => Some(pass),
            Self::Anybody | Self::All => None,
        }
    }
}

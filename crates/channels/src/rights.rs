//! What a client may do.
//!
//! Owns the decision: what a channel's rules ask for, and what the client has.

use std::sync::Arc;

use crate::outcome::Refusal;
use crate::rules::{Access, Rules};
use crate::token::Pass;

/// What a client has to show.
#[derive(Clone, Debug, Default)]
pub enum Rights {
    /// Nothing.
    #[default]
    Anybody,
    /// A token.
    Token(Arc<Pass>),
    /// A key or password of the server: the rules do not bind it.
    All,
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

    /// When they end, in seconds since 1970.
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

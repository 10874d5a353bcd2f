//! A sign of life on its way: JSON, in which older versions leave out what they do not know.
//!
//! Owns its form. Never knows which nodes live.

use serde::{Deserialize, Serialize};

use crate::likeness::KeptForm;

/// A sign of life. Plain data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SignForm {
    pub(crate) node: u64,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) schedulers: u16,
    pub(crate) link: u16,
    /// The number of the link's connection.
    pub(crate) connection: u64,
    /// The number of the sign on that connection, from 0. Older versions do not tell it.
    #[serde(default)]
    pub(crate) number: Option<u64>,
    /// How long after the one before it on that connection.
    #[serde(default)]
    pub(crate) after_ms: Option<u64>,
    /// Why it is sent.
    #[serde(default)]
    pub(crate) why: Occasion,
    /// How the node keeps channels. Older versions do not tell it.
    #[serde(default)]
    pub(crate) kept: Option<KeptForm>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Occasion {
    /// It is time.
    #[default]
    Time,
    /// The link has just connected, and wants to know the others.
    Came,
    /// The node ends.
    Ends,
}

impl SignForm {
    pub(crate) fn written(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are always JSON")
    }

    /// The sign in a message; `None`: it is none.
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        serde_json::from_slice(payload).ok()
    }
}

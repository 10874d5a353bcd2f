//! `access` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `access` does.

use std::path::PathBuf;

use wire::network::Peers;

/// One rule of `access`. The first one that applies to a request decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessRule {
    /// Refuses these clients.
    Deny(Vec<Clients>),
    /// Lets a request in that meets all that is named.
    Admit(Admission),
}

/// The demands on a request. An absent demand is always met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Admission {
    /// It comes from one of these; empty for all.
    pub from: Vec<Clients>,
    /// It has the password of a user.
    pub users: Option<Users>,
    /// It has a token or an API key, as for channels.
    pub token: Option<AcceptedNames>,
    /// Its connection has a certificate of a client.
    pub certificate: Option<AcceptedNames>,
}

/// A part of all clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// All of them.
    All,
    /// Clients at these addresses.
    At(Peers),
}

/// A file of users and the hashes of their passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users {
    /// Its path.
    pub path: PathBuf,
    /// The text that browsers show when they ask for the password.
    pub realm: String,
}

/// The tokens or certificates that are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptedNames {
    /// Anybody's.
    Any,
    /// A certificate with one of these subjects or fingerprints.
    These(Vec<String>),
}

//! Access control for the databases of the store.
//!
//! Owns the decision, for clients of every protocol. The rules come from the configuration, and a
//! reload changes them for open connections as well.

use channels::{Credential, Rights};

/// The access that a client needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessNeed {
    /// Read access to one database.
    Read,
    /// Write access to one database.
    Write,
    /// Write access to all databases.
    WriteAll,
}

/// Why access is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAccess {
    /// The client has not authenticated; a token could give the right.
    NoToken,
    /// The client has not authenticated; an API key would give the right.
    NoKey,
    /// The client has authenticated without the right, or nothing gives it.
    Denied,
}

/// The credential that a client needs for one kind of access to a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requirement {
    /// Nothing.
    #[default]
    Nothing,
    /// A token that names the database, or a key.
    Token,
    /// A key.
    Key,
    /// No client has this access.
    Unmet,
}

/// The credentials that a client needs to read a database, and to write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseRequirements {
    /// To read it.
    pub read: Requirement,
    /// To write it.
    pub write: Requirement,
}

impl DatabaseRequirements {
    /// Whether a client with these rights may read the database, or write it, whose name is asked for only if it
    /// matters.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check<'n>(
        &self,
        need: AccessNeed,
        name: impl FnOnce() -> &'n str,
        rights: &Rights,
    ) -> Result<(), NoAccess> {
        let required = if need == AccessNeed::Read { self.read } else { self.write };
        match (required, rights.shown()) {
            (Requirement::Nothing, _)
            | (Requirement::Key | Requirement::Token, Credential::Key) => Ok(()),
            (Requirement::Token, Credential::Token(pass)) => {
                let may =
                    if need == AccessNeed::Read { pass.reads(name()) } else { pass.writes(name()) };
                if may { Ok(()) } else { Err(NoAccess::Denied) }
            }
            (Requirement::Token, Credential::Nothing) => Err(NoAccess::NoToken),
            (Requirement::Key, _) => Err(NoAccess::NoKey),
            (Requirement::Unmet, _) => Err(NoAccess::Denied),
        }
    }
}

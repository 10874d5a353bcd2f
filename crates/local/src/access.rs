//! Access control for the databases of the store.
//!
//! Owns the decision, for clients of every protocol. The rules come from the configuration, and a
//! reload changes them for open connections as well.

use channels::{Rights, Shown};
use store::Database;

use crate::access_rules::Requirement;
use crate::store_client::StoreClient;

/// The access that a client needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
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

impl StoreClient {
    /// Whether a client with these rights has this access.
    ///
    /// # Errors
    /// Why it has not.
    pub fn check_access(
        &self,
        need: Need,
        database: Database,
        rights: &Rights,
    ) -> Result<(), NoAccess> {
        let number = usize::from(database.0);
        match need {
            Need::Read | Need::Write => self.check_one(need, number, rights),
            Need::WriteAll => (0..self.rules().len())
                .try_for_each(|number| self.check_one(Need::Write, number, rights)),
        }
    }

    fn check_one(&self, need: Need, number: usize, rights: &Rights) -> Result<(), NoAccess> {
        let rules = self.rules().get(number).copied().unwrap_or_default();
        let required = if need == Need::Read { rules.read } else { rules.write };
        match (required, rights.shown()) {
            (Requirement::Nothing, _) | (Requirement::Key | Requirement::Token, Shown::Key) => {
                Ok(())
            }
            (Requirement::Token, Shown::Token(pass)) => {
                let name = self.store().databases().get(number).map_or("", String::as_str);
                let may = if need == Need::Read { pass.reads(name) } else { pass.writes(name) };
                if may { Ok(()) } else { Err(NoAccess::Denied) }
            }
            (Requirement::Token, Shown::Nothing) => Err(NoAccess::NoToken),
            (Requirement::Key, _) => Err(NoAccess::NoKey),
            (Requirement::Unmet, _) => Err(NoAccess::Denied),
        }
    }
}

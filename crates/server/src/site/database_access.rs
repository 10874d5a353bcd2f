//! Access control for the databases of the store.
//!
//! Owns the decision, for clients of every protocol. The rules come from the configuration, and a
//! reload changes them for open connections as well.

use channels::{Rights, Shown};
use config::DatabaseAccess;
use store::Database;

use super::state::Site;

/// The access that a client needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Read,
    Write,
    /// Write access to all databases.
    WriteAll,
}

/// Why access is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAccess {
    /// The client has not authenticated; a token could give the right.
    NoToken,
    /// The client has not authenticated; an API key would give the right.
    NoKey,
    /// The client has authenticated without the right, or nothing gives it.
    Denied,
}

impl Site {
    /// Whether a client with these rights has this access.
    ///
    /// # Errors
    /// Why it has not.
    pub(crate) fn check_access(
        &self,
        need: Need,
        database: Database,
        rights: &Rights,
    ) -> Result<(), NoAccess> {
        let number = usize::from(database.0);
        match need {
            Need::Read | Need::Write => self.check_one(need, number, rights),
            Need::WriteAll => (0..self.data.database_accesses.len())
                .try_for_each(|number| self.check_one(Need::Write, number, rights)),
        }
    }

    fn check_one(&self, need: Need, number: usize, rights: &Rights) -> Result<(), NoAccess> {
        let (read, write) = self.data.database_accesses.get(number).copied().unwrap_or_default();
        let access = if need == Need::Read { read } else { write };
        match (access, rights.shown()) {
            (DatabaseAccess::Open, _)
            | (DatabaseAccess::Key | DatabaseAccess::Token, Shown::Key) => Ok(()),
            (DatabaseAccess::Token, Shown::Token(pass)) => {
                let names = self.store.as_ref().map(|store| store.store().databases());
                let name = names.and_then(|names| names.get(number)).map_or("", String::as_str);
                let may = if need == Need::Read { pass.reads(name) } else { pass.writes(name) };
                if may { Ok(()) } else { Err(NoAccess::Denied) }
            }
            (DatabaseAccess::Token, Shown::Nothing) => Err(NoAccess::NoToken),
            (DatabaseAccess::Key, _) => Err(NoAccess::NoKey),
            (DatabaseAccess::None, _) => Err(NoAccess::Denied),
        }
    }
}

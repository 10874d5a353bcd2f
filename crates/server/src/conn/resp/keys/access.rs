//! The access of a session to its database.
//!
//! Owns the decision. The rules are the configuration's, and a reload changes them for sessions that stand.

use channels::Rights;
use config::DatabaseAccess;

use super::super::Session;
use crate::site::Site;

/// What a command needs to be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Need {
    Read,
    Write,
    /// To write all databases.
    WriteAll,
}

pub(super) fn may(session: &Session, need: Need, site: &Site) -> Result<(), &'static str> {
    let rights = session.lease.rights();
    let is_allowed = match need {
        Need::Read => allows(site.database_access(session.database).0, rights),
        Need::Write => allows(site.database_access(session.database).1, rights),
        Need::WriteAll => site.database_accesses().all(|(_, write)| allows(write, rights)),
    };
    if is_allowed { Ok(()) } else { Err("NOPERM this client may not do that in this database") }
}

fn allows(access: DatabaseAccess, rights: &Rights) -> bool {
    match access {
        DatabaseAccess::Open => true,
        DatabaseAccess::Key => matches!(rights, Rights::All),
        DatabaseAccess::None => false,
    }
}

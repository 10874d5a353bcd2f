//! What a client has to show for access to a database.
//!
//! Owns the data alone; `access` applies it.

/// What a client has to show for one kind of access to a database.
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

/// What a client has to show to read a database, and to write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseRules {
    /// To read it.
    pub read: Requirement,
    /// To write it.
    pub write: Requirement,
}

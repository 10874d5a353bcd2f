//! One program or file that sets the same kernel file as a plan.

/// A program or file that sets the same kernel file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingOwner {
    /// A file, or a program.
    pub name: String,
    /// When it sets it.
    pub when: String,
}

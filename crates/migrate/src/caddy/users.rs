//! The users of a Caddyfile, which ours has in files.
//!
//! Owns these files, as comments: they are for the reader to write.

use super::placeholders::is_plain;
use crate::access::Users;
use crate::directive::Directive;

/// The files of users that are to be written.
#[derive(Debug, Default)]
pub(super) struct UserFiles {
    files: Vec<(String, Vec<String>)>,
}

impl UserFiles {
    /// The file for these lines.
    fn of(&mut self, lines: Vec<String>) -> String {
        if let Some((name, _)) = self.files.iter().find(|(_, known)| *known == lines) {
            return name.clone();
        }
        let name = match self.files.len() {
            0 => "users.htpasswd".to_owned(),
            count => format!("users-{}.htpasswd", count + 1),
        };
        self.files.push((name.clone(), lines));
        name
    }

    /// The users whom `basic_auth` lets in.
    ///
    /// # Errors
    /// Why it has no counterpart.
    pub(super) fn read(&mut self, line: &Directive, arguments: &[String]) -> Result<Users, String> {
        let realm = match arguments {
            [] => "",
            [hash] if hash == "bcrypt" => "",
            [hash, realm] if hash == "bcrypt" => realm,
            _ => return Err(line.unknown()),
        };
        let mut users = Vec::new();
        for inner in line.inner() {
            let is_fine = |name: &str, hash: &str| {
                hash.starts_with("$2") && is_plain(hash) && is_plain(name) && !name.contains(':')
            };
            match inner.words() {
                [name, hash] if is_fine(name, hash) => users.push(format!("{name}:{hash}")),
                _ => return Err(inner.told("only hashes of bcrypt have a counterpart")),
            }
        }
        if users.is_empty() { Err(line.unknown()) } else { Ok(Users::new(&self.of(users), realm)) }
    }

    /// The steps that are left to the operator, as comments.
    pub(super) fn notes(&self) -> Vec<String> {
        let of_file = |(name, lines): &(String, Vec<String>)| {
            let first = format!("Write these lines into the file {name}:");
            std::iter::once(first).chain(lines.iter().cloned()).collect::<Vec<_>>()
        };
        self.files.iter().flat_map(of_file).collect()
    }
}

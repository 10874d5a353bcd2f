//! Files of users: names, and the hashes of their passwords.
//!
//! Owns which file is acceptable. Reads the disk on the main thread, at the start and with a reload.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahash::HashMap;
use config::{AccessRule, Config};
use files::rules::Root;
use files::secret::root_around;

use super::hash::{Hash, HashFault};
use crate::limits::{USER_NAME_SIZE, USERS_FILE_SIZE};

#[derive(Debug)]
pub(crate) struct UserFile {
    /// The number of the configuration it was read for, and its number there.
    number: (u64, usize),
    hashes: HashMap<Box<str>, Hash>,
    /// Some hash, for names that are no users: they must not be answered faster.
    other: Option<Hash>,
}

/// The files of users of a configuration.
#[derive(Clone, Debug, Default)]
pub struct UserFiles(Vec<(PathBuf, Arc<UserFile>)>);

/// A file of users that cannot be used.
#[derive(Debug)]
pub struct UsersError {
    path: PathBuf,
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    Unreadable(io::Error),
    Served(PathBuf),
    TooLong,
    Empty,
    NoColon { line: usize },
    Name { line: usize },
    Twice { line: usize, name: String },
    Hash { line: usize, name: String, fault: HashFault },
}

impl fmt::Display for UsersError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(out, "the file of `users` `{path}` ")?;
        match &self.fault {
            Fault::Unreadable(error) => {
                write!(out, "cannot be read: {error}; make one with: htpasswd -B -c {path} NAME")
            }
            Fault::Served(root) => write!(
                out,
                "lies in `{}`, which is served: put it where no client finds it",
                root.display()
            ),
            Fault::TooLong => write!(out, "is longer than {USERS_FILE_SIZE} bytes"),
            Fault::Empty => write!(out, "has no users; add one with: htpasswd -B {path} NAME"),
            Fault::NoColon { line } => write!(out, "has no `NAME:HASH` in line {line}"),
            Fault::Name { line } => write!(
                out,
                "has a name in line {line} that is empty, longer than {USER_NAME_SIZE} bytes, or has \
                 control characters"
            ),
            Fault::Twice { line, name } => write!(out, "has `{name}` again in line {line}"),
            Fault::Hash { line, name, fault } => write!(
                out,
                "is not accepted: in line {line} `{name}` {fault}; make it again with: htpasswd -B {path} \
                 {name}"
            ),
        }
    }
}

impl UserFiles {
    /// Reads every file that the configuration with this number names.
    ///
    /// # Errors
    /// The first that cannot be used, and why.
    pub fn load(config: &Config, roots: &[Root], generation: u64) -> Result<Self, UsersError> {
        let mut files = Self::default();
        for path in paths_of(config) {
            if files.of(path).is_none() {
                let file = UserFile::read(path, roots, (generation, files.0.len()))
                    .map_err(|fault| UsersError { path: path.to_path_buf(), fault })?;
                files.0.push((path.to_path_buf(), Arc::new(file)));
            }
        }
        Ok(files)
    }

    /// The users of a file that the configuration names.
    pub(crate) fn of(&self, path: &Path) -> Option<&Arc<UserFile>> {
        self.0.iter().find(|(known, _)| known == path).map(|(_, file)| file)
    }
}

/// Every file of users that a configuration names.
pub(crate) fn paths_of(config: &Config) -> impl Iterator<Item = &Path> {
    let hosts = std::iter::once(&config.default_host).chain(&config.hosts);
    let lists = hosts.flat_map(|host| {
        host.access.iter().chain(host.routes.iter().filter_map(|route| route.access.as_ref()))
    });
    paths_in(lists.flatten())
}

/// The files of users that some rules name.
pub(crate) fn paths_in<'r>(
    rules: impl IntoIterator<Item = &'r AccessRule>,
) -> impl Iterator<Item = &'r Path> {
    rules.into_iter().filter_map(|rule| match rule {
        AccessRule::Admit(admission) => admission.users.as_ref().map(|users| &*users.path),
        AccessRule::Deny(_) => None,
    })
}

impl UserFile {
    fn read(path: &Path, roots: &[Root], number: (u64, usize)) -> Result<Self, Fault> {
        let metadata = std::fs::metadata(path).map_err(Fault::Unreadable)?;
        if !metadata.is_file() {
            let why = io::Error::new(io::ErrorKind::InvalidInput, "it is not a file");
            return Err(Fault::Unreadable(why));
        }
        if let Some(root) = root_around(path, roots) {
            return Err(Fault::Served(root));
        }
        if metadata.len() > USERS_FILE_SIZE {
            return Err(Fault::TooLong);
        }
        Self::of_text(&std::fs::read_to_string(path).map_err(Fault::Unreadable)?, number)
    }

    /// Lines `NAME:HASH`, perhaps with further fields after another colon. Empty lines and those that begin with a
    /// number sign are skipped.
    fn of_text(text: &str, number: (u64, usize)) -> Result<Self, Fault> {
        let mut hashes = HashMap::default();
        let mut other = None;
        for (line, entry) in (1..).zip(text.lines()) {
            let entry = entry.trim_end();
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            let (name, rest) = entry.split_once(':').ok_or(Fault::NoColon { line })?;
            let is_name = !name.is_empty() && name.len() <= USER_NAME_SIZE;
            if !is_name || name.contains(char::is_control) {
                return Err(Fault::Name { line });
            }
            let hash = rest.split(':').next().unwrap_or_default();
            let hash = Hash::read(hash).map_err(|fault| Fault::Hash {
                line,
                name: name.to_owned(),
                fault,
            })?;
            if other.as_ref().is_none_or(|known: &Hash| known.cost() < hash.cost()) {
                other = Some(hash.clone());
            }
            if hashes.insert(Box::from(name), hash).is_some() {
                return Err(Fault::Twice { line, name: name.to_owned() });
            }
        }
        if hashes.is_empty() { Err(Fault::Empty) } else { Ok(Self { number, hashes, other }) }
    }

    /// Its number, which no other file has that is read later.
    pub(super) fn number(&self) -> (u64, usize) {
        self.number
    }

    /// Whether this is the password of that user. It takes as long if there is no such user.
    pub(super) fn knows(&self, name: &str, password: &[u8]) -> bool {
        match self.hashes.get(name) {
            Some(hash) => hash.is_of(password),
            None => {
                let _as_long = self.other.as_ref().map(|hash| hash.is_of(password));
                false
            }
        }
    }
}

#[cfg(test)]
impl UserFile {
    /// The file with this text.
    pub(super) fn of_test(text: &str) -> Self {
        Self::of_text(text, (1, 0)).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "$2b$04$wtwkAmQvcanQdKV9TyYf4eGTRXFGLqzsENuK4Xk5kRQtVm2fmLPSi";

    fn fault_of(text: &str) -> String {
        let fault = UserFile::of_text(text, (1, 0)).expect_err("it is refused");
        UsersError { path: "users".into(), fault }.to_string()
    }

    #[test]
    fn the_mistakes_of_a_file_are_told_with_line_and_mend() {
        for (text, told) in [
            ("", "has no users"),
            ("# none\n\n", "has no users"),
            ("ada\n", "has no `NAME:HASH` in line 1"),
            (":x", "has a name in line 1 that is empty"),
            ("\n\nada:$apr1$a$b\n", "in line 3 `ada` has a hash of MD5"),
            ("ada:secret", "make it again with: htpasswd -B users ada"),
        ] {
            let fault = fault_of(text);
            assert!(fault.contains(told), "{text}: {fault}");
        }
        let twice = format!("ada:{SECRET}\nbob:{SECRET}\nada:{SECRET}\n");
        assert!(fault_of(&twice).contains("has `ada` again in line 3"));
    }
}

//! Files and variables outside of a configuration, in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::Outside;

/// A disk and an environment.
#[derive(Debug, Default)]
pub(crate) struct Table {
    files: BTreeMap<PathBuf, String>,
    variables: BTreeMap<String, String>,
}

impl Table {
    /// The files and variables that the example of the documentation names.
    pub(crate) fn usual() -> Self {
        Self::default()
            .file("/base/redirects.csv", "from,to,status\n/old,/new,301\n")
            .file("/base/countries.csv", "192.0.2.0/24,DE\n")
            .file("/base/conf.d/.hidden.toml", "nothing of it is read")
    }

    /// The same with this variable.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same with another file.
    pub(crate) fn file(mut self, path: &str, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }
}

impl Outside for Table {
    fn text(&self, file: &Path, most: usize) -> Result<String, String> {
        let text = self.files.get(file).ok_or_else(|| "no such file".to_owned())?;
        if text.len() > most { Err(format!("longer than {most}")) } else { Ok(text.clone()) }
    }

    fn names(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        // In an order that nobody should depend on.
        let names = self.files.keys().rev().filter(|path| path.parent() == Some(directory));
        Ok(names.cloned().collect())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }
}

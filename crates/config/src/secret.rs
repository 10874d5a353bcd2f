//! Texts that come from files of secrets.
//!
//! Owns that no message shows them. Never decides where they are used.

use std::path::{Path, PathBuf};

use crate::wording::shown;

/// A text that was put in with `${file:PATH}`. Plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secret {
    pub(crate) file: PathBuf,
    pub(crate) text: String,
}

/// All such texts of a configuration.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Vec<Secret>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.files()).finish()
    }
}

impl Secrets {
    pub(super) fn extend(&mut self, more: Vec<Secret>) {
        self.0.extend(more);
    }

    /// The files that they come from.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|secret| secret.file.as_path())
    }

    /// A message without them: also where it shows one shortened, or with control characters written out.
    pub fn hidden_in(&self, message: &str) -> String {
        let mut message = message.to_owned();
        for Secret { text, .. } in self.0.iter().filter(|secret| !secret.text.is_empty()) {
            for form in [text.as_str(), shown(text).trim_end_matches('…')] {
                message = message.replace(form, "(a secret)");
            }
        }
        message
    }
}

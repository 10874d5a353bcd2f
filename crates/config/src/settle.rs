//! A table as it was parsed becomes one whose positions count in all files, and whose texts have their variables put
//! in.
//!
//! Owns which texts have variables: all but the format of a log line, which has its own. Never decides what a key
//! means.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::expand::expand;
use crate::outside::Outside;
use crate::problem::Problems;
use crate::secret::Secrets;

/// The section and the key whose text has variables of another kind.
const LOG_FORMAT: (&str, &str) = ("log", "format");

/// The work on the files of one configuration.
pub(super) struct Settling<'o> {
    directory: &'o Path,
    outside: &'o dyn Outside,
    secrets: Secrets,
}

impl<'o> Settling<'o> {
    pub(super) fn new(directory: &'o Path, outside: &'o dyn Outside) -> Self {
        Self { directory, outside, secrets: Secrets::default() }
    }

    /// The texts of secrets that were put in.
    pub(super) fn into_secrets(self) -> Secrets {
        self.secrets
    }

    /// The table of a file whose positions begin at `base`.
    pub(super) fn file<'t>(
        &mut self,
        table: DeTable<'t>,
        base: usize,
        problems: &mut Problems,
    ) -> DeTable<'t> {
        self.table(table, "", base, problems)
    }

    fn table<'t>(
        &mut self,
        table: DeTable<'t>,
        name: &str,
        base: usize,
        problems: &mut Problems,
    ) -> DeTable<'t> {
        let mut settled = DeTable::new();
        for (key, value) in table {
            let span = key.span();
            let is_format = (name, &**key.get_ref()) == LOG_FORMAT;
            let value = match value.get_ref() {
                DeValue::String(_) if is_format => {
                    let span = value.span();
                    Spanned::new(span.start + base..span.end + base, value.into_inner())
                }
                _ => self.value(value, key.get_ref(), base, problems),
            };
            let key = Spanned::new(span.start + base..span.end + base, key.into_inner());
            settled.insert(key, value);
        }
        settled
    }

    /// The value of the key `name`.
    fn value<'t>(
        &mut self,
        value: Spanned<DeValue<'t>>,
        name: &str,
        base: usize,
        problems: &mut Problems,
    ) -> Spanned<DeValue<'t>> {
        let span = value.span();
        let span = span.start + base..span.end + base;
        let value = match value.into_inner() {
            DeValue::Table(table) => DeValue::Table(self.table(table, name, base, problems)),
            DeValue::Array(list) => {
                let mut settled = DeArray::new();
                for value in list {
                    settled.push(self.value(value, name, base, problems));
                }
                DeValue::Array(settled)
            }
            DeValue::String(text) => match expand(&text, self.directory, self.outside) {
                Ok(None) => DeValue::String(text),
                Ok(Some(expanded)) => {
                    if !expanded.secrets.is_empty() {
                        problems.keep_secret(span.start);
                        self.secrets.extend(expanded.secrets);
                    }
                    DeValue::String(expanded.text.into())
                }
                Err(why) => {
                    problems.at(span.start, why);
                    DeValue::String(text)
                }
            },
            other => other,
        };
        Spanned::new(span, value)
    }
}

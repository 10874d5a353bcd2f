//! The keys of channels: those that verify tokens, and the API keys of programs.
//!
//! Owns what a client with a key or a token may do. Reads the key files, on the main thread.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use channels::{Shown, TokenKeys, TokenProblem};
use ctutils::CtEq as _;
use files::rules::Root;
use files::secret::{SecretFault, SecretFile, secrets_of};

/// The current keys.
#[derive(Debug, Default)]
pub struct ChannelKeys {
    tokens: TokenKeys,
    api: ApiKeys,
    /// Problems of the key files that do not prevent their use.
    pub warnings: Vec<String>,
}

/// The keys of programs, which may do everything.
#[derive(Default)]
struct ApiKeys(Vec<Box<[u8]>>);

impl fmt::Debug for ApiKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ApiKeys({})", self.0.len())
    }
}

/// A key file that cannot be used.
#[derive(Debug)]
pub struct KeysError {
    /// The configuration key that names the file.
    key: &'static str,
    path: PathBuf,
    fault: SecretFault,
}

impl fmt::Display for KeysError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the {} `{}` of [channels] {}", self.key, self.path.display(), self.fault)
    }
}

impl ChannelKeys {
    /// The keys of the configured files.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub(crate) fn load(settings: &config::ChannelKeys, roots: &[Root]) -> Result<Self, KeysError> {
        let mut keys = Self::default();
        if let Some(path) = &settings.token_keys {
            keys.read("token_keys", path, roots, |keys, file| {
                let (public, others) = TokenKeys::of_public_keys(file.text())
                    .map_err(|none| SecretFault::NotEd25519 { line: none.line })?;
                // Public keys alone anyone may read.
                if others.trim().is_empty() && !public.is_empty() {
                    keys.tokens = public;
                    return Ok(None);
                }
                keys.tokens = public.and_secrets(secrets_of(&others)?);
                Ok(file.warning.clone())
            })?;
        }
        if let Some(path) = &settings.api_keys {
            keys.read("api_keys", path, roots, |keys, file| {
                keys.api.0 = file.secrets()?.into_iter().map(|key| key.as_bytes().into()).collect();
                Ok(file.warning.clone())
            })?;
        }
        Ok(keys)
    }

    fn read(
        &mut self,
        key: &'static str,
        path: &Path,
        roots: &[Root],
        take: impl FnOnce(&mut Self, &SecretFile) -> Result<Option<String>, SecretFault>,
    ) -> Result<(), KeysError> {
        let taken = SecretFile::read(path, roots).and_then(|file| take(self, &file));
        let fault = |fault| KeysError { key, path: path.to_path_buf(), fault };
        self.warnings.extend(taken.map_err(fault)?);
        Ok(())
    }

    /// Whether any key is configured with which a client could authenticate.
    pub(crate) fn are_there(&self) -> bool {
        !self.tokens.is_empty() || !self.api.0.is_empty()
    }

    /// What a client shows: a key or a token.
    ///
    /// # Errors
    /// If it is neither a key nor a valid token.
    pub(crate) fn read_shown(&self, text: &[u8], unix_seconds: u64) -> Result<Shown, TokenProblem> {
        if self.is_program(text) {
            return Ok(Shown::Key);
        }
        self.tokens.read(text, unix_seconds).map(|pass| Shown::Token(Arc::new(pass)))
    }

    /// Whether this is the key of a program.
    pub(crate) fn is_program(&self, shown: &[u8]) -> bool {
        // All keys are compared, each in constant time.
        self.api.0.iter().fold(false, |is, key| is | bool::from(shown.ct_eq(key)))
    }
}

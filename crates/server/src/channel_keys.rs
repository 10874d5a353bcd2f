//! The keys of channels, which verify tokens, the API keys of programs, and the keys of the control.
//!
//! Owns what a client with a key or a token may do. Reads the key files, on the main thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use channels::{Credential, TokenKeys, TokenProblem};
use files::rules::Root;
use files::secret::{MAKE_SECRET, SecretFault, SecretFile, secrets_of};

use crate::program_keys::ProgramKeys;

/// The current keys.
#[derive(Clone, Debug, Default)]
pub struct ChannelKeys {
    tokens: TokenKeys,
    api: ProgramKeys,
    /// Problems of the key files that do not prevent their use.
    pub warnings: Vec<String>,
}

/// The keys of those who may control the server over the network, and what is not right about their file.
#[derive(Clone, Debug, Default)]
pub struct AdminKeys {
    pub(crate) keys: Arc<ProgramKeys>,
    /// Problems that do not prevent the use of the keys.
    pub warning: Option<String>,
}

impl AdminKeys {
    /// The keys of the configured file.
    ///
    /// # Errors
    /// If it cannot be used.
    pub(crate) fn load(path: Option<&Path>, roots: &[Root]) -> Result<Self, KeysError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let read = SecretFile::read(path, roots).and_then(|file| {
            let keys = Arc::new(ProgramKeys::of(&file.secrets()?));
            Ok(Self { keys, warning: file.warning })
        });
        let place = ("keys", "[admin]");
        read.map_err(|fault| KeysError { place, path: path.to_path_buf(), fault })
    }
}

/// A key file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the {} `{path}` of {} {}", .place.0, .place.1, .fault.with_mend(MAKE_SECRET))]
pub struct KeysError {
    /// The configuration key that names the file, and its section.
    place: (&'static str, &'static str),
    path: PathBuf,
    fault: SecretFault,
}

impl ChannelKeys {
    /// The keys of the configured files.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub(crate) fn load(
        settings: &config::ChannelKeyFiles,
        roots: &[Root],
    ) -> Result<Self, KeysError> {
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
                keys.api = ProgramKeys::of(&file.secrets()?);
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
        let place = (key, "[channels]");
        let fault = |fault| KeysError { place, path: path.to_path_buf(), fault };
        self.warnings.extend(taken.map_err(fault)?);
        Ok(())
    }

    /// Whether any key is configured with which a client could authenticate.
    pub(crate) fn are_there(&self) -> bool {
        !self.tokens.is_empty() || !self.api.is_empty()
    }

    /// The credential of a client: a key or a token.
    ///
    /// # Errors
    /// If it is neither a key nor a valid token.
    pub(crate) fn read_shown(
        &self,
        text: &[u8],
        unix_seconds: u64,
    ) -> Result<Credential, TokenProblem> {
        if self.is_program(text) {
            return Ok(Credential::Key);
        }
        self.tokens.read(text, unix_seconds).map(|pass| Credential::Token(Arc::new(pass)))
    }

    /// Whether this is the key of a program.
    pub(crate) fn is_program(&self, shown: &[u8]) -> bool {
        self.api.have(shown)
    }
}

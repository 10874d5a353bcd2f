//! The secret that signs cookies of pages: read from its file, or generated at the start.
//!
//! Owns which one it is. `files` decides which file is acceptable.

use std::path::PathBuf;

use files::rules::Root;
use files::secret::{MAKE_SECRET, SecretFault, SecretFile};
use script::engine::Keys;

/// The current secret. All schedulers share it, so that each accepts the cookies of the others.
#[derive(Clone, Debug, Default)]
pub struct Secret {
    /// The keys with which pages sign.
    pub keys: Keys,
    /// A problem of the file that does not prevent its use.
    pub warning: Option<String>,
}

/// Why there is no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The operating system provides no random bytes.
    #[error("the operating system provides no random bytes")]
    Random,
    /// The file cannot be used.
    #[error("the secret_file `{}` of [pages] {}", .path.display(), .fault.with_mend(MAKE_SECRET))]
    File {
        /// Its path.
        path: PathBuf,
        /// The problem.
        fault: SecretFault,
    },
}

impl Secret {
    /// The secret from the configured file; without one, the secret from `before`, or a new one at the start.
    ///
    /// # Errors
    /// The problem of the file.
    pub fn load(
        settings: &config::Pages,
        roots: &[Root],
        before: Option<&Self>,
    ) -> Result<Self, SecretError> {
        if let Some(path) = &settings.secret_file {
            let fault = |fault| SecretError::File { path: path.clone(), fault };
            let file = SecretFile::read(path, roots).map_err(fault)?;
            let keys = Keys::new(file.secrets().map_err(fault)?);
            return Ok(Self { keys, warning: file.warning });
        }
        match before {
            Some(before) => Ok(before.clone()),
            None => {
                let keys = Keys::random().ok_or(SecretError::Random)?;
                Ok(Self { keys, warning: None })
            }
        }
    }
}

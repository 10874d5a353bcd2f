//! The secret that a coordinator and its agents share, and what it proves.
//!
//! Owns the codes of messages. Never leaves the host: both sides show that they have it by what they compute with it.

use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::AgentError;
use crate::limits::AGENT_KEY_BYTES;

/// Bytes of a code.
pub(super) const CODE_BYTES: usize = 32;

/// The secret.
#[derive(Clone)]
pub struct AgentKey(Vec<u8>);

impl std::fmt::Debug for AgentKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("AgentKey")
    }
}

impl AgentKey {
    /// No secret, for agents that only this host can reach.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a file that holds nothing else.
    ///
    /// # Errors
    /// If it cannot be read, or is too short.
    pub fn read(path: &Path) -> Result<Self, AgentError> {
        let bytes = std::fs::read(path).map_err(|error| AgentError::KeyFile {
            path: path.to_owned(),
            why: format!("cannot be read: {error}"),
        })?;
        let key = bytes.trim_ascii();
        if key.len() < AGENT_KEY_BYTES {
            let (is, least) = (key.len(), AGENT_KEY_BYTES);
            let why = format!(
                "{is} bytes are too few for a key; {least} are enough, such as of `openssl rand -hex 32`"
            );
            return Err(AgentError::KeyFile { path: path.to_owned(), why });
        }
        Ok(Self(key.to_vec()))
    }

    /// The code of some texts, in this order.
    pub(super) fn code(&self, parts: &[&[u8]]) -> Code {
        Code::of(&self.0, parts)
    }

    /// The key of one connection.
    pub(super) fn derive(&self, parts: &[&[u8]]) -> Self {
        Self(self.code(parts).bytes().to_vec())
    }

    /// Whether a code is that of these texts; takes the same time wherever they differ.
    pub(super) fn has_made(&self, code: &[u8], parts: &[&[u8]]) -> bool {
        self.code(parts).0.verify_slice(code).is_ok()
    }
}

/// The code of a text.
pub(super) struct Code(Hmac<Sha256>);

impl Code {
    fn of(key: &[u8], parts: &[&[u8]]) -> Self {
        let mut code = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
        for part in parts {
            // With its length, so that no two lists of texts are one text.
            code.update(&(part.len() as u64).to_be_bytes());
            code.update(part);
        }
        Self(code)
    }

    pub(super) fn bytes(self) -> [u8; CODE_BYTES] {
        self.0.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_that_of_its_texts_and_its_key() {
        let key = AgentKey(vec![7; 32]);
        let code = key.code(&[b"ab", b"c"]).bytes();
        assert!(key.has_made(&code, &[b"ab", b"c"]));
        assert!(!key.has_made(&code, &[b"a", b"bc"]));
        assert!(!AgentKey::none().has_made(&code, &[b"ab", b"c"]));
        assert!(!key.has_made(&code[..31], &[b"ab", b"c"]));
    }

    #[test]
    fn a_short_key_is_refused_with_what_to_do() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "secret\n").unwrap();
        let told = AgentKey::read(file.path()).unwrap_err().to_string();
        assert!(told.contains("6 bytes are too few") && told.contains("openssl rand"), "{told}");
        std::fs::write(file.path(), format!("{}\n", "k".repeat(32))).unwrap();
        assert_eq!(AgentKey::read(file.path()).unwrap().0.len(), 32);
    }
}

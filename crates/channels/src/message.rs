//! A published message.
//!
//! Owns its bytes, which all schedulers share, and that text and JSON are UTF-8: no other code makes a message. Never
//! its number: the channel's home assigns it.

use std::sync::Arc;

use wire::json;

/// The data type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadType {
    /// UTF-8.
    Text,
    /// A JSON value, in UTF-8.
    Json,
    /// Any bytes.
    Binary,
}

/// A published message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    kind: PayloadType,
    bytes: Arc<[u8]>,
}

/// A message to be published.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The message.
    pub body: Payload,
    /// The key by which it is recognised if its publisher sends it again, because it got no answer.
    pub key: Option<Arc<str>>,
}

impl From<Payload> for Offer {
    fn from(body: Payload) -> Self {
        Self { body, key: None }
    }
}

impl Payload {
    /// A text if the bytes are UTF-8, otherwise binary.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let kind =
            if str::from_utf8(bytes).is_ok() { PayloadType::Text } else { PayloadType::Binary };
        Self { kind, bytes: bytes.into() }
    }

    /// A text.
    pub fn of_text(text: &str) -> Self {
        Self { kind: PayloadType::Text, bytes: text.as_bytes().into() }
    }

    /// Binary, even if the bytes are text.
    pub fn of_binary(bytes: &[u8]) -> Self {
        Self { kind: PayloadType::Binary, bytes: bytes.into() }
    }

    /// A JSON value. A string becomes a text, so that subscribers of other protocols get it without its quotation
    /// marks.
    ///
    /// # Errors
    /// If it is not JSON that every subscriber can read: see [`wire::json`].
    pub fn of_json(text: &[u8]) -> Result<Self, json::JsonProblem> {
        Ok(Self::of_checked(json::check(text)?))
    }

    /// The same for a value that a page wrote, which may have more levels.
    ///
    /// # Errors
    /// If it is not JSON that every subscriber can read.
    pub fn of_json_of_page(text: &[u8]) -> Result<Self, json::JsonProblem> {
        Ok(Self::of_checked(json::check_of_page(text)?))
    }

    fn of_checked(text: &str) -> Self {
        if text.starts_with('"') {
            return Self::of_text(&json::string(text));
        }
        Self { kind: PayloadType::Json, bytes: text.as_bytes().into() }
    }

    /// Its kind.
    pub fn kind(&self) -> PayloadType {
        self.kind
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its text; empty for bytes.
    pub(crate) fn text(&self) -> &str {
        match self.kind {
            PayloadType::Text | PayloadType::Json => str::from_utf8(&self.bytes)
                .expect("every constructor of a text checks that it is UTF-8"),
            PayloadType::Binary => "",
        }
    }
}

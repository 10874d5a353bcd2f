//! A published message.
//!
//! Owns its bytes, which all schedulers share. Never its number: the channel's home assigns it.

use std::sync::Arc;

/// What the bytes of a message are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// A value in JSON, which is in UTF-8.
    Json,
    /// Any bytes.
    Binary,
}

/// What was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    kind: Kind,
    bytes: Arc<[u8]>,
}

/// A message that somebody wants to have published.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What it is.
    pub body: Body,
    /// By this it is known when its publisher sends it again, as it has heard nothing of it.
    pub key: Option<Arc<str>>,
}

impl From<Body> for Offer {
    fn from(body: Body) -> Self {
        Self { body, key: None }
    }
}

impl Body {
    /// A text, if the bytes are UTF-8; else bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let kind = if str::from_utf8(bytes).is_ok() { Kind::Text } else { Kind::Binary };
        Self { kind, bytes: bytes.into() }
    }

    /// A text.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self { kind: Kind::Text, bytes: text.as_bytes().into() }
    }

    /// Bytes, also where they happen to be a text.
    #[must_use]
    pub fn of_binary(bytes: &[u8]) -> Self {
        Self { kind: Kind::Binary, bytes: bytes.into() }
    }

    /// A value in JSON. One that is a string is a text: subscribers of other protocols get it without its quotation marks.
    ///
    /// # Errors
    /// When it is not one.
    pub fn of_json(text: &[u8]) -> Result<Self, serde_json::Error> {
        let text = text.trim_ascii();
        if text.first() == Some(&b'"') {
            return serde_json::from_slice::<String>(text).map(|text| Self::of_text(&text));
        }
        serde_json::from_slice::<serde::de::IgnoredAny>(text)?;
        Ok(Self { kind: Kind::Json, bytes: text.into() })
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its text; empty for bytes.
    pub(crate) fn text(&self) -> &str {
        match self.kind {
            Kind::Text | Kind::Json => str::from_utf8(&self.bytes).unwrap_or_default(),
            Kind::Binary => "",
        }
    }
}

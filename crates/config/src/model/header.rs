//! Fields that the configuration adds to messages, sets in them or removes.
//!
//! Owns their shapes. `field` says what may be in one, `variable_header` which values of a request.

/// A field added to answers. Name and value contain no CR, LF, NUL or other control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The name as written in the file.
    pub name: String,
    /// The value.
    pub value: String,
}

/// Changes of the fields of a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderEdits {
    /// Fields that are set, in place of all fields of the same name.
    pub set: Vec<Header>,
    /// The same with values of the request in them.
    pub variable: Vec<VariableHeader>,
    /// Names of fields that are removed, in lower case.
    pub remove: Vec<String>,
}

impl HeaderEdits {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.variable.is_empty() && self.remove.is_empty()
    }

    /// Whether all fields of this name are removed, perhaps because it is set.
    pub fn drop_field(&self, name: &str) -> bool {
        self.remove.iter().any(|removed| is_same_field(removed, name))
            || self.set.iter().any(|header| is_same_field(&header.name, name))
            || self.variable.iter().any(|header| is_same_field(&header.name, name))
    }
}

/// A field with values of the request in it. It is not sent if the request has none for one of its variables.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariableHeader {
    /// The name.
    pub name: String,
    /// The value.
    pub parts: Vec<HeaderPart>,
}

/// A part of such a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HeaderPart {
    /// This text.
    Text(String),
    /// A value of the request.
    Variable(RequestVariable),
}

/// A value of a request that is known before it is answered, with the name and meaning of the field of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestVariable {
    /// The address of the client.
    Peer,
    /// The host that was asked for.
    Host,
    /// `http` or `https`, as the client used it.
    Scheme,
    /// The number of the request.
    RequestId,
    /// The user whom the rules of access have let in.
    User,
    /// The version of TLS between the client and this server.
    Tls,
    /// The subject of the client's certificate.
    TlsClientSubject,
    /// The issuer of the client's certificate.
    TlsClientIssuer,
    /// The fingerprint of the client's certificate.
    TlsClientFingerprint,
}

impl VariableHeader {
    /// Whether all requests for one URI have the same value, so that they may share an answer.
    pub fn is_of_uri(&self) -> bool {
        self.parts.iter().all(|part| match part {
            HeaderPart::Text(_) => true,
            HeaderPart::Variable(it) => {
                matches!(it, RequestVariable::Host | RequestVariable::Scheme)
            }
        })
    }
}

/// Whether two names are of one field. Programs that get fields as variables take `_` for `-`, so both are the same
/// here.
pub fn is_same_field(one: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    one.len() == other.len() && one.bytes().map(plain).eq(other.bytes().map(plain))
}

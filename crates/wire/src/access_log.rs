//! The formats of an access log, and the fields that a line may have.
//!
//! Owns the names of fields and the syntax of a format. Never writes a line.

use std::fmt;
use std::sync::Arc;

use crate::limits::LOG_FIELDS_MAX;

/// The format of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// The combined format that every log analyser reads.
    Combined,
    /// One JSON object per line, with these fields.
    Json(Arc<[LogField]>),
    /// A text with fields in it.
    Text(Arc<[LogPiece]>),
}

/// A part of a text format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPiece {
    /// This text.
    Literal(Box<str>),
    /// The value of a field.
    Field(LogField),
}

/// A field of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogField {
    /// One of those that every request has.
    Known(Known),
    /// A header field of the request, by its name in lower case.
    Header(Box<str>),
}

/// Makes the enum of known fields and their names.
macro_rules! known {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// A field that every request has, or may have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Known {
            $($(#[$doc])+ $variant,)+
        }

        impl Known {
            /// All of them with their names.
            pub const ALL: &'static [(&'static str, Known)] = &[$(($name, Known::$variant),)+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

known! {
    /// When the answer was complete, with milliseconds.
    Time = "time",
    /// The client's address.
    Peer = "peer",
    /// The address of the trusted proxy that told of the client.
    Proxy = "proxy",
    /// The host that was asked for.
    Host = "host",
    /// The request line.
    Request = "request",
    /// The method.
    Method = "method",
    /// The path as it was sent.
    Path = "path",
    /// The query as it was sent.
    Query = "query",
    /// `http` or `https`, as the client used it.
    Scheme = "scheme",
    /// The status of the answer.
    Status = "status",
    /// Bytes of the answer's body.
    Bytes = "bytes",
    /// Bytes of the request's body.
    BytesIn = "bytes_in",
    /// Milliseconds from the request's head to the end of its answer.
    DurationMs = "duration_ms",
    /// Milliseconds from the request's head to the first part of its answer.
    FirstByteMs = "first_byte_ms",
    /// The number of the request.
    RequestId = "request_id",
    /// The trace that the request says it belongs to.
    TraceId = "trace_id",
    /// The route that answered.
    Route = "route",
    /// The user whom the rules of access have let in.
    User = "user",
    /// The version of TLS between the client and this server.
    Tls = "tls",
    /// The subject of the client's certificate.
    TlsClientSubject = "tls_client_subject",
    /// The issuer of the client's certificate.
    TlsClientIssuer = "tls_client_issuer",
    /// The fingerprint of the client's certificate.
    TlsClientFingerprint = "tls_client_fingerprint",
    /// `Referer`.
    Referer = "referer",
    /// `User-Agent`.
    UserAgent = "user_agent",
    /// The upstream that a request was passed on to.
    Upstream = "upstream",
    /// The addresses of its servers that have got the request, in this order.
    UpstreamAddress = "upstream_address",
    /// The status with which the last of them has answered.
    UpstreamStatus = "upstream_status",
    /// Milliseconds until the connection to the last of them was established.
    UpstreamConnectMs = "upstream_connect_ms",
    /// Milliseconds until its answer began.
    UpstreamFirstByteMs = "upstream_first_byte_ms",
    /// Milliseconds that all of it took.
    UpstreamMs = "upstream_ms",
}

/// The fields of a JSON line if nothing else is said.
const USUAL: [Known; 13] = [
    Known::Time,
    Known::Peer,
    Known::Host,
    Known::Request,
    Known::Status,
    Known::Bytes,
    Known::Referer,
    Known::UserAgent,
    Known::DurationMs,
    Known::RequestId,
    Known::Route,
    Known::User,
    Known::Tls,
];

/// Why a text is not a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogFormatError {
    /// There is no such field.
    #[error(fmt = unknown)]
    Unknown(String),
    /// An object cannot have two members of one name.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// A brace is not closed.
    #[error("a `${{` has no `}}`")]
    Unclosed,
    /// There are too many fields.
    #[error("it has more than {LOG_FIELDS_MAX} fields")]
    TooMany,
    /// It has a control character, so one line would look like several.
    #[error("it has a control character")]
    Control,
}

fn unknown(name: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let names: Vec<&str> = Known::ALL.iter().map(|(name, _)| *name).collect();
    write!(out, "there is no field `{name}`; known are {} and `field:NAME`", names.join(", "))
}

impl LogFormat {
    /// JSON with the usual fields.
    pub fn json() -> Self {
        Self::Json(USUAL.map(LogField::Known).into())
    }

    /// JSON with the fields of these names.
    ///
    /// # Errors
    /// If there is no such field, one is there twice, or there are too many.
    pub fn json_of<'n>(names: impl Iterator<Item = &'n str>) -> Result<Self, LogFormatError> {
        let mut fields: Vec<LogField> = Vec::new();
        for field in names.map(LogField::named) {
            let field = field?;
            if fields.contains(&field) {
                return Err(LogFormatError::Twice(field.name()));
            }
            fields.push(field);
        }
        if fields.len() > LOG_FIELDS_MAX {
            Err(LogFormatError::TooMany)
        } else {
            Ok(Self::Json(fields.into()))
        }
    }

    /// A text with `$name` or `${name}` for the value of a field, and `$$` for a dollar sign.
    ///
    /// # Errors
    /// Why it is not a format.
    pub fn text(text: &str) -> Result<Self, LogFormatError> {
        if text.contains(char::is_control) {
            return Err(LogFormatError::Control);
        }
        let (mut pieces, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            literal.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                literal.push('$');
                rest = after;
                continue;
            }
            let (name, after) = match after.strip_prefix('{') {
                Some(braced) => braced.split_once('}').ok_or(LogFormatError::Unclosed)?,
                None => {
                    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
                    let end = after.find(|letter| !is_name(letter)).unwrap_or(after.len());
                    after.split_at(end)
                }
            };
            if !literal.is_empty() {
                pieces.push(LogPiece::Literal(std::mem::take(&mut literal).into()));
            }
            pieces.push(LogPiece::Field(LogField::named(name)?));
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(LogPiece::Literal(literal.into()));
        }
        if pieces.len() > 2 * LOG_FIELDS_MAX {
            return Err(LogFormatError::TooMany);
        }
        Ok(Self::Text(pieces.into()))
    }
}

impl LogField {
    fn named(name: &str) -> Result<Self, LogFormatError> {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_name = |header: &&str| !header.is_empty() && header.bytes().all(is_token);
        if let Some(header) = name.strip_prefix("field:").filter(is_name) {
            return Ok(Self::Header(header.to_ascii_lowercase().into()));
        }
        let known = Known::ALL.iter().find(|(known, _)| *known == name);
        known
            .map(|(_, field)| Self::Known(*field))
            .ok_or_else(|| LogFormatError::Unknown(name.to_owned()))
    }

    /// Its name.
    pub fn name(&self) -> String {
        match self {
            Self::Known(known) => known.name().to_owned(),
            Self::Header(name) => format!("field:{name}"),
        }
    }
}

impl fmt::Display for LogFormat {
    /// As the configuration has it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Combined => out.write_str("combined"),
            Self::Json(_) => out.write_str("json"),
            Self::Text(pieces) => pieces.iter().try_for_each(|piece| match piece {
                LogPiece::Literal(text) => out.write_str(&text.replace('$', "$$")),
                LogPiece::Field(field) => write!(out, "${{{}}}", field.name()),
            }),
        }
    }
}

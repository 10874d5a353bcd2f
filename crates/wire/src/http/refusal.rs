//! Why a message is refused, and with which status.
//!
//! Owns one variant for each rule a peer can break. A refusal is always the peer's fault and always ends
//! the connection: after it nobody can say where the next message begins (RFC 9112, 11.2).

use std::fmt;

use super::status::Status;

/// A message that is not accepted. Answer [`Refusal::status`], then close the connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Refusal(Reason);

macro_rules! reasons {
    ($($name:ident $status:ident $text:literal),+ $(,)?) => {
        /// The rule that was broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(
                #[doc = concat!($text, ".")]
                $name,
            )+
        }

        impl Reason {
            /// The status to answer with.
            pub const fn status(self) -> Status {
                match self {
                    $(Reason::$name => Status::$status,)+
                }
            }

            /// The rule in a few words, for a log or a response body.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Reason::$name => $text,)+
                }
            }
        }
    };
}

reasons! {
    // Lines.
    BareLineFeed BAD_REQUEST "a line feed without a carriage return ends a line",
    BareCarriageReturn BAD_REQUEST "a carriage return without a line feed",
    TooManyEmptyLines BAD_REQUEST "too many empty lines before the request line",
    HeadTooLarge REQUEST_HEADER_FIELDS_TOO_LARGE "the head is too large",
    // Request line.
    InvalidMethod BAD_REQUEST "the method is not a token",
    MethodTooLong NOT_IMPLEMENTED "the method is too long to be known",
    MethodUnknown NOT_IMPLEMENTED "the method is unknown",
    MethodNotAllowed METHOD_NOT_ALLOWED "the method is never allowed here",
    MissingTarget BAD_REQUEST "the request line has no target",
    InvalidTarget BAD_REQUEST "the target has a byte that is not visible ASCII",
    FragmentInTarget BAD_REQUEST "the target has a fragment",
    InvalidTargetForm BAD_REQUEST "the target is neither a path, an absolute URI nor an asterisk for OPTIONS",
    InvalidTargetAuthority BAD_REQUEST "the authority of the target is invalid",
    SecureTarget MISDIRECTED_REQUEST "an https target on an unencrypted connection",
    PlainTarget MISDIRECTED_REQUEST "an http target on an encrypted connection",
    TargetTooLong URI_TOO_LONG "the target is too long",
    MissingVersion BAD_REQUEST "the request line has no version (HTTP/0.9)",
    InvalidVersion BAD_REQUEST "the version is not HTTP/ and two digits around a dot",
    VersionNotSupported HTTP_VERSION_NOT_SUPPORTED "the major version is not 1",
    // Field lines.
    BlankBeforeFirstField BAD_REQUEST "a blank begins the first field line",
    ObsoleteFold BAD_REQUEST "a field line is folded",
    EmptyFieldName BAD_REQUEST "a field has no name",
    BlankInFieldName BAD_REQUEST "a blank in or after a field name",
    InvalidFieldName BAD_REQUEST "a field name is not a token",
    FieldWithoutColon BAD_REQUEST "a field line has no colon",
    InvalidFieldValue BAD_REQUEST "a control byte in a field value",
    FieldNameTooLong REQUEST_HEADER_FIELDS_TOO_LARGE "a field name is too long",
    FieldTooLarge REQUEST_HEADER_FIELDS_TOO_LARGE "a field line is too long",
    TooManyFields REQUEST_HEADER_FIELDS_TOO_LARGE "too many fields",
    // Fields that decide where a message goes and ends.
    MissingHost BAD_REQUEST "HTTP/1.1 without Host",
    DuplicateHost BAD_REQUEST "more than one Host",
    InvalidHost BAD_REQUEST "Host is not a host with an optional port",
    HostMismatch BAD_REQUEST "Host differs from the authority of the target",
    InvalidContentLength BAD_REQUEST "Content-Length is not a number of at most 2^63",
    DuplicateContentLength BAD_REQUEST "more than one Content-Length",
    LengthAndCoding BAD_REQUEST "both Content-Length and Transfer-Encoding",
    InvalidTransferEncoding BAD_REQUEST "Transfer-Encoding is not exactly one final chunked",
    CodingUnknown NOT_IMPLEMENTED "a transfer coding other than chunked",
    DisguisedFraming BAD_REQUEST "a field name that resembles Content-Length or Transfer-Encoding",
    CodingInHttp10 BAD_REQUEST "Transfer-Encoding in HTTP/1.0",
    ExpectationUnknown EXPECTATION_FAILED "an expectation other than 100-continue",
    // Pseudo-fields of HTTP/2 (RFC 9113, 8.3).
    PseudoFieldUnknown BAD_REQUEST "a pseudo-field that a request cannot have",
    PseudoFieldDuplicate BAD_REQUEST "a pseudo-field comes twice",
    PseudoFieldLate BAD_REQUEST "a pseudo-field comes after a field",
    PseudoFieldMissing BAD_REQUEST "a pseudo-field is missing",
    // Bodies.
    BodyTooLarge CONTENT_TOO_LARGE "the body is too large",
    InvalidChunkSize BAD_REQUEST "a chunk size is not hexadecimal digits alone",
    ChunkSizeTooLong BAD_REQUEST "a chunk size has too many digits",
    InvalidChunkExtension BAD_REQUEST "an invalid chunk extension",
    ChunkExtensionsTooLarge BAD_REQUEST "the chunk extensions are too large",
    InvalidChunkEnd BAD_REQUEST "a chunk is longer than its size",
    TrailersTooLarge REQUEST_HEADER_FIELDS_TOO_LARGE "the trailer section is too large",
}

impl Reason {
    /// Whether a head that came as values is malformed by this (RFC 9113, 8.1.1): its stream ends with the error
    /// PROTOCOL_ERROR. One that breaks another rule is answered with the status.
    pub const fn is_malformed(self) -> bool {
        matches!(
            self,
            Self::PseudoFieldUnknown
                | Self::PseudoFieldDuplicate
                | Self::PseudoFieldLate
                | Self::PseudoFieldMissing
                | Self::InvalidMethod
                | Self::MissingTarget
                | Self::InvalidFieldName
                | Self::InvalidFieldValue
                | Self::InvalidContentLength
                | Self::DuplicateContentLength
                | Self::HostMismatch
        )
    }
}

impl Refusal {
    /// The rule that was broken.
    pub const fn reason(self) -> Reason {
        self.0
    }

    /// The status to answer with, before the connection is closed.
    pub const fn status(self) -> Status {
        self.0.status()
    }

    /// The rule in a few words, for a log or a response body.
    pub const fn text(self) -> &'static str {
        self.0.text()
    }
}

impl From<Reason> for Refusal {
    #[inline]
    fn from(reason: Reason) -> Refusal {
        Refusal(reason)
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Refusal({:?}, {})", self.0, self.status().code())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl std::error::Error for Refusal {}

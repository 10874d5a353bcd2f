//! Status codes, their reason phrases and ready-made status lines.
//!
//! Owns the table of the codes this server sends. Never decides which one to send.

/// A status code of a response, always three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Status(u16);

/// The first digit of a status code (RFC 9110, 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// 1xx: interim, a final response follows.
    Informational,
    /// 2xx: the request was understood and done.
    Success,
    /// 3xx: the client has to take further action.
    Redirection,
    /// 4xx: the client is at fault.
    ClientError,
    /// 5xx: the server is at fault. Codes above 5xx count as this, as RFC 9110, 15 requires.
    ServerError,
}

macro_rules! statuses {
    ($($name:ident $code:literal $reason:literal),+ $(,)?) => {
        impl Status {
            $(
                #[doc = concat!("`", $code, " ", $reason, "`.")]
                pub const $name: Status = Status($code);
            )+

            /// The reason phrase; empty for a code without a registered one.
            pub const fn reason(self) -> &'static str {
                match self.0 {
                    $($code => $reason,)+
                    _ => "",
                }
            }

            /// The whole status line with its line end, if the table has the code.
            pub(crate) const fn line(self) -> Option<&'static [u8]> {
                match self.0 {
                    $($code => Some(concat!("HTTP/1.1 ", $code, " ", $reason, "\r\n").as_bytes()),)+
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    CONTINUE 100 "Continue",
    SWITCHING_PROTOCOLS 101 "Switching Protocols",
    EARLY_HINTS 103 "Early Hints",
    OK 200 "OK",
    CREATED 201 "Created",
    ACCEPTED 202 "Accepted",
    NO_CONTENT 204 "No Content",
    RESET_CONTENT 205 "Reset Content",
    PARTIAL_CONTENT 206 "Partial Content",
    MULTIPLE_CHOICES 300 "Multiple Choices",
    MOVED_PERMANENTLY 301 "Moved Permanently",
    FOUND 302 "Found",
    SEE_OTHER 303 "See Other",
    NOT_MODIFIED 304 "Not Modified",
    TEMPORARY_REDIRECT 307 "Temporary Redirect",
    PERMANENT_REDIRECT 308 "Permanent Redirect",
    BAD_REQUEST 400 "Bad Request",
    UNAUTHORIZED 401 "Unauthorized",
    FORBIDDEN 403 "Forbidden",
    NOT_FOUND 404 "Not Found",
    METHOD_NOT_ALLOWED 405 "Method Not Allowed",
    NOT_ACCEPTABLE 406 "Not Acceptable",
    REQUEST_TIMEOUT 408 "Request Timeout",
    CONFLICT 409 "Conflict",
    GONE 410 "Gone",
    LENGTH_REQUIRED 411 "Length Required",
    PRECONDITION_FAILED 412 "Precondition Failed",
    CONTENT_TOO_LARGE 413 "Content Too Large",
    URI_TOO_LONG 414 "URI Too Long",
    UNSUPPORTED_MEDIA_TYPE 415 "Unsupported Media Type",
    RANGE_NOT_SATISFIABLE 416 "Range Not Satisfiable",
    EXPECTATION_FAILED 417 "Expectation Failed",
    MISDIRECTED_REQUEST 421 "Misdirected Request",
    UNPROCESSABLE_CONTENT 422 "Unprocessable Content",
    UPGRADE_REQUIRED 426 "Upgrade Required",
    PRECONDITION_REQUIRED 428 "Precondition Required",
    TOO_MANY_REQUESTS 429 "Too Many Requests",
    REQUEST_HEADER_FIELDS_TOO_LARGE 431 "Request Header Fields Too Large",
    INTERNAL_SERVER_ERROR 500 "Internal Server Error",
    NOT_IMPLEMENTED 501 "Not Implemented",
    BAD_GATEWAY 502 "Bad Gateway",
    SERVICE_UNAVAILABLE 503 "Service Unavailable",
    GATEWAY_TIMEOUT 504 "Gateway Timeout",
    HTTP_VERSION_NOT_SUPPORTED 505 "HTTP Version Not Supported",
    INSUFFICIENT_STORAGE 507 "Insufficient Storage",
    LOOP_DETECTED 508 "Loop Detected",
}

impl Status {
    /// The status with this number, if it has three digits and a class (100 to 599).
    pub const fn from_code(code: u16) -> Option<Status> {
        if matches!(code, 100..=599) { Some(Status(code)) } else { None }
    }

    /// The number, 100 to 599.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Whether an answer with this status has content: never for 1xx, 204, 304 (RFC 9110, 6.4.1) and 205 (15.3.6).
    pub const fn has_content(self) -> bool {
        !matches!(self.0, 100..=199 | 204 | 205 | 304)
    }

    /// The class given by the first digit.
    pub const fn class(self) -> Class {
        match self.0 {
            0..=199 => Class::Informational,
            200..=299 => Class::Success,
            300..=399 => Class::Redirection,
            400..=499 => Class::ClientError,
            _ => Class::ServerError,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_repeats_code_and_reason() {
        for code in 100..600 {
            let status = Status::from_code(code).unwrap();
            if let Some(line) = status.line() {
                let expected = format!("HTTP/1.1 {} {}\r\n", status.code(), status.reason());
                assert_eq!(line, expected.as_bytes());
            } else {
                assert_eq!(status.reason(), "");
            }
        }
    }

    #[test]
    fn codes_outside_the_five_classes_do_not_exist() {
        assert_eq!(Status::from_code(99), None);
        assert_eq!(Status::from_code(600), None);
        assert_eq!(Status::from_code(599).map(Status::class), Some(Class::ServerError));
        assert_eq!(Status::NOT_MODIFIED.class(), Class::Redirection);
        assert_eq!(Status::CONTINUE.class(), Class::Informational);
        assert_eq!(Status::OK.class(), Class::Success);
        assert_eq!(Status::GONE.class(), Class::ClientError);
    }
}

//! Why a form is refused, with which status, and with which log message.

use std::fmt;

use runtime::diagnostic::Level;
use sys::spool::SpoolFault;
use wire::http::multipart::MultipartError;
use wire::http::status::Status;

/// Why a form is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not a valid form.
    Malformed(MultipartError),
    /// It ends before its last delimiter.
    Cut,
    /// Its fields and names together are larger than a body may be.
    FieldsTooLarge,
    /// It contains a file, but there is no upload directory.
    NoDirectory,
    /// It contains a file, but the page reads none.
    NotRead,
    /// It contains a file, and comes from a page of another site.
    Forged,
    /// Unsaved files take all the allowed room.
    NoRoom,
    /// A file could not be written.
    Storage(SpoolFault),
}

impl Fault {
    pub(super) fn status(self) -> Status {
        match self {
            Self::Malformed(_) | Self::Cut => Status::BAD_REQUEST,
            Self::FieldsTooLarge => Status::CONTENT_TOO_LARGE,
            Self::NoDirectory | Self::NotRead => Status::UNSUPPORTED_MEDIA_TYPE,
            Self::Forged => Status::FORBIDDEN,
            Self::Storage(SpoolFault::Full) => Status::INSUFFICIENT_STORAGE,
            Self::NoRoom | Self::Storage(SpoolFault::Exhausted) => Status::SERVICE_UNAVAILABLE,
            Self::Storage(_) => Status::INTERNAL_SERVER_ERROR,
        }
    }

    /// The log level: the lowest if only the sender is at fault.
    pub(super) fn level(self) -> Level {
        match self {
            Self::Malformed(_) | Self::Cut | Self::FieldsTooLarge | Self::Forged => Level::Debug,
            Self::NoDirectory | Self::NotRead | Self::NoRoom => Level::Warn,
            Self::Storage(_) => Level::Error,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(out, "it is not a form: {error}"),
            Self::Cut => out.write_str("it ends before its last delimiter"),
            Self::FieldsTooLarge => out.write_str("its fields are larger than `body_size`"),
            Self::NoDirectory => out.write_str(
                "it has a file, but there is no upload directory: set `uploads` in [pages]",
            ),
            Self::NotRead => out.write_str(
                "it has a file, but the code that answers, with the parts and modules that it names, reads \
                 no `request.files`",
            ),
            Self::Forged => out.write_str(
                "it has a file and comes from a page of a site that `origins` in [channels] does not list",
            ),
            Self::NoRoom => out.write_str(
                "files of forms that no page has saved take all of `uploads_size` in [pages]",
            ),
            Self::Storage(fault) => out.write_str(told(*fault)),
        }
    }
}

/// Why writing failed.
pub(super) fn told(fault: SpoolFault) -> &'static str {
    match fault {
        SpoolFault::Full => "no room is left in the directory for uploads",
        SpoolFault::Exhausted => "out of descriptors or of memory",
        SpoolFault::Exists => "there is a file of that name",
        SpoolFault::NotFound => "the file, or the directory for uploads, is gone",
        SpoolFault::Other => "another file has got its name",
        SpoolFault::Forbidden => {
            "the server may not write to the directory for uploads: look at its owner and mode; where it \
             was made anew, restart the server, which Landlock lets into the one of its start only"
        }
        SpoolFault::Storage => "the file system of the directory for uploads reports an error",
    }
}

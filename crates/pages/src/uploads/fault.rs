//! Why a form is refused, with which status, and with which log message.

use runtime::diagnostic::Level;
use sys::spool::SpoolFault;
use wire::http::multipart::MultipartError;
use wire::http::status::Status;

/// Why a form is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// It is not a valid form.
    #[error("it is not a form: {0}")]
    Malformed(MultipartError),
    /// It ends before its last delimiter.
    #[error("it ends before its last delimiter")]
    Cut,
    /// Its fields and names together are larger than a body may be.
    #[error("its fields are larger than `body_size`")]
    FieldsTooLarge,
    /// It contains a file, but there is no upload directory.
    #[error("it has a file, but there is no upload directory: set `uploads` in [pages]")]
    NoDirectory,
    /// It contains a file, but the page reads none.
    #[error(
        "it has a file, but the code that answers, with the parts and modules that it names, reads \
         no `request.files`"
    )]
    NotRead,
    /// It contains a file, and comes from a page of another site.
    #[error(
        "it has a file and comes from a page of a site that `origins` in [channels] does not list"
    )]
    Forged,
    /// Unsaved files take all the allowed room.
    #[error("files of forms that no page has saved take all of `uploads_size` in [pages]")]
    NoRoom,
    /// A file could not be written.
    #[error("{}", told(*.0))]
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

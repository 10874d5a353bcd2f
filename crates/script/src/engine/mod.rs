//! The engine: one Lua state per scheduler, pages as coroutines that run in slices.
//!
//! Owns running. Never does I/O, never reads a clock, knows nothing of HTTP beyond a status and
//! header fields: a [`PageHost`] provides what a page asks for.

mod call;
mod collection;
mod crypto;
mod error;
mod escape;
mod ffi;
mod host;
mod keys;
mod library;
mod output;
mod report;
mod run;
mod seen;
mod settings;
mod state;
mod tag;
mod utf8;

pub use call::{AnswerForm, Arguments, CallNumber, Carries, HostCall};
pub use crypto::fill_with_random;
pub use error::{EngineError, Fault, ScriptError, TracebackFrame};
pub use ffi::NativeCode;
pub use host::{
    HostAnswer, PageHost, PageLogLevel, PublishedValue, RecordParts, RecordScan, RequestPart,
};
pub use keys::Keys;
pub use output::{Author, PageOutput, PassedOn};
pub use run::{CallResult, Handler, MemoryAccount, Purpose, Run, WaitReply};
pub use settings::{Code, EngineRole, EngineSettings, Sessions};
pub use state::{EngineState, EngineUsage, Stranger, Use};

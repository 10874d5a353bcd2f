//! The engine: one Lua state per scheduler, pages as coroutines that run in slices.
//!
//! Owns running. Never does I/O, never reads a clock, knows nothing of HTTP beyond a status and
//! header fields: a [`Host`] provides what a page asks for.

mod blame;
mod call;
mod collection;
mod crypto;
mod ending;
mod error;
mod escape;
mod ffi;
mod garbage;
mod host;
mod keys;
mod library;
mod load;
mod lost;
mod output;
mod pool;
mod report;
mod review;
mod run;
mod seen;
mod settings;
mod shown;
mod spawn;
mod state;
mod stranger;
mod tag;
mod tune;
mod usage;
mod utf8;

pub use call::{AnswerForm, Arguments, CallNumber, Carries, HostCall};
pub use crypto::fill_with_random;
pub use error::{EngineError, Fault, Frame, ScriptError};
pub use ffi::NativeCode;
pub use host::{Answer, Host, Level, Part, PublishedValue, RecordParts, Records};
pub use keys::Keys;
pub use output::{Author, Output, PassedOn};
pub use run::{Account, Handler, Purpose, Reply, Run, Step};
pub use settings::{Code, Role, Sessions, Settings};
pub use state::State;
pub use stranger::{Stranger, Use};
pub use usage::Usage;

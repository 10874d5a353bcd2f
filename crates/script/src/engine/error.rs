//! Errors: of the engine at its start, of a page later.
//!
//! Owns the errors and their texts. Never decides what is done about them.

use std::fmt;
use std::io;

/// Why an engine could not be created. The machine or the build is at fault, never a page.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// LuaJIT was built without `LUAJIT_ENABLE_CHECKHOOK`.
    #[error(
        "LuaJIT was built without LUAJIT_ENABLE_CHECKHOOK, so a page that loops could not be \
         interrupted: build with the CFLAGS of .cargo/config.toml"
    )]
    NoHookChecks,
    /// LuaJIT has an unexpected version: the stack's words are not where they should be.
    #[error(
        "LuaJIT keeps its stacks in another way than the version in Cargo.lock does: build with \
         that one"
    )]
    UnknownStacks,
    /// The memory limit is too low for the library itself.
    #[error("{bytes} bytes are not enough for the page engine: raise its memory")]
    Memory {
        /// The limit.
        bytes: usize,
    },
    /// The kernel refused the timer.
    #[error("no timer for time slices: {0}")]
    Timer(io::Error),
    /// The operating system provides no random bytes.
    #[error("the operating system has no random bytes")]
    NoRandomBytes,
    /// The library's own code failed, which is a bug of this server.
    #[error("the page library failed: {0}")]
    Library(String),
}

/// Why a page was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text is not Lua.
    Compile,
    /// An error was raised and not caught.
    Runtime,
    /// It needed more memory than pages may have.
    Memory,
    /// One of its tables became larger than allowed.
    TableSize,
    /// It used up its CPU time.
    CpuBudget,
    /// It ran too long without a point where it can be interrupted.
    Stalled,
    /// It exceeded the deadline set by its caller.
    Deadline,
    /// It was stopped from outside.
    Stopped,
    /// The store takes no changes now, and the page had one to make.
    Store,
    /// The client sent something invalid in its head or body that the page reads.
    Request,
    /// The client sent a body larger than the page reads.
    RequestSize,
}

impl Fault {
    /// Whether the client is at fault, and not the page or the operator.
    pub fn is_of_client(self) -> bool {
        matches!(self, Self::Request | Self::RequestSize)
    }
}

/// One level of the traceback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracebackFrame {
    /// The page or module, by the name under which it was loaded.
    pub page: String,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The function's name if known, otherwise empty.
    pub function: String,
    /// How many consecutive levels are at this place: more than one for a recursive function.
    pub times: usize,
}

impl fmt::Display for TracebackFrame {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.page)?;
        if self.line != 0 {
            write!(formatter, ":{}", self.line)?;
        }
        match self.times {
            1 => Ok(()),
            times => write!(formatter, " ({times} times)"),
        }
    }
}

/// Why a page did not finish. The page is at fault, unless the fault is that of its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The kind of fault.
    pub fault: Fault,
    /// The page or module where it happened.
    pub page: String,
    /// The line there, from 1; 0 if unknown. For lack of memory it may be the line at which its last slice ended.
    pub line: u32,
    /// The failure, without the place.
    pub message: String,
    /// The calls that led there, innermost first. Only pages and modules; the library's own levels are left out.
    pub traceback: Vec<TracebackFrame>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.page, self.message),
            line => write!(formatter, "{}:{line}: {}", self.page, self.message),
        }
    }
}

impl std::error::Error for ScriptError {}

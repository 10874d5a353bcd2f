//! Errors: of the engine at its start, of a page later.
//!
//! Owns the errors and their texts. Never decides what is done about them.

use std::fmt;
use std::io;

/// Why an engine could not be made. The machine or the build is at fault, never a page.
#[derive(Debug)]
pub enum EngineError {
    /// LuaJIT was built without `LUAJIT_ENABLE_CHECKHOOK`.
    NoHookChecks,
    /// LuaJIT was built in another version: its stacks are not where they should be.
    UnknownStacks,
    /// The memory bound is too low for the library itself.
    Memory {
        /// The bound.
        bytes: usize,
    },
    /// The kernel refused the timer.
    Timer(io::Error),
    /// The operating system has no random bytes.
    NoRandomBytes,
    /// The library's own code failed: an error of ours.
    Library(String),
}

impl fmt::Display for EngineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHookChecks => formatter.write_str(
                "LuaJIT was built without LUAJIT_ENABLE_CHECKHOOK, so a page that loops could not be interrupted: \
                 build with the CFLAGS of .cargo/config.toml",
            ),
            Self::UnknownStacks => formatter.write_str(
                "LuaJIT keeps its stacks in another way than the version in Cargo.lock does: build with that one",
            ),
            Self::Memory { bytes } => {
                write!(formatter, "{bytes} bytes are not enough for the page engine: raise its memory")
            }
            Self::Timer(error) => write!(formatter, "no timer for time slices: {error}"),
            Self::NoRandomBytes => formatter.write_str("the operating system has no random bytes"),
            Self::Library(message) => write!(formatter, "the page library failed: {message}"),
        }
    }
}

impl std::error::Error for EngineError {}

/// What kind of fault ended a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text is not Lua.
    Compile,
    /// An error was raised and not caught.
    Runtime,
    /// It needed more memory than there is for pages.
    Memory,
    /// A table of it grew beyond what one may take.
    TableSize,
    /// It used up its CPU time.
    CpuBudget,
    /// It ran for too long where it cannot be interrupted.
    Stalled,
    /// It was under way for longer than whoever runs it allows.
    Deadline,
    /// The client sent what the page cannot look at, in its head or as its body.
    Request,
    /// The client sent more in its body than a page looks at.
    RequestSize,
}

impl Fault {
    /// Whether the client is at fault, and neither the page nor who runs it.
    #[must_use]
    pub fn is_of_client(self) -> bool {
        matches!(self, Self::Request | Self::RequestSize)
    }
}

/// A level of the traceback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The page or module, by the name it was loaded by.
    pub page: String,
    /// The line, from 1; 0 where it is not known.
    pub line: u32,
    /// The function's name, where it is known; else empty.
    pub function: String,
    /// How many levels in a row are at this place: more than one where a function calls itself.
    pub times: usize,
}

impl fmt::Display for Frame {
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

/// Why a page did not finish. The page is at fault, but where the fault is of its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// What kind of fault.
    pub fault: Fault,
    /// The page or module in which it happened.
    pub page: String,
    /// The line there, from 1; 0 where it is not known. For want of memory it may be the one at which its last slice ended.
    pub line: u32,
    /// What happened, without the place.
    pub message: String,
    /// The way there, innermost first. Only pages and modules: the library's own levels are left out.
    pub traceback: Vec<Frame>,
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

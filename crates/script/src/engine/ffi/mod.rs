//! The foreign-function part: LuaJIT's C interface and the kernel's timer, made safe. All unsafe of this crate is here.
//!
//! Owns the Lua state, its memory, its native functions and the tick that interrupts pages. Never decides what a page
//! may do: that is the library's business.
//!
//! What may raise a Lua error (whatever allocates may) is done in [`protected`](calls::protected) calls or in native
//! functions only, as an error without a protected caller ends the process. [`Stack`](stack::Stack) holds what cannot
//! raise, [`Inside`](stack::Inside) what can; the latter exists only where raising is safe.
#![expect(unsafe_code, reason = "LuaJIT has a C interface, and a tick is a signal")]

mod address;
mod called;
mod calls;
mod collector;
mod context;
mod crypto;
mod current;
mod functions;
mod innards;
mod ledger;
mod listing;
mod lua;
mod memory;
mod native;
mod passing;
mod pieces;
mod records;
mod reference;
mod stack;
mod tick;

pub(in crate::engine) use calls::Fault as CallFault;
pub(in crate::engine) use context::{MemorySizes, Traces};
pub(in crate::engine) use ledger::{AccountNumber, Meter};
pub(in crate::engine) use lua::{Argument, Coroutine, Lua, Resumed};
pub use pieces::NativeCode;
pub(in crate::engine) use reference::Reference;
pub(in crate::engine) use stack::{NATIVE, Stack};

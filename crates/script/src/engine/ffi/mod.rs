//! The foreign-function part: safe wrappers of LuaJIT's C interface and the kernel's timer. All
//! unsafe code of this crate is here.
//!
//! Owns the Lua state, its memory, its native functions and the tick that interrupts pages. Never
//! decides what a page may do: the library does.
//!
//! Whatever may raise a Lua error (any allocation may) runs only in [`protected`](calls::protected)
//! calls or in native functions, because an error without a protected caller ends the process.
//! [`Slots`](slots::Slots) has what cannot raise, [`Inside`](inside::Inside) what can; the latter
//! exists only where raising is safe. [`Stack`](stack::Stack) only reads.
#![expect(unsafe_code, reason = "LuaJIT has a C interface, and a tick is a signal")]

mod address;
mod called;
mod calls;
mod collector;
mod context;
mod coroutine;
mod crypto;
mod functions;
mod innards;
mod inside;
mod ledger;
mod lending;
mod lua;
mod native;
mod pieces;
#[cfg(test)]
mod raising;
mod records;
mod reference;
mod slots;
mod stack;
mod tick;
mod utf8;

pub(in crate::engine) use calls::Fault as CallFault;
pub(in crate::engine) use context::MemorySizes;
pub(in crate::engine) use coroutine::Coroutine;
pub(in crate::engine) use ledger::{AccountNumber, Meter};
pub(in crate::engine) use lua::{Argument, Lua, Resumed};
pub use pieces::NativeCode;
pub(in crate::engine) use pieces::Traces;
pub(in crate::engine) use reference::Reference;
pub(in crate::engine) use stack::{NATIVE, Stack};

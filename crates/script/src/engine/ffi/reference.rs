//! Lua values kept alive by the registry, by their numbers.
//!
//! Owns the number, and the references to library values that the engine itself uses. Never calls
//! Lua.

use std::ffi::c_int;

use mlua_sys as api;

/// The number of a value that the registry keeps alive. Release it with [`Lua::release`].
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) struct Reference(pub(super) c_int);

impl Reference {
    /// The reference of nil: the registry holds nothing under this number.
    pub(in crate::engine) const NOTHING: Self = Self(api::LUA_REFNIL);
}

/// The library's values about the current run.
pub(super) struct Places {
    /// The context of each run, by its coroutine.
    pub(super) contexts: Reference,
    /// One slot: the context of the current run.
    pub(super) current: Reference,
    /// The function that forgets a run, by its coroutine.
    pub(super) leave: Reference,
}

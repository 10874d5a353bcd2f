//! Lua values kept alive by the registry, by their numbers.
//!
//! Owns the number, and the references to library values that the engine itself uses. Never calls
//! Lua.

use std::ffi::c_int;

use mlua_sys as api;

/// The number of a value that the registry keeps alive. Given back with [`Lua::release`].
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) struct Reference(pub(super) c_int);

impl Reference {
    /// That of nil: the registry holds nothing under this number.
    pub(in crate::engine) const NOTHING: Self = Self(api::LUA_REFNIL);
}

/// What of the library's has to do with the run under way.
pub(super) struct Places {
    /// What each run is at, by its coroutine.
    pub(super) contexts: Reference,
    /// One slot: what the run is at that is under way.
    pub(super) current: Reference,
    /// The function that forgets a run, by its coroutine.
    pub(super) leave: Reference,
}

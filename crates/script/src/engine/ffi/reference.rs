//! Lua values kept alive by the registry, by their numbers.
//!
//! Owns the number. Never calls Lua.

use std::ffi::c_int;

use mlua_sys as api;

/// The number of a value that the registry keeps alive. Release it with [`Lua::release`].
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) struct Reference(pub(super) c_int);

impl Reference {
    /// The reference of nil: the registry holds nothing under this number.
    pub(in crate::engine) const NOTHING: Self = Self(api::LUA_REFNIL);
}

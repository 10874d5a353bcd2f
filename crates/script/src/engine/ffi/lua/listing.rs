//! The list of native code, for profilers.

use crate::engine::ffi::lua::{Lua, ROOM};
use crate::engine::ffi::native;
use crate::engine::ffi::pieces::NativeCode;

impl Lua {
    /// All native code.
    pub(in crate::engine) fn native_code(&self) -> Vec<NativeCode> {
        let Some(lister) = &self.lister else { return Vec::new() };
        // An error leaves the list empty; the profiler then shows addresses.
        let _listed = self.unbounded(&mut |inside| {
            inside.reserve(ROOM);
            inside.push_registered(lister.0);
            // SAFETY: it takes any arguments.
            unsafe { inside.push_function(native::note) };
            inside.call(1, 0);
        });
        self.context().pieces.take()
    }
}

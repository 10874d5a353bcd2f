//! The library's Lua code, in the order in which it is loaded.

use std::ffi::CStr;
use std::time::Duration;

use crate::engine::host::{Answer, Host, Level, Part};

/// How the names of the library's chunks begin; tracebacks leave them out.
pub(super) const MARK: &str = "=[library]";

/// The chunks.
pub(super) const CHUNKS: [(&CStr, &str); 8] = [
    (c"=[library] base", include_str!("../library/base.lua")),
    (c"=[library] text", include_str!("../library/text.lua")),
    (c"=[library] request", include_str!("../library/request.lua")),
    (c"=[library] run", include_str!("../library/run.lua")),
    (c"=[library] sandbox", include_str!("../library/sandbox.lua")),
    (c"=[library] coroutines", include_str!("../library/coroutines.lua")),
    (c"=[library] modules", include_str!("../library/modules.lua")),
    (c"=[library] finish", include_str!("../library/finish.lua")),
];

/// What the engine keeps of the library's table.
pub(super) const KEPT: [&CStr; 4] = [c"loop", c"environment", c"modules", c"forget"];

/// A page whose loop ends by itself, but only after a hundred slices or so.
pub(super) const PROOF: &str = "return function()
  local sum = 0
  for index = 1, 2e8 do
    sum = sum + index
  end
  return sum
end";

/// The host while there is no request.
pub(super) struct NoHost;

impl Host for NoHost {
    fn request(&mut self, _: Part, _: &mut Answer) {}

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn log(&mut self, _: Level, _: &[u8]) {}
}

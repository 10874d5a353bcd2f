//! The machine that this program runs on.
//!
//! Owns its name. Never looks it up anywhere.

/// The name of the machine, or of the container, as the kernel has it.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

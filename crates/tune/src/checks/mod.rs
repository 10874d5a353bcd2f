//! All checks, by layer.

mod connections;
mod cpu;
mod device;
mod environment;
mod memory;
mod network;
mod process;
mod receiving;
mod sockets;
mod stack;

use crate::check::Check;

/// The reason why a check of the server cannot be judged.
const NO_PROCESS: &str = "needs --pid";

/// All checks.
pub const ALL: [&[Check]; 10] = [
    process::CHECKS,
    connections::CHECKS,
    cpu::CHECKS,
    memory::CHECKS,
    network::CHECKS,
    receiving::CHECKS,
    device::CHECKS,
    stack::CHECKS,
    sockets::CHECKS,
    environment::CHECKS,
];

/// The check with this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Check> {
    ALL.iter().flat_map(|checks| checks.iter()).find(|check| check.id == id)
}

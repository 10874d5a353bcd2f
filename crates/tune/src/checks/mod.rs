//! All checks, by layer.

mod cpu;
mod device;
mod environment;
mod memory;
mod network;
mod process;
mod sockets;
mod stack;

use crate::check::Check;

/// All checks.
pub const ALL: [&[Check]; 8] = [
    process::CHECKS,
    cpu::CHECKS,
    memory::CHECKS,
    network::CHECKS,
    device::CHECKS,
    stack::CHECKS,
    sockets::CHECKS,
    environment::CHECKS,
];

/// The check of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Check> {
    ALL.iter().flat_map(|checks| checks.iter()).find(|check| check.id == id)
}

//! All checks, by layer.

mod asleep;
mod buffers;
mod calls;
mod connections;
mod cpu;
mod datagrams;
mod device;
mod drops;
mod environment;
mod file_locks;
mod filters;
mod groups;
mod growth;
mod halted;
mod handshakes;
mod memory;
mod network;
mod no_disk;
mod observers;
mod own_bounds;
mod pairs;
mod peers;
mod process;
mod receiving;
mod reclaimed;
mod scheduling;
mod segments;
mod serving;
mod sockets;
mod stack;
mod transport;
mod unread;
mod upstreams;
mod waiting;
mod work;

use crate::check::Check;
use crate::finding::Finding;
use crate::host::HostReading;

/// The server's process, without which a check of the server cannot be judged.
fn server(host: &HostReading) -> Result<u32, Finding> {
    Finding::known(host.process, "needs --pid")
}

/// All checks.
pub const ALL: [&[Check]; 29] = [
    process::CHECKS,
    scheduling::CHECKS,
    asleep::CHECKS,
    calls::CHECKS,
    work::CHECKS,
    halted::CHECKS,
    growth::CHECKS,
    connections::CHECKS,
    peers::CHECKS,
    waiting::CHECKS,
    own_bounds::CHECKS,
    cpu::CHECKS,
    memory::CHECKS,
    network::CHECKS,
    receiving::CHECKS,
    device::CHECKS,
    segments::CHECKS,
    stack::CHECKS,
    filters::CHECKS,
    sockets::CHECKS,
    handshakes::CHECKS,
    transport::CHECKS,
    drops::CHECKS,
    upstreams::CHECKS,
    buffers::CHECKS,
    datagrams::CHECKS,
    environment::CHECKS,
    groups::CHECKS,
    observers::CHECKS,
];

/// The check with this name.
pub fn find(id: &str) -> Option<&'static Check> {
    ALL.iter().flat_map(|checks| checks.iter()).find(|check| check.id == id)
}

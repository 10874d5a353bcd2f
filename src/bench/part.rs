//! The part of a measurement that one agent has.
//!
//! Owns the arithmetic: parts of numbers that differ by one at most, and together are the whole.

use std::num::NonZeroU64;

use bench::agents::Task;

use super::flags::Surroundings;
use crate::Failure;

/// The number of a process means another one on each host; an agent finds a server on its own host by itself.
pub(crate) fn stay_here(place: &mut Surroundings) {
    place.server_pid = None;
}

/// The part of a number of connections.
pub(crate) fn share(connections: u32, task: &Task) -> Result<u32, Failure> {
    let Task { generator, generators, .. } = *task;
    let generators = generators.max(1);
    match connections / generators + u32::from(generator < connections % generators) {
        0 => {
            let text = format!("{connections} connections are too few for {generators} agents");
            Err(Failure::WrongUse(text))
        }
        part => Ok(part),
    }
}

/// The part of a number of requests or messages.
pub(crate) fn share_requests(requests: NonZeroU64, task: &Task) -> Result<NonZeroU64, Failure> {
    let (generator, generators) = (u64::from(task.generator), u64::from(task.generators.max(1)));
    let part = requests.get() / generators + u64::from(generator < requests.get() % generators);
    NonZeroU64::new(part).ok_or_else(|| {
        Failure::WrongUse(format!("-n {requests} is too few for {generators} agents"))
    })
}

//! The faults of a world, and their probabilities.
//!
//! Owns the list of faults. Each is something that a kernel or a network does and that the contract allows; a world
//! never does what the contract forbids.

use super::random::Random;

/// The probability of each fault, in times per million chances, and the longest duration of those that last.
///
/// Durations are in nanoseconds of virtual time, drawn between 1 and the maximum each time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A receive returns a part of what is there: the rest either stays in place ([`Rest::Perhaps`]) or comes
    /// later with a new event ([`Rest::No`]).
    ///
    /// [`Rest::Perhaps`]: sys::pollset::Rest::Perhaps
    /// [`Rest::No`]: sys::pollset::Rest::No
    pub cut_receive: u32,
    /// A send takes a part of what there is room for, perhaps nothing; then there is no room for some time.
    pub cut_send: u32,
    /// Bytes sent by either side travel in several segments of any length.
    pub split: u32,
    /// A segment takes longer than the latency.
    pub delay: u32,
    /// A connection has buffers between [`limits::BUFFER_MINIMUM`] and [`limits::BUFFER`].
    ///
    /// [`limits::BUFFER_MINIMUM`]: crate::limits::BUFFER_MINIMUM
    /// [`limits::BUFFER`]: crate::limits::BUFFER
    pub small_buffer: u32,
    /// The events of a wait are in any order.
    pub shuffle: u32,
    /// An event is reported one wait later.
    pub hold: u32,
    /// An event is reported twice in one batch: if the first makes the scheduler close the socket, the second is stale.
    pub duplicate: u32,
    /// A wait also reports a socket to which nothing happened.
    pub spurious: u32,
    /// The network resets a connection: drawn for every receive, send, segment and handshake.
    pub cut_connection: u32,
    /// A reset overtakes what the same side sent before it.
    pub reset_overtakes: u32,
    /// For some time, the scheduler that accepts has no descriptor for a connection.
    pub no_descriptor: u32,
    /// The connection that is accepted was reset in the queue.
    pub aborted: u32,
    /// Watching a socket fails: the kernel has no memory for it.
    pub watch_refused: u32,
    /// A connection that a scheduler opens finds no local port.
    pub no_port: u32,
    /// A remote refuses a connection although it listens.
    pub refused: u32,
    /// A connection that a scheduler opens is never answered.
    pub unanswered: u32,
    /// The answer to a connection that a scheduler opens takes longer than the latency. Without latency and
    /// this fault a connection is established at once.
    pub connect_late: u32,
    /// A region of a file is not in memory: for some time, or until [`World::warm`](super::World::warm).
    pub cold: u32,
    /// Longest latency of a segment without a delay; 0 delivers at once.
    pub latency_ns_maximum: u64,
    /// Longest delay, late answer, time without room in a send buffer, and time until left out bytes come.
    pub delay_ns_maximum: u64,
    /// Longest time without descriptors.
    pub no_descriptor_ns_maximum: u64,
    /// Longest time for which a file is cold.
    pub cold_ns_maximum: u64,
}

impl Faults {
    /// No faults; everything sent arrives at once.
    pub fn none() -> Self {
        Self::default()
    }

    /// All faults that lose no connection: bytes are cut and late, events come in any order, twice or
    /// without cause, descriptors run out, files are cold. A correct server answers every request in such a world.
    pub fn gentle() -> Self {
        Self {
            cut_receive: 250_000,
            cut_send: 250_000,
            split: 500_000,
            delay: 100_000,
            small_buffer: 500_000,
            shuffle: 1_000_000,
            hold: 100_000,
            duplicate: 50_000,
            spurious: 100_000,
            no_descriptor: 20_000,
            connect_late: 250_000,
            cold: 200_000,
            latency_ns_maximum: 1_000_000,
            delay_ns_maximum: 50_000_000,
            no_descriptor_ns_maximum: 300_000_000,
            cold_ns_maximum: 20_000_000,
            ..Self::none()
        }
    }

    /// All faults: those of [`Faults::gentle`], and connections are lost.
    pub fn harsh() -> Self {
        Self {
            cut_connection: 5_000,
            reset_overtakes: 500_000,
            aborted: 20_000,
            watch_refused: 5_000,
            no_port: 5_000,
            refused: 5_000,
            unanswered: 5_000,
            ..Self::gentle()
        }
    }

    /// Some of [`Faults::harsh`]: each fault is off in half of all worlds, as usual in a quarter and twice as
    /// frequent in a quarter. Worlds of different kinds find more than many worlds of one kind.
    pub fn drawn(random: &mut Random) -> Self {
        let mut faults = Self::harsh();
        for probability in faults.probabilities() {
            *probability = match random.below(4) {
                0 | 1 => 0,
                2 => *probability,
                // Never certain: a fault that always happens can keep a server from making progress.
                _ => (*probability * 2).min(900_000),
            };
        }
        faults
    }

    fn probabilities(&mut self) -> [&mut u32; 19] {
        [
            &mut self.cut_receive,
            &mut self.cut_send,
            &mut self.split,
            &mut self.delay,
            &mut self.small_buffer,
            &mut self.shuffle,
            &mut self.hold,
            &mut self.duplicate,
            &mut self.spurious,
            &mut self.cut_connection,
            &mut self.reset_overtakes,
            &mut self.no_descriptor,
            &mut self.aborted,
            &mut self.watch_refused,
            &mut self.cold,
            &mut self.no_port,
            &mut self.refused,
            &mut self.unanswered,
            &mut self.connect_late,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_worlds_differ_and_come_again() {
        let draw = |seed| Faults::drawn(&mut Random::new(seed));
        assert_eq!(draw(3), draw(3));
        let worlds: Vec<Faults> = (0..50).map(draw).collect();
        assert!(worlds.iter().any(|faults| faults.cut_connection == 0));
        assert!(worlds.iter().any(|faults| faults.cut_connection > 0));
        assert!(worlds.iter().any(|faults| faults.cut_send == 500_000));
    }
}

//! How a scheduler is set up.
//!
//! Owns the choices that are made once, at its start.

use crate::limits;
use crate::patience::PeerPatience;
use crate::uptake::Floor;

/// How a scheduler is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerSettings {
    /// Maximum number of connections.
    pub connections: usize,
    /// Nanoseconds to poll before blocking; 0 turns polling off.
    pub spin_ns: u64,
    /// Microseconds for which the kernel busy-polls the network device before the scheduler's thread sleeps; 0 turns it
    /// off.
    pub busy_poll_us: u32,
    /// Maximum bytes in inboxes and outboxes.
    pub buffered_bytes: usize,
    /// Nanoseconds that blocked output may wait without the peer acknowledging any of it.
    pub send_idle_ns: u64,
    /// Bytes per second that the peer must read meanwhile.
    pub send_rate: u64,
    /// Bytes discarded after a last answer, before the close.
    pub linger_bytes: u32,
    /// Milliseconds for which input is discarded.
    pub linger_ms: u64,
    /// How exactly the service's alarms are kept.
    pub punctuality: Punctuality,
}

/// How exactly a scheduler keeps the alarms of its service
/// ([`ServiceContext::wake_at_ns`](crate::service::ServiceContext::wake_at_ns)). Deadlines of processes are not
/// affected: they expire in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Punctuality {
    /// To a millisecond or two.
    Usual,
    /// To tens of microseconds: the time it takes to go to sleep and be woken.
    Exact,
    /// To about a microsecond: the scheduler polls for the last [`SchedulerSettings::spin_ns`] before an alarm. If
    /// alarms follow each other more closely than that, the core is always busy.
    Spinning,
}

/// Whether a turn may wait for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnWait {
    /// Until an event, a message or a deadline.
    Allowed,
    /// Not at all: the simulator runs the schedulers one after another.
    Forbidden,
}

impl SchedulerSettings {
    /// Other numbers for what a service may change.
    pub(super) fn set_patience(&mut self, patience: PeerPatience) {
        let PeerPatience { send_idle_ns, send_rate, linger_bytes, linger_ms } = patience;
        *self = Self { send_idle_ns, send_rate, linger_bytes, linger_ms, ..*self };
    }

    /// This percentage of the most bytes in inboxes and outboxes.
    #[inline]
    pub(super) fn percent_of_buffered(&self, percent: u64) -> u64 {
        (self.buffered_bytes as u64).saturating_mul(percent) / 100
    }

    /// How much a peer must read of the output that waits for it.
    pub(super) fn floor(&self) -> Floor {
        Floor { idle_ns: self.send_idle_ns, rate: self.send_rate }
    }
}

impl Default for SchedulerSettings {
    fn default() -> Self {
        Self {
            connections: limits::CONNECTIONS,
            spin_ns: limits::SPIN_NS,
            busy_poll_us: limits::BUSY_POLL_US,
            buffered_bytes: limits::BUFFERED_BYTES,
            send_idle_ns: limits::SEND_IDLE_NS,
            send_rate: limits::SEND_RATE,
            linger_bytes: limits::LINGER_BYTES,
            linger_ms: limits::LINGER_MS,
            punctuality: Punctuality::Usual,
        }
    }
}

//! How a scheduler is set up.
//!
//! Owns the choices that are made once, at its start.

use crate::limits;
use crate::uptake::Floor;

/// How a scheduler is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most connections at one time.
    pub connections: usize,
    /// Nanoseconds to poll before blocking; 0 never polls.
    pub spin_ns: u64,
    /// Microseconds for which the kernel polls the network device before the scheduler's thread sleeps; 0 for not at all.
    pub busy_poll_us: u32,
    /// Most bytes in inboxes and outboxes.
    pub buffered_bytes: usize,
    /// Nanoseconds that blocked output may go without the peer acknowledging any of it.
    pub send_idle_ns: u64,
    /// Bytes a second that the peer has to take meanwhile.
    pub send_rate: u64,
    /// Bytes discarded after a last answer before the close.
    pub linger_bytes: u32,
    /// Milliseconds for which they are.
    pub linger_ms: u64,
    /// How exactly the service's alarms are kept.
    pub punctuality: Punctuality,
}

/// How exactly a scheduler keeps the alarms of its service ([`ServiceContext::wake_at_ns`](crate::service::ServiceContext::wake_at_ns)). Deadlines of processes are
/// not concerned: they come in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Punctuality {
    /// To a millisecond or two.
    Usual,
    /// To tens of microseconds: what going to sleep and being woken take.
    Exact,
    /// To a microsecond or so: it polls for the last [`Settings::spin_ns`] before an alarm. With alarms that follow one
    /// another more closely than that, the core is always busy.
    Spinning,
}

impl Settings {
    /// What a peer has to take of the output that waits for it.
    pub(super) fn floor(&self) -> Floor {
        Floor { idle_ns: self.send_idle_ns, rate: self.send_rate }
    }
}

impl Default for Settings {
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

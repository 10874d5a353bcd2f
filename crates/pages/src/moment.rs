//! The time and place at which pages run.

use actors::MailMoment;
use runtime::mailbox::Endpoint;

/// The time and place at which pages run.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time of the turn.
    pub now_ns: u64,
    /// The scheduler.
    pub endpoint: Endpoint,
    /// The CPU time that this thread has used, in ns. Rarely read.
    pub thread_cpu_ns: fn() -> u64,
    /// A clock that advances within the turn, in ns. What Lua used is sampled too coarsely to end a turn by it.
    pub clock_ns: fn() -> u64,
}

impl Moment {
    /// The part of it that the mail of processes needs.
    pub(super) fn of_mail(self) -> MailMoment {
        MailMoment { here: self.endpoint, now_ns: self.now_ns }
    }
}

//! Subscribers that do not stay: the storm and the churn of one thread.
//!
//! Owns whose connection is closed, and when. Those that publish stay, because messages that were on their way when a
//! connection is cut may or may not be published.

use runtime::service::SchedulerCommand;

use super::Subscribers;
use super::seats::{Absence, Presence};
use crate::client::ServiceContext;

/// The next act of a thread about it.
#[derive(Debug)]
pub(super) struct Leaving {
    /// Its subscribers in the storm; none is left when it is over.
    storm: Option<u32>,
    /// Nanoseconds between two that leave.
    churn_ns: Option<u64>,
    /// How many have left.
    left: u64,
    random: fastrand::Rng,
}

impl Leaving {
    pub(super) fn new(storm: Option<u32>, churn_per_s: Option<f64>, seed: u64) -> Self {
        let churn_ns = churn_per_s.map(|rate| ((1e9 / rate) as u64).max(1));
        Self { storm, churn_ns, left: 0, random: fastrand::Rng::with_seed(seed) }
    }
}

impl Subscribers {
    /// Closes the connections that are due to be closed. The result is when the next one is.
    pub(super) fn leave(&mut self, context: &mut ServiceContext<'_>) -> Option<u64> {
        let now_ns = context.now.monotonic_ns;
        if self.leaving.storm.is_some() && self.orders.signs.storms() {
            self.cut(context);
        }
        let signs = &self.orders.signs;
        let (begin_ns, end_ns) = (signs.begin_ns(), signs.end_ns());
        // When everything is published, only what is on its way remains to be received.
        let is_publishing =
            (begin_ns..end_ns).contains(&now_ns) && signs.sent() < self.orders.plan.messages;
        let churn_ns = self.leaving.churn_ns.filter(|_| is_publishing)?;
        loop {
            let due_ns = begin_ns + churn_ns.saturating_mul(self.leaving.left + 1);
            if due_ns > now_ns {
                return Some(due_ns);
            }
            self.leaving.left += 1;
            let number = self.leaving.random.u32(0..self.seats.count().max(1));
            self.replace(number, context);
        }
    }

    /// Cuts the connections of the storm.
    fn cut(&mut self, context: &mut ServiceContext<'_>) {
        let Some(wanted) = self.leaving.storm.take() else { return };
        let since_ns = context.now.monotonic_ns;
        let mut cut = 0;
        for number in 0..self.seats.count() {
            if cut == wanted {
                break;
            }
            let Presence::Here(process) = self.seats.seat(number).presence() else { continue };
            if self.publishers.has(number) {
                continue;
            }
            let away = Presence::Away { since_ns, why: Absence::Cut };
            self.seats.seat(number).set_presence(away);
            context.command(SchedulerCommand::Close(process));
            cut += 1;
        }
        self.tally.workload_mut().cut(u64::from(cut));
        self.orders.signs.cut(u64::from(cut), since_ns);
    }

    /// A subscriber leaves, and another one comes.
    fn replace(&mut self, number: u32, context: &mut ServiceContext<'_>) {
        if self.publishers.has(number) {
            return;
        }
        let Presence::Here(process) = self.seats.seat(number).presence() else { return };
        self.settle(number);
        let seat = self.seats.seat(number);
        seat.renew(self.orders.plan.publishers());
        let (since_ns, why) = (context.now.monotonic_ns, Absence::Left);
        seat.set_presence(Presence::Away { since_ns, why });
        self.tally.workload_mut().leave();
        context.command(SchedulerCommand::Close(process));
    }
}

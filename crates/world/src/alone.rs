//! One scheduler of a service in a world, for tests that look at its turns. A [`Stage`](crate::Stage) has several.
//!
//! Owns how it is made, and when it rests.

use runtime::mailbox::{EndpointRole, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::Service;
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::ListenAddress;

use crate::limits::SETTLING_TURNS_MAX;
use crate::{Sim, World};

impl World {
    /// A scheduler that listens at these addresses, and whose mailbox nobody else has.
    ///
    /// # Panics
    /// An address has another listener.
    pub fn scheduler<S: Service>(
        &self,
        service: S,
        settings: SchedulerSettings,
        addresses: &[ListenAddress],
    ) -> Scheduler<Sim, S> {
        let mut seats = mesh(&[EndpointRole::Scheduler], Waking::Driven).expect("a mesh of one");
        let mut scheduler =
            Scheduler::new(self.pollset(0), service, seats.remove(0).mailbox, settings);
        for address in addresses {
            scheduler.listen(&listening_at(address)).expect("nobody else listens there");
        }
        scheduler
    }

    /// Runs turns until nothing is left to do now.
    ///
    /// # Panics
    /// There is always more to do.
    pub fn settle<S: Service>(&self, scheduler: &mut Scheduler<Sim, S>) {
        for _ in 0..SETTLING_TURNS_MAX {
            scheduler.turn(TurnWait::Forbidden).expect("the world does not fail");
            if scheduler.next_due_ns() != Some(0) && !self.is_ready(0) && !scheduler.has_mail() {
                return;
            }
        }
        panic!("it spins");
    }

    /// Runs turns at every time at which something happens, for this long.
    pub fn settle_for<S: Service>(&self, scheduler: &mut Scheduler<Sim, S>, nanoseconds: u64) {
        let until_ns = self.now_ns() + nanoseconds;
        loop {
            self.settle(scheduler);
            let times = [scheduler.next_due_ns(), self.next_event_ns()].into_iter().flatten();
            // An event that is held back is always due now: the time advances nevertheless.
            let next_ns = times.fold(until_ns, u64::min).max(self.now_ns() + 1);
            if next_ns > until_ns {
                return;
            }
            self.advance(next_ns - self.now_ns());
        }
    }
}

/// A listener for clients or servers that may speak first.
pub(crate) fn listening_at(address: &ListenAddress) -> ListenOptions {
    ListenOptions {
        address: address.clone(),
        backlog: 300,
        first: Speaks::Either,
        silent: Silence::Trusted,
    }
}

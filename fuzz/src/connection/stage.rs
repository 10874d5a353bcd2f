//! A scheduler with HTTP on it in a world without faults.
//!
//! Owns its turns and the time. Does not know the expected answers.

use std::net::SocketAddr;
use std::sync::Arc;

use runtime::mailbox::{EndpointRole, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::ListenAddress;
use world::{ClientId, Faults, Sim, World};

use super::application::Echo;
use super::expected::IGNORED_MAX;
use http::{Http, HttpSettings};

/// Turns without an end after which a scheduler counts as spinning.
const TURNS_MAX: usize = 100_000;

/// Deadlines after which a connection counts as never ending.
const DEADLINES_MAX: usize = 1_000;

/// A scheduler and its world.
pub(super) struct Stage {
    pub(super) world: World,
    scheduler: Scheduler<Sim, Http<Echo>>,
}

impl Stage {
    pub(super) fn new() -> Self {
        let world = World::new(1, Faults::none());
        let seats =
            mesh(&[EndpointRole::Scheduler], Waking::Driven).expect("a mesh without descriptors");
        let mailbox = seats.into_iter().next().expect("one was asked for").mailbox;
        let settings = HttpSettings { unread_body_size: IGNORED_MAX, ..HttpSettings::default() };
        let service = Http::new(Echo::default(), Arc::new(settings), None);
        let settings = SchedulerSettings { connections: 4, ..SchedulerSettings::default() };
        let mut scheduler = Scheduler::new(world.pollset(0), service, mailbox, settings);
        let first = Speaks::Either;
        let options =
            ListenOptions { address: address(), backlog: 4, first, silent: Silence::Trusted };
        scheduler.listen(&options).expect("nobody listens there yet");
        Self { world, scheduler }
    }

    pub(super) fn connect(&self) -> ClientId {
        self.world.connect(&address()).expect("somebody listens and has room")
    }

    /// Runs turns until there is nothing to do; returns whether there was anything.
    pub(super) fn turn(&mut self) -> bool {
        for turns in 0..TURNS_MAX {
            if !self.scheduler.turn(TurnWait::Forbidden).expect("a world without faults") {
                return turns > 0;
            }
        }
        panic!("it spins");
    }

    /// Advances the time to each deadline until no connection is left.
    pub(super) fn pass_deadlines(&mut self, mut act: impl FnMut(&mut Self)) {
        for _ in 0..DEADLINES_MAX {
            act(self);
            if self.scheduler.processes() == 0 {
                return;
            }
            let due_ns = self.scheduler.next_due_ns().expect("whoever is left has a deadline");
            self.world.advance(due_ns.saturating_sub(self.world.now_ns()).max(1));
        }
        panic!("a connection lives for ever");
    }

    /// Answers that the service has counted.
    pub(super) fn replies(&mut self) -> u64 {
        self.scheduler.service().stats().requests
    }

    pub(super) fn assert_nothing_is_left(&self) {
        let stats = self.scheduler.stats();
        // The scheduler survives a panic of a handler, so it is checked here.
        assert_eq!(stats.panics, 0, "panics");
        assert_eq!(stats.buffered_bytes, 0, "bytes in buffers");
        assert_eq!(stats.accepts, stats.closed.iter().sum::<u64>(), "accepted and closed");
    }
}

fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)))
}

//! Schedulers of a service in a world of their own: the shortest way to test a service.
//!
//! Owns the schedulers and when they run. The test drives clients and time. There is no real socket, thread or clock,
//! so a test is as fast as its code and the same each time.

use std::time::Duration;

use runtime::mailbox::{EndpointRole, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::Service;
use sys::socket::ListenAddress;

use crate::alone::listening_at;
use crate::limits::{STAGE_CONNECTIONS, STAGE_QUIET_PASSES};
use crate::{ClientId, ClientState, Faults, Sim, World};

/// A service on simulated schedulers, with one listener.
///
/// ```
/// # use http::{App, Response};
/// # use world::Stage;
/// let mut stage = Stage::new(2, || {
///     App::new(()).get("/", |_call| Ok(Response::text("hello"))).into_service()
/// });
/// let client = stage.connect();
/// let answer = stage.exchange(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
/// assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"));
/// ```
pub struct Stage<S: Service> {
    world: World,
    schedulers: Vec<Scheduler<Sim, S>>,
    address: ListenAddress,
}

impl<S: Service> Stage<S> {
    /// This many schedulers, each with its own service, in a network without faults.
    pub fn new(schedulers: usize, make: impl FnMut() -> S) -> Self {
        Self::with_faults(schedulers, 1, Faults::none(), make)
    }

    /// The same in a network with faults drawn from `seed`: short reads and writes, resets, missing descriptors.
    ///
    /// # Panics
    /// There are more schedulers than a mesh may have endpoints.
    pub fn with_faults(
        schedulers: usize,
        seed: u64,
        faults: Faults,
        mut make: impl FnMut() -> S,
    ) -> Self {
        let world = World::new(seed, faults);
        let address = ListenAddress::Tcp(([10, 0, 0, 1], 80).into());
        let seats = mesh(&vec![EndpointRole::Scheduler; schedulers], Waking::Driven);
        let seats = seats.expect("a mesh of that many schedulers");
        let settings =
            SchedulerSettings { connections: STAGE_CONNECTIONS, ..SchedulerSettings::default() };
        let scheduler = |(number, seat): (usize, runtime::mailbox::MailboxSeat<S::Message>)| {
            let pollset = world.pollset(number);
            let mut scheduler = Scheduler::new(pollset, make(), seat.mailbox, settings);
            scheduler.listen(&listening_at(&address)).expect("the world has room for a listener");
            scheduler
        };
        let schedulers = seats.into_iter().enumerate().map(scheduler).collect();
        let mut stage = Self { world, schedulers, address };
        stage.rest();
        stage
    }

    /// The world, for other operations of clients.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The schedulers.
    pub fn schedulers(&mut self) -> &mut [Scheduler<Sim, S>] {
        &mut self.schedulers
    }

    /// Connects a new client.
    ///
    /// # Panics
    /// All schedulers have closed their listeners.
    pub fn connect(&mut self) -> ClientId {
        let client = self.world.connect(&self.address).expect("somebody listens");
        self.rest();
        client
    }

    /// Sends bytes of a client, and runs the schedulers until nothing is left to do.
    pub fn send(&mut self, client: ClientId, bytes: &[u8]) {
        self.world.client_send(client, bytes);
        self.rest();
    }

    /// Takes what the client has received, as text.
    pub fn received(&mut self, client: ClientId) -> String {
        self.rest();
        String::from_utf8_lossy(&self.world.client_received(client)).into_owned()
    }

    /// Sends a text, and returns the answer.
    pub fn exchange(&mut self, client: ClientId, text: &str) -> String {
        self.send(client, text.as_bytes());
        self.received(client)
    }

    /// Whether the server has ended the connection.
    pub fn is_closed(&mut self, client: ClientId) -> bool {
        self.rest();
        self.world.client_state(client) != ClientState::Open
    }

    /// Advances the time, event by event.
    pub fn pass(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let end = self.world.now_ns().saturating_add(nanoseconds);
        while self.world.now_ns() < end {
            let left = end - self.world.now_ns();
            self.world.advance(left.min(1_000_000));
            self.rest();
        }
    }

    /// Runs all schedulers until nothing is left to do. A message takes a turn of both sides.
    ///
    /// # Panics
    /// The simulated pollset fails, which it never does.
    pub fn rest(&mut self) {
        let mut quiet = 0;
        while quiet < STAGE_QUIET_PASSES {
            quiet += 1;
            for scheduler in &mut self.schedulers {
                while scheduler.turn(TurnWait::Forbidden).expect("the world does not fail") {
                    quiet = 0;
                }
            }
        }
    }
}

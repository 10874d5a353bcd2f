//! A scheduler that fetches, and the other servers of its world, played by the test.
//!
//! Owns the time of this stage. Does not know the expected results.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use runtime::scheduler::{Scheduler, SchedulerSettings};
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};
use server::limits::FETCHES;
use sys::connect::RemoteAddress;
use sys::socket::Peer;
use world::{ClientId, Faults, Sim, World};

use client::Outbound;
use pages::fetch::{
    ExchangeFailure, FetchRequest, FetchResult, FetchedAnswer, Got, Number, PageFetches,
    ResponseDelivery,
};

/// A service that only fetches, and keeps the results.
#[derive(Default)]
pub(crate) struct Fetcher {
    client: PageFetches,
    outcomes: Vec<FetchResult>,
    commands: Vec<SchedulerCommand>,
}

/// A message type without values.
#[derive(Debug)]
pub(crate) enum NoMessage {}

impl Service for Fetcher {
    type Process = Box<Outbound>;
    type Message = NoMessage;

    const KINDS: &'static [&'static str] = &["outbound"];

    fn kind(_outbound: &Box<Outbound>) -> usize {
        0
    }

    fn is_idle(outbound: &Box<Outbound>) -> bool {
        outbound.is_idle()
    }

    fn on_accept(
        &mut self,
        _listener: ListenerIndex,
        _peer: Peer,
        _context: &mut Context<'_, NoMessage>,
    ) -> Option<Box<Outbound>> {
        None
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_, NoMessage>,
    ) -> Option<Box<Outbound>> {
        self.client.exchanges().on_connect(ticket, begun, context).map(Box::new)
    }

    fn on_input(
        &mut self,
        outbound: &mut Box<Outbound>,
        input: &[u8],
        context: &mut Context<'_, NoMessage>,
    ) -> Progress {
        outbound.on_input(self.client.exchanges(), input, context)
    }

    fn on_event(
        &mut self,
        outbound: &mut Box<Outbound>,
        event: Event,
        context: &mut Context<'_, NoMessage>,
    ) -> Next {
        outbound.on_event(self.client.exchanges(), event, context)
    }

    fn on_close(&mut self, outbound: Box<Outbound>, reason: CloseReason) {
        outbound.on_close(self.client.exchanges(), reason);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, NoMessage>) {
        self.outcomes.extend(self.client.outcomes(context.now.monotonic_ns));
        for command in self.commands.drain(..) {
            context.command(command);
        }
        self.client.end_turn(context);
    }
}

/// A scheduler in a world with another server at [`remote`].
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) scheduler: Scheduler<Sim, Fetcher>,
    /// The tests' names for fetches.
    names: Vec<(Number, u64)>,
    /// The received parts of answers that are read piece by piece.
    parts: BTreeMap<u64, FetchedAnswer>,
}

/// The address of the other server.
pub(crate) fn remote() -> RemoteAddress {
    address([10, 0, 0, 9])
}

pub(crate) fn address(ip: [u8; 4]) -> RemoteAddress {
    RemoteAddress::Tcp(SocketAddr::from((ip, 80)))
}

/// A GET request to it.
pub(crate) fn get(path: &str) -> FetchRequest {
    FetchRequest {
        method: "GET".into(),
        url: format!("http://10.0.0.9{path}").into_bytes(),
        fields: Vec::new(),
        body: None,
        timeout: Duration::from_secs(10),
        ..FetchRequest::default()
    }
}

/// The same with the answer piece by piece.
pub(crate) fn get_pieces(path: &str) -> FetchRequest {
    FetchRequest { wanted: ResponseDelivery::Pieces, ..get(path) }
}

impl Stage {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        let world = World::new(seed, faults);
        let settings = SchedulerSettings { connections: 2000, ..SchedulerSettings::default() };
        let scheduler = world.scheduler(Fetcher::default(), settings, &[]);
        world.listen_remote(&remote());
        Self { world, scheduler, names: Vec::new(), parts: BTreeMap::new() }
    }

    pub(crate) fn client(&mut self) -> &mut PageFetches {
        &mut self.scheduler.service().client
    }

    /// Begins a fetch and runs turns until there is nothing to do.
    pub(crate) fn begin(&mut self, name: u64, asked: &FetchRequest) {
        self.begin_only(name, asked);
        self.turn();
    }

    /// Begins a fetch.
    pub(crate) fn begin_only(&mut self, name: u64, asked: &FetchRequest) {
        let now_ns = self.world.now_ns();
        let number = self.client().begin(asked, now_ns);
        self.names.push((number, name));
    }

    /// Cancels a fetch.
    pub(crate) fn give_up(&mut self, name: u64) {
        let number = self.number_of(name);
        self.parts.remove(&name);
        self.client().give_up(number);
    }

    pub(crate) fn learn(&mut self, name: &str, addresses: Option<&[IpAddr]>) {
        let now_ns = self.world.now_ns();
        self.client().exchanges().learn(&name.into(), addresses.map(Into::into), now_ns);
        self.turn();
    }

    pub(crate) fn drain(&mut self) {
        let command = SchedulerCommand::Drain { deadline_ms: 10_000, idle_grace_ms: 5_000 };
        self.scheduler.service().commands.push(command);
        self.turn();
    }

    pub(crate) fn turn(&mut self) {
        self.world.settle(&mut self.scheduler);
    }

    /// Runs turns at every time at which something happens, for this long.
    pub(crate) fn turn_for(&mut self, nanoseconds: u64) {
        self.world.settle_for(&mut self.scheduler, nanoseconds);
    }

    /// The other end of a new connection.
    pub(crate) fn accept(&mut self) -> ClientId {
        self.accepted().expect("a connection waits at the remote")
    }

    /// The same, if there is one.
    pub(crate) fn accepted(&mut self) -> Option<ClientId> {
        self.world.accept_remote(&remote()).map(|(client, _)| client)
    }

    /// The text received at the other end.
    pub(crate) fn received(&self, client: ClientId) -> String {
        String::from_utf8(self.world.client_received(client)).unwrap()
    }

    pub(crate) fn answer(&mut self, client: ClientId, bytes: &[u8]) {
        self.world.client_send(client, bytes);
        self.turn();
    }

    /// The results of fetches since the last call. Answers that come piece by piece are read further, and are returned
    /// when they are complete.
    pub(crate) fn outcomes(&mut self) -> Vec<(u64, Result<FetchedAnswer, ExchangeFailure>)> {
        let mut outcomes = Vec::new();
        for (name, result) in self.gots() {
            let more = match result {
                Ok(Got::Whole(answer)) => {
                    outcomes.push((name, Ok(answer)));
                    continue;
                }
                Ok(Got::Head(answer)) => {
                    assert!(self.parts.insert(name, answer).is_none(), "one head");
                    continue;
                }
                Ok(Got::Piece(piece)) => piece,
                Ok(Got::End) => {
                    outcomes.push((name, Ok(self.parts.remove(&name).expect("its head was here"))));
                    continue;
                }
                Err(failure) => {
                    self.parts.remove(&name);
                    outcomes.push((name, Err(failure)));
                    continue;
                }
            };
            assert!(!more.is_empty(), "a piece has bytes");
            self.parts.get_mut(&name).expect("its head was here").body.extend(more);
        }
        outcomes
    }

    /// Runs turns, and returns the results.
    pub(crate) fn outcomes_of_turn(
        &mut self,
    ) -> Vec<(u64, Result<FetchedAnswer, ExchangeFailure>)> {
        self.turn();
        self.outcomes()
    }

    /// Reads further in all answers whose head has arrived.
    pub(crate) fn read_on(&mut self) {
        let names: Vec<u64> = self.parts.keys().copied().collect();
        names.into_iter().for_each(|name| self.read_on_in(name));
    }

    /// Reads further in one answer.
    pub(crate) fn read_on_in(&mut self, name: u64) {
        let now_ns = self.world.now_ns();
        let number = self.number_of(name);
        self.client().read_on(number, now_ns);
    }

    fn number_of(&self, name: u64) -> Number {
        self.names.iter().rfind(|(_, of)| *of == name).expect("it was begun").0
    }

    /// The events of fetches since the last call, as they came.
    pub(crate) fn gots(&mut self) -> Vec<(u64, Result<Got, ExchangeFailure>)> {
        let outcomes = std::mem::take(&mut self.scheduler.service().outcomes);
        let name_of =
            |number| self.names.iter().find(|(of, _)| *of == number).expect("it was begun").1;
        outcomes.into_iter().map(|(number, result)| (name_of(number), result)).collect()
    }

    /// The number of running fetches, measured by how many more are accepted.
    pub(crate) fn under_way(&mut self) -> usize {
        let now_ns = self.world.now_ns();
        let probe = FetchRequest { url: b"http://probe.test/".into(), ..get("/") };
        let client = self.client();
        let probes = (0..FETCHES).map(|_| client.begin(&probe, now_ns));
        let probes: Vec<Number> = probes.collect();
        let outcomes = client.outcomes(now_ns);
        for number in &probes {
            client.give_up(*number);
        }
        client.exchanges().questions().retain(|name| **name != *"probe.test");
        let is_of_probe =
            |(number, _): &FetchResult| probes.first().is_some_and(|first| number >= first);
        let (refused, others): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(is_of_probe);
        assert!(refused.iter().all(|(_, outcome)| *outcome == Err(ExchangeFailure::TooMany)));
        self.scheduler.service().outcomes.extend(others);
        refused.len()
    }

    /// Living processes that are outbound connections.
    pub(crate) fn outbound(&self) -> u64 {
        self.scheduler.stats().processes[0]
    }
}

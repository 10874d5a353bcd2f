//! A scheduler whose service makes requests, and the other servers of its world, played by the test.
//!
//! Owns the time of this stage. Does not know the expected results.

use std::io;
use std::rc::Rc;

use client::{
    Anywhere, Client, ExchangeId, ExchangeNews, Outbound, OutgoingRequest, Requester, Url,
};
use runtime::Peer;
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::{
    Beginning, CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use runtime::transport::{Resumption, Transport, Violation};
use sys::connect::RemoteAddress;
use world::{ClientId, Faults, Sim, World};

/// A service that only makes requests.
#[derive(Default)]
pub(crate) struct Caller {
    pub(crate) client: Client,
    /// How the keys of each connection with TLS came about.
    pub(crate) resumptions: Vec<Resumption>,
}

impl Service for Caller {
    type Process = Box<Outbound>;
    type Message = ();

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
        _context: &mut Context<'_, ()>,
    ) -> Option<Box<Outbound>> {
        None
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_, ()>,
    ) -> Option<Box<Outbound>> {
        self.client.on_connect(ticket, begun, context).map(Box::new)
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        match beginning {
            Beginning::Accepted { .. } => None,
            Beginning::Connecting { ticket } => self.client.transport(ticket),
        }
    }

    fn on_agreed(&mut self, outbound: &mut Box<Outbound>, context: &mut Context<'_, ()>) -> Next {
        self.resumptions.push(context.agreed().unwrap().resumption);
        outbound.on_agreed(&mut self.client, context)
    }

    fn on_handshake_failed(
        &mut self,
        outbound: &mut Box<Outbound>,
        why: Violation,
        context: &mut Context<'_, ()>,
    ) {
        outbound.on_handshake_failed(&mut self.client, why, context.now.monotonic_ns);
    }

    fn on_transport_failed(
        &mut self,
        outbound: &mut Box<Outbound>,
        why: Violation,
        _: &mut Context<'_, ()>,
    ) {
        outbound.on_transport_failed(&mut self.client, why);
    }

    fn on_input(
        &mut self,
        outbound: &mut Box<Outbound>,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        outbound.on_input(&mut self.client, input, context)
    }

    fn on_event(
        &mut self,
        outbound: &mut Box<Outbound>,
        event: Event,
        context: &mut Context<'_, ()>,
    ) -> Next {
        outbound.on_event(&mut self.client, event, context)
    }

    fn on_close(&mut self, outbound: Box<Outbound>, reason: CloseReason) {
        outbound.on_close(&mut self.client, reason);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        self.client.end_turn(context);
    }
}

/// A scheduler in a world with another server at [`remote`].
pub(crate) struct Calls {
    pub(crate) world: World,
    pub(crate) scheduler: Scheduler<Sim, Caller>,
}

/// The address of the other server.
pub(crate) fn remote() -> RemoteAddress {
    RemoteAddress::Tcp(([10, 0, 0, 9], 80).into())
}

/// A request to it.
pub(crate) fn request(method: &str, path: &str) -> OutgoingRequest {
    let url = Url::parse(format!("http://10.0.0.9{path}").as_bytes()).unwrap();
    OutgoingRequest::new(method, url, Rc::new(Anywhere), Requester::Service)
}

impl Calls {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        let world = World::new(seed, faults);
        let settings = SchedulerSettings { connections: 2000, ..SchedulerSettings::default() };
        let scheduler = world.scheduler(Caller::default(), settings, &[]);
        world.listen_remote(&remote());
        Self { world, scheduler }
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.scheduler.service().client
    }

    /// Begins an exchange and runs turns until there is nothing to do.
    pub(crate) fn begin(&mut self, request: OutgoingRequest) -> ExchangeId {
        let now_ns = self.world.now_ns();
        let id = self.client().begin(request, now_ns).unwrap();
        self.turn();
        id
    }

    pub(crate) fn turn(&mut self) {
        for _ in 0..100_000 {
            self.scheduler.turn(TurnWait::Forbidden).unwrap();
            if self.scheduler.next_due_ns() != Some(0) && !self.world.is_ready(0) {
                return;
            }
            if !self.scheduler.service().client.heard(self.world.now_ns()).is_empty() {
                continue;
            }
        }
        panic!("it spins");
    }

    /// Runs turns at every time at which something happens, for this long.
    pub(crate) fn pass_ms(&mut self, milliseconds: u64) {
        let until_ns = self.world.now_ns() + milliseconds * 1_000_000;
        loop {
            self.turn();
            let times = [self.scheduler.next_due_ns(), self.world.next_event_ns(), Some(until_ns)];
            let next_ns = times.into_iter().flatten().min().unwrap().max(self.world.now_ns() + 1);
            if next_ns > until_ns {
                return;
            }
            self.world.advance(next_ns - self.world.now_ns());
        }
    }

    /// The other end of a new connection, if there is one.
    pub(crate) fn accept(&mut self) -> Option<ClientId> {
        self.turn();
        self.world.accept_remote(&remote()).map(|(client, _)| client)
    }

    pub(crate) fn received(&mut self, server: ClientId) -> String {
        self.turn();
        String::from_utf8_lossy(&self.world.client_received(server)).into_owned()
    }

    pub(crate) fn answer(&mut self, server: ClientId, bytes: &[u8]) {
        self.world.client_send(server, bytes);
        self.turn();
    }

    /// All news of an exchange, with at most this many bytes of a body at a time.
    pub(crate) fn news(&mut self, id: ExchangeId, most: usize) -> Vec<ExchangeNews> {
        self.turn();
        let now_ns = self.world.now_ns();
        let client = self.client();
        let news = std::iter::from_fn(|| client.next(id, most, now_ns)).collect();
        self.turn();
        news
    }
}

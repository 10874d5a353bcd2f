//! Connections that a service makes through a transport: it asks for a server name and offers protocols, and learns
//! what was agreed.

use std::io::ErrorKind;
use std::net::SocketAddr;

use runtime::RemoteAddress;
use runtime::scheduler::{Scheduler, SchedulerSettings};
use runtime::service::{
    Beginning, CloseReason, Connect, Context, Event, ListenerIndex, Next, Progress,
    SchedulerCommand, Service, ServiceContext,
};
use runtime::transport::{Transport, Violation};
use sys::socket::Peer;
use world::{ClientId, Faults, Random, Sim, World};

use crate::layers::scramble::{NAME, Scramble};

/// Makes one connection, says something once the handshake is over, and collects the answer.
#[derive(Default)]
struct Caller {
    is_connected: bool,
    agreed: Option<(Vec<u8>, String, Vec<u8>)>,
    failure: Option<Violation>,
    heard: Vec<u8>,
    closed: Option<CloseReason>,
    text: Vec<u8>,
}

impl Service for Caller {
    type Process = ();
    type Message = ();
    const KINDS: &'static [&'static str] = &["call"];

    fn kind(_: &()) -> usize {
        0
    }

    fn is_idle(_: &()) -> bool {
        false
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, ()>) {
        context.command(SchedulerCommand::Connect(Connect { to: remote(), from: None, ticket: 7 }));
    }

    fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, ()>) -> Option<()> {
        None
    }

    fn on_connect(
        &mut self,
        _: u64,
        begun: Result<(), ErrorKind>,
        context: &mut Context<'_, ()>,
    ) -> Option<()> {
        context.set_deadline_after_ms(20_000);
        begun.ok()
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        assert_eq!(beginning, Beginning::Connecting { ticket: 7 });
        Some(Box::new(Scramble::client(NAME, &["strange", "quiet"])))
    }

    fn on_agreed(&mut self, (): &mut (), context: &mut Context<'_, ()>) -> Next {
        assert!(self.is_connected);
        let agreed = context.agreed().unwrap();
        self.agreed = Some((
            agreed.protocol.clone().unwrap().to_vec(),
            agreed.server_name.clone().unwrap().to_string(),
            agreed.peer_certificate.clone().unwrap().to_vec(),
        ));
        context.output.put(&self.text);
        Next::Read
    }

    fn on_handshake_failed(&mut self, (): &mut (), why: Violation, _: &mut Context<'_, ()>) {
        self.failure = Some(why);
    }

    fn on_input(&mut self, (): &mut (), input: &[u8], _: &mut Context<'_, ()>) -> Progress {
        self.heard.extend_from_slice(input);
        Progress { consumed: input.len(), next: Next::Read }
    }

    fn on_event(&mut self, (): &mut (), event: Event, context: &mut Context<'_, ()>) -> Next {
        match event {
            Event::Connected => {
                assert!(context.agreed().is_none());
                self.is_connected = true;
                Next::Read
            }
            Event::InputEnded => Next::Finish,
            Event::DeadlineReached => Next::Abort,
            _ => Next::Read,
        }
    }

    fn on_close(&mut self, (): (), reason: CloseReason) {
        self.closed = Some(reason);
    }
}

fn remote() -> RemoteAddress {
    RemoteAddress::Tcp(SocketAddr::from(([10, 0, 0, 9], 443)))
}

struct Stage {
    world: World,
    scheduler: Scheduler<Sim, Caller>,
    server: Option<ClientId>,
    transport: Scramble,
    heard: Vec<u8>,
}

impl Stage {
    fn new(seed: u64, faults: Faults, text: &[u8]) -> Self {
        let world = World::new(seed, faults);
        world.listen_remote(&remote());
        let caller = Caller { text: text.to_vec(), ..Caller::default() };
        let scheduler = world.scheduler(caller, SchedulerSettings::default(), &[]);
        Self { world, scheduler, server: None, transport: Scramble::server(), heard: Vec::new() }
    }

    /// Runs the scheduler, and the server that sends everything back and ends after a `q`.
    fn step(&mut self) {
        self.world.settle(&mut self.scheduler);
        self.server =
            self.server.or_else(|| self.world.accept_remote(&remote()).map(|(server, _)| server));
        let Some(server) = self.server else { return };
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        let mut received = self.world.client_received(server);
        self.transport.open(&mut received, &mut plain, &mut wire).unwrap();
        if !plain.is_empty() {
            self.transport.seal(&plain, &mut wire).unwrap();
        }
        if plain.contains(&b'q') {
            self.transport.end(&mut wire);
        }
        self.heard.extend(plain);
        self.world.client_send(server, &wire);
    }
}

#[test]
fn agreement_is_told_before_either_side_gets_bytes_in_any_network() {
    let mut whole = 0;
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let faults = if seed == 0 { Faults::none() } else { Faults::drawn(&mut random) };
        let mut text: Vec<u8> = (0..random.index(20_000)).map(|at| (at % 100) as u8).collect();
        text.push(b'q');
        let mut stage = Stage::new(seed, faults, &text);
        for _ in 0..1_000 {
            stage.step();
            stage.world.advance(1 + random.below(30_000_000));
        }
        let (caller, heard) = (stage.scheduler.service(), &stage.heard);
        assert!(text.starts_with(heard) && text.starts_with(&caller.heard), "seed {seed}");
        if let Some((protocol, name, certificate)) = &caller.agreed {
            assert_eq!((&**protocol, &**name), (&b"quiet"[..], NAME));
            assert_eq!(certificate, b"certificate of velodrome.example");
        }
        if caller.closed == Some(CloseReason::Finished) {
            assert!(
                caller.heard == text,
                "seed {seed}: an end that is said comes after everything"
            );
            whole += 1;
        }
        assert!(seed != 0 || whole == 1);
        assert_eq!((stage.scheduler.processes(), stage.scheduler.extras()), (0, 0), "seed {seed}");
        assert_eq!(stage.scheduler.stats().buffered_bytes, 0);
    }
    assert!(whole > 50, "{whole} of 100 came to their end");
}

#[test]
fn a_server_that_breaks_the_handshake_is_told_apart_from_one_that_is_not_there() {
    let mut stage = Stage::new(1, Faults::none(), b"q");
    stage.world.settle(&mut stage.scheduler);
    let (server, _) = stage.world.accept_remote(&remote()).unwrap();
    stage.world.client_send(server, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    stage.world.settle(&mut stage.scheduler);
    let stats = stage.scheduler.stats();
    assert_eq!((stats.handshakes, stats.handshakes_failed, stats.connects_failed), (0, 1, 0));
    let caller = stage.scheduler.service();
    assert!(caller.is_connected && caller.agreed.is_none());
    assert_eq!(caller.failure, Some(Violation::Protocol));
    assert_eq!(caller.closed, Some(CloseReason::Failed));
    assert_eq!((stage.scheduler.processes(), stage.scheduler.extras()), (0, 0));
}

#[test]
fn a_server_that_refuses_after_the_caller_has_agreed_is_told_with_its_alert_until_it_has_sent_something()
 {
    for (text, expected) in [(&b""[..], Some(Violation::Alert(116))), (b"hello", None)] {
        let mut stage = Stage::new(1, Faults::none(), text);
        for _ in 0..100 {
            stage.step();
            stage.world.advance(1_000_000);
        }
        assert!(stage.scheduler.service().agreed.is_some());
        assert_eq!(stage.scheduler.service().heard, text);
        let mut wire = Vec::new();
        stage.transport.alert(116, &mut wire);
        stage.world.client_send(stage.server.unwrap(), &wire);
        stage.world.settle(&mut stage.scheduler);
        let caller = stage.scheduler.service();
        assert_eq!((caller.failure, caller.closed), (expected, Some(CloseReason::Failed)));
        assert_eq!((stage.scheduler.processes(), stage.scheduler.extras()), (0, 0));
    }
}

//! A transport between socket and process, in the simulated world: the process sees plain bytes, whatever the network
//! does.

mod client;
mod handshakes;
mod outbound;
mod posting;
mod scramble;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::rc::Rc;

use runtime::RemoteAddress;
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::{
    Beginning, CloseReason, Connect, Context, Event, ListenerIndex, Next, Progress,
    SchedulerCommand, Service, ServiceContext,
};
use runtime::slots::ProcessId;
use runtime::transport::{Transport, Violation};
use sys::socket::{ListenAddress, Peer};
use world::{ALWAYS, ClientId, ClientState, Faults, Random, Sim, Stall, World};

use client::Client;
use scramble::{NAME, Scramble};

/// The ports: with a layer and a greeting, without a layer, with a layer and silent until it receives something.
const PORTS: [u16; 3] = [443, 80, 8443];

/// The greeting of the process, before any input.
const GREETING: &[u8] = b"welcome\n";

/// Greets, and echoes everything in capitals; ends after a `q` with `BYE`.
#[derive(Default)]
struct Shout {
    heard: Vec<u8>,
    /// The agreements: protocol, server name.
    agreed: Vec<(String, String)>,
    failures: Vec<Violation>,
    /// Why connections failed after their handshakes.
    broken: Vec<Violation>,
    /// Connections that it makes when it starts, to a remote that stays silent.
    calls: u64,
    /// The client whose unread bytes a `?` counts.
    watched: Option<(World, ClientId)>,
    ids: Vec<ProcessId>,
    /// A text that is posted to all of them at the end of the turn.
    posts: Option<Rc<[u8]>>,
}

/// A connection, before and after its handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Handshaking,
    Speaking,
}

impl Service for Shout {
    type Process = Kind;
    type Message = ();

    const KINDS: &'static [&'static str] = &["handshaking", "speaking"];

    fn kind(kind: &Kind) -> usize {
        *kind as usize
    }

    fn is_idle(_: &Kind) -> bool {
        false
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, ()>) {
        for ticket in 0..self.calls {
            context.command(SchedulerCommand::Connect(Connect {
                to: remote(),
                from: None,
                ticket,
            }));
        }
    }

    fn on_connect(
        &mut self,
        _: u64,
        begun: Result<(), ErrorKind>,
        _: &mut Context<'_, ()>,
    ) -> Option<Kind> {
        begun.ok().map(|()| Kind::Handshaking)
    }

    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        _: Peer,
        context: &mut Context<'_, ()>,
    ) -> Option<Kind> {
        if listener.0 < 2 {
            context.output.put(GREETING);
        }
        context.set_deadline_after_ms(60_000);
        self.ids.push(context.id);
        Some(if listener.0 == 1 { Kind::Speaking } else { Kind::Handshaking })
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        match beginning {
            Beginning::Accepted { listener: ListenerIndex(1), .. } => None,
            Beginning::Accepted { .. } => Some(Box::new(Scramble::server())),
            Beginning::Connecting { .. } => Some(Box::new(Scramble::client(NAME, &["quiet"]))),
        }
    }

    fn on_agreed(&mut self, kind: &mut Kind, context: &mut Context<'_, ()>) -> Next {
        let agreed = context.agreed().unwrap();
        let protocol = String::from_utf8(agreed.protocol.clone().unwrap().to_vec()).unwrap();
        self.agreed.push((protocol, agreed.server_name.clone().unwrap().to_string()));
        *kind = Kind::Speaking;
        Next::Changed
    }

    fn on_handshake_failed(&mut self, kind: &mut Kind, why: Violation, _: &mut Context<'_, ()>) {
        assert!(*kind == Kind::Handshaking);
        self.failures.push(why);
    }

    fn on_transport_failed(&mut self, kind: &mut Kind, why: Violation, _: &mut Context<'_, ()>) {
        assert!(*kind == Kind::Speaking);
        self.broken.push(why);
    }

    fn on_input(
        &mut self,
        kind: &mut Kind,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        assert!(*kind == Kind::Speaking, "input comes after the handshake");
        if context.output_is_full() {
            return Progress { consumed: 0, next: Next::Park };
        }
        self.heard.extend_from_slice(input);
        if input == b"?"
            && let Some((world, client)) = &self.watched
        {
            let seen = world.client_received(*client).len();
            context.output.put(format!("{seen} bytes").as_bytes());
        }
        context.output.put(&input.to_ascii_uppercase());
        if input.contains(&b'q') {
            context.output.put(b"BYE");
            return Progress { consumed: input.len(), next: Next::Linger };
        }
        Progress { consumed: input.len(), next: Next::Read }
    }

    fn on_event(&mut self, _: &mut Kind, event: Event, _: &mut Context<'_, ()>) -> Next {
        match event {
            Event::InputEnded | Event::DeadlineReached => Next::Finish,
            _ => Next::Read,
        }
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        if let Some(text) = self.posts.take() {
            for id in &self.ids {
                context.queue(*id, &text, usize::MAX).unwrap();
            }
        }
    }
}

struct Stage {
    world: World,
    scheduler: Scheduler<Sim, Shout>,
}

impl Stage {
    fn new(seed: u64, faults: Faults) -> Self {
        Self::of(World::new(seed, faults), Shout::default(), 100)
    }

    /// One with this service and at most this many connections.
    fn of(world: World, shout: Shout, connections: usize) -> Self {
        let settings = SchedulerSettings { connections, ..SchedulerSettings::default() };
        let scheduler = world.scheduler(shout, settings, &PORTS.map(address));
        world.listen_remote(&remote());
        Self { world, scheduler }
    }

    fn rest(&mut self) {
        self.world.settle(&mut self.scheduler);
    }

    fn talk(&mut self, client: &mut Client) {
        for _ in 0..20 {
            self.rest();
            client.step(&self.world);
        }
    }

    fn closed(&self, reason: CloseReason) -> u64 {
        self.scheduler.stats().closed[reason as usize]
    }

    fn assert_nothing_is_left(&self) {
        assert_eq!((self.scheduler.processes(), self.scheduler.extras()), (0, 0));
        let stats = self.scheduler.stats();
        assert_eq!((stats.buffered_bytes, stats.handshakes_under_way), (0, 0));
    }
}

fn remote() -> RemoteAddress {
    RemoteAddress::Tcp(SocketAddr::from(([10, 0, 0, 9], 443)))
}

fn address(port: u16) -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], port)))
}

#[test]
fn the_process_sees_plain_bytes_and_both_ends_are_said() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = Client::enter(&stage.world, 443).unwrap();
    stage.talk(&mut client);
    assert_eq!(client.heard, GREETING, "it was said before the handshake was over");
    client.say(&stage.world, b"hello");
    stage.talk(&mut client);
    assert_eq!(client.heard, b"welcome\nHELLO");
    assert_eq!(stage.scheduler.service().heard, b"hello");
    let agreed = [("quiet".to_owned(), NAME.to_owned())];
    assert_eq!(stage.scheduler.service().agreed, agreed);
    assert_eq!(stage.scheduler.stats().processes[..2], [0, 1], "it has become another kind");
    client.say(&stage.world, b"q");
    stage.talk(&mut client);
    assert_eq!(client.heard, b"welcome\nHELLOQBYE");
    assert!(client.transport.has_ended(), "the server says its end");
    assert_eq!(stage.world.client_state(client.id), ClientState::EndedByServer);
    stage.world.client_close(client.id);
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn an_end_that_is_said_is_one_and_one_that_is_not_is_a_failure() {
    let mut stage = Stage::new(1, Faults::none());
    let mut said = Client::enter(&stage.world, 443).unwrap();
    let mut cut = Client::enter(&stage.world, 443).unwrap();
    stage.talk(&mut said);
    stage.talk(&mut cut);
    said.say(&stage.world, b"last");
    said.end(&stage.world);
    stage.talk(&mut said);
    assert_eq!(stage.closed(CloseReason::Finished), 1);
    assert_eq!(said.heard, b"welcome\nLAST");
    assert!(said.transport.has_ended());
    assert_eq!(stage.scheduler.service().broken, []);
    stage.world.client_end_output(cut.id);
    stage.rest();
    assert_eq!(stage.closed(CloseReason::Failed), 1);
    assert_eq!(stage.scheduler.service().broken, [Violation::Cut]);
    stage.assert_nothing_is_left();
}

#[test]
fn nonsense_ends_the_connection_and_other_listeners_have_no_layer() {
    let mut stage = Stage::new(1, Faults::none());
    let stranger = stage.world.connect(&address(443)).unwrap();
    stage.world.client_send(stranger, b"GET / HTTP/1.1\r\n\r\n");
    let plain = stage.world.connect(&address(80)).unwrap();
    stage.world.client_send(plain, b"plain");
    stage.rest();
    assert_eq!(stage.closed(CloseReason::Failed), 1);
    assert_eq!(stage.scheduler.service().failures, [Violation::Protocol]);
    assert_eq!(stage.scheduler.stats().handshakes_failed, 1);
    assert_eq!(stage.world.client_received(plain), b"welcome\nPLAIN");
    stage.world.client_close(plain);
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn an_idle_connection_holds_no_bytes_and_its_deadline_runs_during_the_handshake() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = Client::enter(&stage.world, 8443).unwrap();
    stage.talk(&mut client);
    client.say(&stage.world, &[b'x'; 50_000]);
    stage.talk(&mut client);
    assert_eq!(client.heard.len(), 50_000);
    assert_eq!(stage.scheduler.stats().buffered_bytes, 0);
    let silent = stage.world.connect(&address(8443)).unwrap();
    stage.rest();
    stage.world.advance(61_000_000_000);
    stage.rest();
    assert_ne!(stage.world.client_state(silent), ClientState::Open);
    stage.assert_nothing_is_left();
}

#[test]
fn a_client_that_stops_reading_in_the_handshake_holds_nothing_up_and_goes_on_later() {
    let mut held = 0;
    for (port, greeting) in [(443, GREETING), (8443, b"")] {
        let tiny = Faults { small_buffer: ALWAYS, ..Faults::none() };
        let mut stage = Stage::new(1, tiny);
        let mut client = Client::enter(&stage.world, port).unwrap();
        stage.world.client_stall(client.id, Stall::Reading);
        stage.rest();
        client.step(&stage.world);
        assert!(!client.transport.is_ready());
        held += stage.scheduler.stats().buffered_bytes;
        stage.world.client_stall(client.id, Stall::Nothing);
        stage.talk(&mut client);
        assert_eq!(client.heard, greeting);
        client.say(&stage.world, &[b'x'; 50_000]);
        client.say(&stage.world, b"q");
        for _ in 0..20 {
            stage.talk(&mut client);
        }
        assert_eq!(client.heard.len(), greeting.len() + 50_004);
        assert!(client.transport.has_ended());
    }
    assert!(held > 0, "what waits for the client is counted");
}

#[test]
fn everything_comes_through_whatever_the_network_does() {
    let mut whole = 0;
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let mut stage = Stage::new(seed, Faults::drawn(&mut random));
        let (port, greeting) =
            if random.below(2) == 0 { (443, GREETING) } else { (8443, &b""[..]) };
        let mut clients: Vec<Client> =
            (0..3).filter_map(|_| Client::enter(&stage.world, port)).collect();
        let text = |length: usize| (0..length).map(|at| b'a' + (at % 16) as u8).collect();
        let said: Vec<Vec<u8>> = clients.iter().map(|_| text(random.index(30_000))).collect();
        for turn in 0..3_000 {
            stage.world.advance(random.below(3_000_000));
            stage.scheduler.turn(TurnWait::Forbidden).unwrap();
            for (client, text) in clients.iter_mut().zip(&said) {
                let piece = text.len() / 10 + 1;
                if turn % 20 == 0
                    && let Some(next) = text.chunks(piece).nth(turn / 20)
                {
                    client.say(&stage.world, next);
                }
                if turn == 400 {
                    client.say(&stage.world, b"q");
                }
                client.step(&stage.world);
            }
        }
        for _ in 0..200 {
            stage.world.advance(100_000_000);
            stage.rest();
            clients.iter_mut().for_each(|client| client.step(&stage.world));
        }
        for (client, text) in clients.iter().zip(&said) {
            let state = stage.world.client_state(client.id);
            assert_ne!(state, ClientState::Open, "seed {seed}: it hangs");
            let expected = [greeting, &text.to_ascii_uppercase(), b"QBYE"].concat();
            assert!(
                expected.starts_with(&client.heard),
                "seed {seed}: {} bytes",
                client.heard.len()
            );
            if client.transport.has_ended() {
                assert_eq!(client.heard.len(), expected.len(), "seed {seed}: nothing is cut");
                whole += 1;
            }
            if state == ClientState::EndedByServer {
                assert!(client.transport.has_ended(), "seed {seed}: its end is said");
            }
            stage.world.client_close(client.id);
        }
        for _ in 0..300 {
            stage.world.advance(1_000_000_000);
            stage.rest();
        }
        stage.assert_nothing_is_left();
    }
    assert!(whole > 700, "{whole} of 1,200 came to their end");
}

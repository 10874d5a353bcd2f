//! A scheduler in a world of its own, and a small line-based service.

use std::net::{IpAddr, SocketAddr};

use runtime::mailbox::{Endpoint, EndpointRole, Mailbox, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings};
use runtime::service::{
    Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service, ServiceContext,
};
use runtime::slots::ProcessId;
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::{ListenAddress, Peer};
use world::{ClientId, Faults, Sim, World};

/// Answers each line; some lines are commands.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) messages: u64,
    /// A client whose received bytes a line can request, and its world.
    pub(crate) watched: Option<(World, ClientId)>,
    /// The process that parked last.
    parked: Option<ProcessId>,
    /// The process that ran: one with input, or one that was resumed.
    pub(crate) ran: Vec<Ran>,
    turn_ends: u64,
    most_at_once: usize,
}

/// The state of a connection.
pub(crate) struct Talk {
    client: IpAddr,
    /// Bytes that it says it holds, as a line has asked for.
    held: usize,
    /// Whether it goes on when there is no memory for it.
    is_stubborn: bool,
}

impl Talk {
    /// Holds as many bytes as a line says, if it says so. Returns the answer.
    fn hold(&mut self, line: &[u8]) -> Option<&'static [u8]> {
        self.held = std::str::from_utf8(line.strip_prefix(b"hold ")?).ok()?.parse().ok()?;
        Some(b"held")
    }
}

pub(crate) const LONG_ANSWER: usize = 60_000;

/// The message upon which the process that parked last is resumed.
pub(crate) const RESUME: u32 = u32::MAX;

/// Why a process ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    WithInput,
    Resumed,
}

impl Service for Lines {
    type Process = Talk;
    type Message = u32;

    const KINDS: &'static [&'static str] = &["lines"];

    fn kind(_: &Talk) -> usize {
        0
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        peer: Peer,
        _: &mut Context<'_, u32>,
    ) -> Option<Talk> {
        Some(Talk { client: peer.address, held: 0, is_stubborn: false })
    }

    fn held_bytes(talk: &Talk) -> usize {
        talk.held
    }

    fn client(talk: &Talk) -> Option<IpAddr> {
        Some(talk.client)
    }

    fn on_input(
        &mut self,
        talk: &mut Talk,
        input: &[u8],
        context: &mut Context<'_, u32>,
    ) -> Progress {
        self.ran.push(Ran::WithInput);
        let mut consumed = 0;
        while let Some(length) = input[consumed..].iter().position(|byte| *byte == b'\n') {
            if context.output_is_full() {
                return Progress { consumed, next: Next::Park };
            }
            let line = &input[consumed..consumed + length];
            consumed += length + 1;
            match line {
                b"panic" => panic!("the line says so"),
                b"long" => context.output.put(&[b'x'; LONG_ANSWER]),
                b"bye" => return Progress { consumed, next: Next::Finish },
                b"linger" => {
                    context.output.put(b"last words\n");
                    return Progress { consumed, next: Next::Linger };
                }
                b"park" => {
                    self.parked = Some(context.id);
                    return Progress { consumed, next: Next::Park };
                }
                b"abort" => return Progress { consumed, next: Next::Abort },
                b"slow" | b"look" => {
                    // A millisecond passes in the meantime.
                    let (world, client) = self.watched.as_ref().expect("a client is watched");
                    world.advance(1_000_000);
                    if line == b"look" {
                        let received = world.client_received(*client).len();
                        context.output.put(format!("{received} bytes\n").as_bytes());
                    }
                }
                line => {
                    talk.is_stubborn |= line == b"keep on";
                    let line = talk.hold(line).unwrap_or(line);
                    context.output.put(line);
                    context.output.put(b"\n");
                }
            }
        }
        Progress { consumed, next: Next::Read }
    }

    fn on_event(&mut self, talk: &mut Talk, event: Event, context: &mut Context<'_, u32>) -> Next {
        if event == Event::Resumed {
            self.ran.push(Ran::Resumed);
        }
        match event {
            Event::InputEnded | Event::DeadlineReached => Next::Finish,
            Event::Overloaded if talk.is_stubborn => Next::Read,
            Event::Overloaded => {
                talk.held = 0;
                context.output.put(b"later\n");
                Next::Linger
            }
            Event::PeerFinished => {
                context.output.put(b"nobody listens\n");
                Next::Finish
            }
            Event::OutputDrained | Event::Resumed | Event::Draining => Next::Read,
            Event::Connected | Event::ConnectFailed(_) => unreachable!("it makes no connections"),
        }
    }

    fn is_idle(_: &Talk) -> bool {
        true
    }

    fn on_message(&mut self, _: Endpoint, message: u32, context: &mut ServiceContext<'_, u32>) {
        assert!(message != 13, "a message that panics");
        if let (RESUME, Some(parked)) = (message, self.parked) {
            context.command(SchedulerCommand::Resume(parked));
        }
        self.messages += 1;
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, u32>) {
        self.turn_ends += 1;
        self.most_at_once = self.most_at_once.max(context.processes);
    }
}

pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) scheduler: Scheduler<Sim, Lines>,
    pub(crate) sender: Mailbox<u32>,
}

pub(crate) fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 7)))
}

pub(crate) fn bench(faults: Faults) -> Bench {
    bench_with(faults, SchedulerSettings { connections: 100, ..SchedulerSettings::default() })
}

pub(crate) fn bench_with(faults: Faults, settings: SchedulerSettings) -> Bench {
    let world = World::new(1, faults);
    let mut seats =
        mesh(&[EndpointRole::Scheduler, EndpointRole::Helper], Waking::Driven).unwrap().into_iter();
    let mut mailbox = || seats.next().unwrap().mailbox;
    let mut scheduler = Scheduler::new(world.pollset(0), Lines::default(), mailbox(), settings);
    let options = ListenOptions {
        address: address(),
        backlog: 100,
        first: Speaks::Either,
        silent: Silence::Trusted,
    };
    scheduler.listen(&options).unwrap();
    Bench { world, scheduler, sender: mailbox() }
}

impl Bench {
    /// Runs turns until nothing is left to do now.
    pub(crate) fn turn(&mut self) {
        self.world.settle(&mut self.scheduler);
    }

    pub(crate) fn connect(&mut self) -> ClientId {
        self.world.connect(&address()).unwrap()
    }

    /// Sends, runs turns, and returns the answer.
    pub(crate) fn ask(&mut self, client: ClientId, bytes: &[u8]) -> Vec<u8> {
        self.world.client_send(client, bytes);
        self.turn();
        self.world.client_received(client)
    }
}

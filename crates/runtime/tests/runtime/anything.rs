//! A service that does anything that the contract allows, at random, in a network with faults.
//!
//! Owns the properties that hold whatever a service does: each process that began ends once, the queues are empty when
//! all have ended, and a turn ends: it has no more runs than its processes can have reasons for.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use proptest::prelude::*;
use runtime::output::SharedBytes;
use runtime::scheduler::{self, Scheduler, SchedulerSettings};
use runtime::service::{
    CloseReason, Connect, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};
use runtime::slots::ProcessId;
use runtime::streams::{NotHanded, StreamId, StreamOffer, Streams};
use runtime::{Peer, RemoteAddress};
use sys::socket::ListenAddress;
use world::{ClientId, Faults, Random, Sim, Stall, World};

/// The message of a process that panics.
const PANIC: &str = "it panics at random";

/// Most runs of one process in a turn: for input, the rest of its input, and messages.
const RUNS_PER_PROCESS: u64 = 40;

/// The state of a process.
struct State {
    kind: u8,
    /// Bytes that it says it holds.
    held: usize,
}
/// The head of a stream's output.
const HEAD: &[u8] = b"head";

struct Anything {
    random: Random,
    ids: Vec<ProcessId>,
    /// Streams that were ever opened, and by which process. Any process tries any of them, also those of others.
    streams: Vec<(ProcessId, StreamId)>,
    /// Connections to another server, which may never answer: without a deadline they last for ever.
    outbound: Vec<ProcessId>,
    begun: u64,
    ended: u64,
    /// Runs of this turn.
    runs: u64,
    /// From now on all processes end.
    is_over: bool,
}

impl Anything {
    fn output(&mut self, context: &mut Context<'_, ()>) {
        let length = match self.random.below(8) {
            0..4 => return,
            4 | 5 => 20,
            6 => 6_000,
            _ => 300_000,
        };
        if self.random.below(2) == 0 {
            context.output.put(&vec![b'x'; length]);
        } else {
            let bytes = vec![b'y'; length].into();
            context.output.put_shared(SharedBytes { bytes, start: 0, end: length });
        }
    }

    /// A state that may hold anything.
    fn state(&mut self, kind: u8) -> State {
        State { kind, held: self.held() }
    }

    fn held(&mut self) -> usize {
        match self.random.below(6) {
            0..4 => 0,
            4 => 300,
            _ => self.random.index(1_000_000),
        }
    }

    /// Acts as a carrier, with any stream and perhaps without one.
    fn carry(&mut self, context: &mut Context<'_, ()>) {
        let is_taking = self.random.below(2) == 0;
        let own = context.id;
        let mut streams = context.streams();
        if is_taking {
            for _ in 0..self.random.below(6) {
                let Some(stream) = streams.next_ready() else { break };
                self.take(stream, &mut streams);
            }
        }
        match self.random.below(12) {
            0 => {
                if let Ok(stream) = streams.open(Box::new(()), 7) {
                    self.streams.push((own, stream));
                }
            }
            1 if !self.streams.is_empty() => {
                let (owner, stream) = self.streams[self.random.index(self.streams.len())];
                match self.random.below(8) {
                    0 => streams.reset(stream),
                    1 => streams.end_input(stream),
                    2 => self.take(stream, &mut streams),
                    3 => streams.put_back(stream),
                    _ => {
                        let bytes = vec![b's'; self.random.index(30_000)];
                        let handed = streams.hand(stream, &bytes);
                        assert!(owner == own || handed == Err(NotHanded::Gone), "it is another's");
                    }
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, stream: StreamId, streams: &mut Streams<'_>) {
        let _consumed = streams.take_consumed(stream);
        let most = self.random.index(50_000);
        match streams.waiting(stream, most) {
            StreamOffer::Head { .. } => {
                let head = streams.with_head(stream, |head, _| head.to_vec());
                assert_eq!(head.as_deref(), Some(HEAD), "a head comes whole");
            }
            StreamOffer::Body { bytes, .. } => {
                assert!(bytes <= most, "at most so many bytes of a body");
                let count = if self.random.below(2) == 0 { bytes } else { bytes / 2 };
                streams.take(stream, count);
            }
            StreamOffer::Nothing | StreamOffer::Ended(_) => {}
        }
        if self.random.below(4) == 0 {
            streams.put_back(stream);
        }
    }

    fn run(&mut self, state: &mut State, context: &mut Context<'_, ()>) -> Next {
        self.runs += 1;
        self.output(context);
        self.carry(context);
        if self.random.below(2) == 0 {
            state.held = self.held();
        }
        assert!(self.is_over || self.random.below(500) != 0, "{PANIC}");
        match self.random.below(3) {
            0 => context.set_deadline_after_ms(self.random.below(3_000)),
            1 => context.clear_deadline(),
            _ => {}
        }
        let next = match self.random.below(40) {
            0 => Next::Finish,
            1 => Next::Linger,
            2 => Next::Abort,
            3..6 => {
                state.kind = 1 - state.kind;
                Next::Changed
            }
            6..9 => Next::Again,
            9..20 => Next::Park,
            _ => Next::Read,
        };
        let goes_on = matches!(next, Next::Read | Next::Again | Next::Park);
        if self.is_over && goes_on { Next::Finish } else { next }
    }
}

impl Service for Anything {
    type Process = State;
    type Message = ();
    const KINDS: &'static [&'static str] = &["one", "other"];

    fn kind(state: &State) -> usize {
        usize::from(state.kind)
    }

    fn is_idle(state: &State) -> bool {
        state.kind == 0
    }

    fn is_beginning(state: &State) -> bool {
        state.kind == 1
    }

    fn held_bytes(state: &State) -> usize {
        state.held
    }

    fn client(state: &State) -> Option<IpAddr> {
        (state.held.is_multiple_of(2)).then_some(IpAddr::from([192, 0, 2, state.kind]))
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        context: &mut Context<'_, ()>,
    ) -> Option<State> {
        self.output(context);
        if self.random.below(20) == 0 {
            return None;
        }
        self.begun += 1;
        self.ids.push(context.id);
        Some(self.state(0))
    }

    fn on_connect(
        &mut self,
        _: u64,
        begun: Result<(), std::io::ErrorKind>,
        context: &mut Context<'_, ()>,
    ) -> Option<State> {
        begun.ok()?;
        self.begun += 1;
        self.ids.push(context.id);
        self.outbound.push(context.id);
        context.set_deadline_after_ms(1_000);
        Some(self.state(1))
    }

    fn on_carry(&mut self, _: Box<dyn Any>, context: &mut Context<'_, ()>) -> Option<State> {
        if self.random.below(10) == 0 {
            return None;
        }
        if self.random.below(2) == 0 {
            context.output.put_head(HEAD);
        }
        self.output(context);
        self.begun += 1;
        self.ids.push(context.id);
        Some(self.state(1))
    }

    fn on_streams_ready(&mut self, state: &mut State, context: &mut Context<'_, ()>) -> Next {
        self.run(state, context)
    }

    fn on_input(
        &mut self,
        state: &mut State,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        let all = input.len();
        let consumed = if self.random.below(2) == 0 { all } else { self.random.index(all + 1) };
        Progress { consumed, next: self.run(state, context) }
    }

    fn on_event(&mut self, state: &mut State, _: Event, context: &mut Context<'_, ()>) -> Next {
        self.run(state, context)
    }

    fn on_close(&mut self, _: State, _: CloseReason) {
        self.ended += 1;
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        if self.is_over {
            for id in self.outbound.drain(..) {
                context.command(SchedulerCommand::Close(id));
            }
            return;
        }
        for _ in 0..self.random.below(4) {
            let place = self.random.index(self.ids.len().max(1));
            let Some(&id) = self.ids.get(place) else { return };
            match self.random.below(10) {
                0 => context.command(SchedulerCommand::Close(id)),
                1 | 2 => context.command(SchedulerCommand::Run(id)),
                3 => {
                    let to = RemoteAddress::Tcp(([10, 0, 0, 9], 9).into());
                    let connect = Connect { to, from: None, ticket: 0 };
                    context.command(SchedulerCommand::Connect(connect));
                }
                4 | 5 => {
                    let bytes: Rc<[u8]> = vec![b'z'; 1_000].into();
                    let _refused = context.queue(id, &bytes, 100_000);
                }
                _ => context.command(SchedulerCommand::Resume(id)),
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Act {
    Connect,
    Send { client: usize, bytes: usize },
    Read { client: usize, bytes: usize },
    Stall { client: usize },
    EndOutput { client: usize },
    Reset { client: usize },
    Pass { milliseconds: u64 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let client = || 0..6_usize;
    let act = prop_oneof![
        3 => Just(Act::Connect),
        8 => (client(), 1..40_000_usize).prop_map(|(client, bytes)| Act::Send { client, bytes }),
        6 => (client(), 1..500_000_usize).prop_map(|(client, bytes)| Act::Read { client, bytes }),
        1 => client().prop_map(|client| Act::Stall { client }),
        1 => client().prop_map(|client| Act::EndOutput { client }),
        1 => client().prop_map(|client| Act::Reset { client }),
        6 => (0..2_000_u64).prop_map(|milliseconds| Act::Pass { milliseconds }),
    ];
    proptest::collection::vec(act, 1..80)
}

fn act(world: &World, address: &ListenAddress, clients: &mut Vec<ClientId>, act: &Act) {
    let chosen = |client: &usize| clients.get(client % clients.len().max(1)).copied();
    match act {
        Act::Connect => clients.extend(world.connect(address)),
        Act::Pass { milliseconds } => world.advance(milliseconds * 1_000_000),
        Act::Send { client, bytes } => {
            if let Some(client) = chosen(client) {
                world.client_send(client, &vec![b'c'; *bytes]);
            }
        }
        Act::Read { client, bytes } => {
            if let Some(client) = chosen(client) {
                let _read = world.client_read(client, *bytes);
            }
        }
        Act::Stall { client } => {
            if let Some(client) = chosen(client) {
                world.client_stall(client, Stall::Reading);
            }
        }
        Act::EndOutput { client } => {
            if let Some(client) = chosen(client) {
                world.client_end_output(client);
            }
        }
        Act::Reset { client } => {
            if let Some(client) = chosen(client) {
                world.client_reset(client);
            }
        }
    }
}

/// One turn, which must end.
fn turn(scheduler: &mut Scheduler<Sim, Anything>) -> Result<(), TestCaseError> {
    scheduler.service().runs = 0;
    scheduler.turn(scheduler::TurnWait::Forbidden).unwrap();
    let most = RUNS_PER_PROCESS * (scheduler.processes() as u64 + 4);
    let runs = scheduler.service().runs;
    prop_assert!(runs <= most, "{} runs in a turn of {} processes", runs, scheduler.processes());
    Ok(())
}

fn run(seed: u64, faults: Faults, acts: &[Act]) -> Result<(), TestCaseError> {
    let world = World::new(seed, faults);
    let random = Random::new(seed);
    let service = Anything {
        random,
        ids: Vec::new(),
        streams: Vec::new(),
        outbound: Vec::new(),
        begun: 0,
        ended: 0,
        runs: 0,
        is_over: false,
    };
    let few = SchedulerSettings { connections: 8, ..SchedulerSettings::default() };
    let settings = SchedulerSettings { buffered_bytes: 2_000_000, ..few };
    let address = ListenAddress::Tcp(([10, 0, 0, 1], 80).into());
    let mut scheduler = world.scheduler(service, settings, std::slice::from_ref(&address));
    let mut clients = Vec::new();
    for one in acts {
        act(&world, &address, &mut clients, one);
        turn(&mut scheduler)?;
    }
    scheduler.service().is_over = true;
    for client in &clients {
        world.client_reset(*client);
    }
    for _ in 0..400 {
        world.advance(1_000_000_000);
        turn(&mut scheduler)?;
    }
    prop_assert_eq!(scheduler.processes(), 0, "processes that are left");
    prop_assert_eq!(scheduler.extras(), 0, "streams that are left");
    prop_assert_eq!(scheduler.stats().buffered_bytes, 0, "bytes that are left");
    let service = scheduler.service();
    prop_assert_eq!(service.begun, service.ended, "each process ends once");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_service_does_its_turns_end_and_nothing_is_left(seed: u64, acts in acts()) {
        run(seed, Faults::none(), &acts)?;
        run(seed, Faults::drawn(&mut Random::new(seed)), &acts)?;
    }
}

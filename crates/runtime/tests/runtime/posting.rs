//! Posting between processes: a room in which each message goes to all members.

use std::net::SocketAddr;
use std::rc::Rc;

use runtime::fan::{Fan, FanSeat};
use runtime::limits::QUEUED_BYTES_SENT_PER_TURN;
use runtime::post::Refused;
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};
use runtime::slots::ProcessId;
use sys::socket::{ListenAddress, Peer};
use world::{ClientId, ClientState, Faults, Random, Sim, Stall, World};

/// Most bytes that may wait for a peer.
const BOUND: usize = 100_000;

/// More strings than a turn has ids for.
const ANSWERS: usize = 300;

/// For three hundred members, more bytes than a scheduler sends in four turns, and for each fewer than its peer has
/// room for.
const MUCH: usize = QUEUED_BYTES_SENT_PER_TURN / 70;

/// Each line of a member goes to all members. A member that sends `q` is closed; one that sends `m` outputs much of its
/// own after what it receives, in the same turn; one that sends `a` receives some answers besides.
#[derive(Default)]
struct Room {
    fan: Fan,
    /// Everything that was ever sent.
    said: Vec<u8>,
    refused: Vec<(ProcessId, Refused)>,
    drained: u64,
    greedy: Vec<ProcessId>,
    asking: Vec<ProcessId>,
    closed: Vec<CloseReason>,
}

impl Service for Room {
    type Process = FanSeat;
    type Message = ();

    const KINDS: &'static [&'static str] = &["member"];

    fn kind(_seat: &FanSeat) -> usize {
        0
    }

    fn is_idle(_seat: &FanSeat) -> bool {
        false
    }

    fn on_accept(
        &mut self,
        _listener: ListenerIndex,
        _peer: Peer,
        context: &mut Context<'_, ()>,
    ) -> Option<FanSeat> {
        Some(self.fan.join(context.id))
    }

    fn on_input(
        &mut self,
        _seat: &mut FanSeat,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        if input.contains(&b'm') {
            self.greedy.push(context.id);
        }
        if input.contains(&b'a') {
            self.asking.push(context.id);
        }
        let next = if input.contains(&b'q') { Next::Finish } else { Next::Read };
        self.fan.buffer().extend_from_slice(input);
        Progress { consumed: input.len(), next }
    }

    fn on_event(
        &mut self,
        _seat: &mut FanSeat,
        event: Event,
        context: &mut Context<'_, ()>,
    ) -> Next {
        match event {
            Event::Resumed => {
                context.output.put(&[b'M'; MUCH]);
                Next::Read
            }
            Event::InputEnded => Next::Finish,
            Event::OutputDrained => {
                self.drained += 1;
                Next::Read
            }
            _ => Next::Read,
        }
    }

    fn on_close(&mut self, seat: FanSeat, reason: CloseReason) {
        self.closed.push(reason);
        self.fan.leave(seat);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        self.said.extend_from_slice(self.fan.buffer());
        let refused = &mut self.refused;
        self.fan.send(context, BOUND, |context, process, why| {
            refused.push((process, why));
            context.command(SchedulerCommand::Close(process));
        });
        for process in self.asking.drain(..) {
            for number in 0..ANSWERS {
                let answer: Rc<[u8]> = format!("{number} ").into_bytes().into();
                context.queue(process, &answer, BOUND).unwrap();
            }
        }
        for process in self.greedy.drain(..) {
            context.command(SchedulerCommand::Run(process));
        }
    }
}

struct Stage {
    world: World,
    scheduler: Scheduler<Sim, Room>,
}

impl Stage {
    fn new(seed: u64, faults: Faults) -> Self {
        let world = World::new(seed, faults);
        let settings = SchedulerSettings { connections: 300, ..SchedulerSettings::default() };
        let scheduler = world.scheduler(Room::default(), settings, &[address()]);
        Self { world, scheduler }
    }

    fn enter(&mut self) -> ClientId {
        let client = self.world.connect(&address()).unwrap();
        self.rest();
        client
    }

    fn rest(&mut self) {
        self.world.settle(&mut self.scheduler);
    }

    fn heard(&self, client: ClientId) -> String {
        String::from_utf8(self.world.client_received(client)).unwrap()
    }

    fn assert_nothing_is_left(&mut self) {
        assert_eq!(self.scheduler.processes(), 0);
        assert_eq!(self.scheduler.stats().buffered_bytes, 0);
        assert!(self.scheduler.service().fan.is_empty());
    }
}

fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)))
}

#[test]
fn messages_of_one_turn_leave_in_one_write_per_receiver() {
    let mut stage = Stage::new(1, Faults::none());
    let members: Vec<ClientId> = (0..20).map(|_| stage.enter()).collect();
    let sends = stage.scheduler.stats().sends;
    for client in &members {
        stage.world.client_send(*client, b"hello ");
    }
    stage.rest();
    for client in &members {
        assert_eq!(stage.heard(*client), "hello ".repeat(20));
    }
    assert_eq!(stage.scheduler.stats().sends - sends, 20, "one write for each");
    assert_eq!(stage.scheduler.service().drained, 0, "nothing waited");
    assert_eq!(stage.scheduler.stats().buffered_bytes_max, 0, "nothing was kept");
    for client in members {
        stage.world.client_close(client);
    }
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn a_member_that_leaves_in_the_turn_hears_nothing_and_its_seat_is_given_on() {
    let mut stage = Stage::new(1, Faults::none());
    let (one, two) = (stage.enter(), stage.enter());
    stage.world.client_send(one, b"q");
    stage.rest();
    assert_eq!((stage.heard(one), stage.heard(two)), (String::new(), "q".to_owned()));
    let three = stage.enter();
    stage.world.client_send(two, b"hi");
    stage.rest();
    assert_eq!((stage.heard(two), stage.heard(three)), ("hi".to_owned(), "hi".to_owned()));
    assert_eq!(stage.scheduler.service().fan.len(), 2);
    assert!(stage.scheduler.service().refused.is_empty());
}

#[test]
fn the_speaker_learns_at_once_of_a_member_that_is_behind() {
    let mut stage = Stage::new(1, Faults::none());
    let (speaker, deaf) = (stage.enter(), stage.enter());
    stage.world.client_stall(deaf, Stall::Reading);
    let mut said = 0;
    while stage.scheduler.service().refused.is_empty() {
        stage.world.client_send(speaker, &[b'x'; 1000]);
        stage.rest();
        said += 1000;
        assert_eq!(stage.heard(speaker).len(), 1000, "who reads is not held up");
        assert!(said < 1_000_000, "nobody is behind");
        assert!(stage.scheduler.stats().buffered_bytes < BOUND as u64 + 2000);
    }
    assert!(matches!(stage.scheduler.service().refused[..], [(_, Refused::Behind)]));
    assert_eq!(stage.scheduler.processes(), 1);
    assert_eq!(stage.scheduler.stats().buffered_bytes, 0, "what waited for it is gone");
    stage.world.client_close(speaker);
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn members_that_put_out_more_than_the_next_turns_send_are_not_taken_for_slow_readers() {
    let mut stage = Stage::new(1, Faults::none());
    let members: Vec<ClientId> = (0..300).map(|_| stage.enter()).collect();
    stage.world.advance(100_000_000_000);
    stage.rest();
    for client in &members {
        stage.world.client_send(*client, b"m");
    }
    for _ in 0..100 {
        stage.scheduler.turn(TurnWait::Forbidden).unwrap();
        stage.world.advance(100_000_000);
    }
    assert_eq!(stage.scheduler.service().closed, []);
    let heard = "m".repeat(300) + &"M".repeat(MUCH);
    for client in members {
        assert!(stage.heard(client) == heard, "first what it hears, then its own");
    }
}

#[test]
fn posts_to_one_process_leave_in_order_in_few_writes() {
    let mut stage = Stage::new(1, Faults::none());
    let (one, two, three) = (stage.enter(), stage.enter(), stage.enter());
    let sends = stage.scheduler.stats().sends;
    stage.world.client_send(one, b"a");
    stage.world.client_send(two, b"a");
    stage.rest();
    let answers: String = (0..ANSWERS).map(|number| format!("{number} ")).collect();
    let heard = [one, two, three].map(|client| stage.heard(client));
    assert_eq!(heard, [format!("aa{answers}"), format!("aa{answers}"), "aa".to_owned()]);
    assert_eq!(stage.scheduler.stats().sends - sends, 3, "each is sent to once");
    assert_eq!(stage.scheduler.stats().buffered_bytes_max, 0, "nothing was kept");
}

#[test]
fn everybody_who_stays_hears_everything_in_order_whatever_the_network_does() {
    let mut stayed = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut stage = Stage::new(seed, Faults::drawn(&mut random));
        let members: Vec<ClientId> =
            (0..5).filter_map(|_| stage.world.connect(&address())).collect();
        for word in 0..60 {
            let member = members[random.index(members.len())];
            stage.world.client_send(member, format!("{word:04} ").as_bytes());
            let nanoseconds = random.below(20_000_000);
            stage.world.advance(nanoseconds);
            stage.scheduler.turn(TurnWait::Forbidden).unwrap();
        }
        for _ in 0..1000 {
            stage.world.advance(10_000_000);
            stage.rest();
        }
        let said = String::from_utf8(stage.scheduler.service().said.clone()).unwrap();
        for client in &members {
            let heard = stage.heard(*client);
            assert!(said.contains(&heard), "seed {seed}: {heard:?} of {said:?}");
            if stage.world.client_state(*client) == ClientState::Open {
                assert!(said.ends_with(&heard) && !heard.is_empty(), "seed {seed}: {heard:?}");
                stayed += 1;
            }
        }
        for client in members {
            stage.world.client_close(client);
        }
        for _ in 0..1000 {
            stage.world.advance(1_000_000_000);
            stage.rest();
        }
        stage.assert_nothing_is_left();
    }
    assert!(stayed > 500, "{stayed} stayed to the end");
}

//! A scheduler in a world of remotes, and a service that connects to them and records what happens.

use std::io::ErrorKind;
use std::net::SocketAddr;

use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::{
    CloseReason, Connect, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};
use runtime::slots::ProcessId;
use sys::connect::RemoteAddress;
use sys::socket::Peer;
use world::{ClientId, Faults, Sim, World};

/// An event of a caller, with its ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Begun(u64),
    NotBegun(u64, ErrorKind),
    Of(u64, Event),
    Input(u64, Vec<u8>),
    Closed(u64, CloseReason),
}

/// Sends `hello` once it is connected, and `again` when it is run.
pub(crate) struct Caller {
    /// Returned at the next end of a turn.
    pub(crate) wishes: Vec<SchedulerCommand>,
    pub(crate) heard: Vec<Heard>,
    /// The process of each connection that was begun.
    pub(crate) ids: Vec<(u64, ProcessId)>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) hello: Vec<u8>,
    pub(crate) starts: u32,
    /// Declines a process for this ticket.
    pub(crate) declined: Option<u64>,
    /// Panics when the connection of this ticket is established.
    pub(crate) cursed: Option<u64>,
}

pub(crate) enum NoMessage {}

impl Service for Caller {
    type Process = u64;
    type Message = NoMessage;

    const KINDS: &'static [&'static str] = &["call"];

    fn kind(_: &u64) -> usize {
        0
    }

    fn is_idle(_: &u64) -> bool {
        true
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, NoMessage>) {
        self.starts += 1;
        for wish in self.wishes.drain(..) {
            context.command(wish);
        }
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), ErrorKind>,
        context: &mut Context<'_, NoMessage>,
    ) -> Option<u64> {
        context.output.put(b"too early");
        match begun {
            Ok(()) => self.heard.push(Heard::Begun(ticket)),
            Err(kind) => self.heard.push(Heard::NotBegun(ticket, kind)),
        }
        if let Some(deadline_ms) = self.deadline_ms {
            context.set_deadline_after_ms(deadline_ms);
        }
        self.ids.push((ticket, context.id));
        (self.declined != Some(ticket)).then_some(ticket)
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        _: &mut Context<'_, NoMessage>,
    ) -> Option<u64> {
        None
    }

    fn on_input(
        &mut self,
        ticket: &mut u64,
        input: &[u8],
        _: &mut Context<'_, NoMessage>,
    ) -> Progress {
        self.heard.push(Heard::Input(*ticket, input.to_vec()));
        Progress { consumed: input.len(), next: Next::Read }
    }

    fn on_event(
        &mut self,
        ticket: &mut u64,
        event: Event,
        context: &mut Context<'_, NoMessage>,
    ) -> Next {
        self.heard.push(Heard::Of(*ticket, event));
        match event {
            Event::Connected => {
                assert!(self.cursed != Some(*ticket), "this one is cursed");
                context.output.put(&self.hello);
                Next::Read
            }
            Event::Resumed => {
                context.output.put(b"again");
                Next::Read
            }
            Event::ConnectFailed(_) | Event::OutputDrained => Next::Read,
            Event::InputEnded
            | Event::PeerFinished
            | Event::DeadlineReached
            | Event::Draining
            | Event::Overloaded => Next::Finish,
        }
    }

    fn on_close(&mut self, ticket: u64, reason: CloseReason) {
        self.heard.push(Heard::Closed(ticket, reason));
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, NoMessage>) {
        for wish in self.wishes.drain(..) {
            context.command(wish);
        }
    }
}

pub(crate) fn remote() -> RemoteAddress {
    RemoteAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 7)))
}

pub(crate) fn call(ticket: u64) -> SchedulerCommand {
    SchedulerCommand::Connect(Connect { to: remote(), from: None, ticket })
}

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) scheduler: Scheduler<Sim, Caller>,
}

/// A stage with a remote that listens; it has not run yet.
pub(crate) fn stage(seed: u64, faults: Faults, settings: SchedulerSettings) -> Stage {
    let world = World::new(seed, faults);
    world.listen_remote(&remote());
    let caller = Caller {
        wishes: Vec::new(),
        heard: Vec::new(),
        ids: Vec::new(),
        deadline_ms: None,
        hello: b"hello".to_vec(),
        starts: 0,
        declined: None,
        cursed: None,
    };
    let scheduler = world.scheduler(caller, settings, &[]);
    Stage { world, scheduler }
}

pub(crate) fn quiet_stage() -> Stage {
    stage(1, Faults::none(), SchedulerSettings { connections: 100, ..SchedulerSettings::default() })
}

impl Stage {
    pub(crate) fn caller(&mut self) -> &mut Caller {
        self.scheduler.service()
    }

    pub(crate) fn wish(&mut self, commands: impl IntoIterator<Item = SchedulerCommand>) {
        self.caller().wishes.extend(commands);
    }

    pub(crate) fn turn_once(&mut self) {
        self.scheduler.turn(TurnWait::Forbidden).unwrap();
    }

    /// Runs turns until nothing is left to do now.
    pub(crate) fn turn(&mut self) {
        self.world.settle(&mut self.scheduler);
    }

    /// Runs turns at every time at which something happens, for this long.
    pub(crate) fn turn_for(&mut self, nanoseconds: u64) {
        self.world.settle_for(&mut self.scheduler, nanoseconds);
    }

    pub(crate) fn accept(&mut self) -> ClientId {
        self.world.accept_remote(&remote()).expect("a connection waits at the remote").0
    }

    pub(crate) fn take_heard(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.caller().heard)
    }

    pub(crate) fn id(&mut self, ticket: u64) -> ProcessId {
        let ids = &self.caller().ids;
        ids.iter().find(|(known, _)| *known == ticket).expect("it was begun").1
    }
}

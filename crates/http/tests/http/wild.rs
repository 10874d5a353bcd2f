//! An application that does anything its contract allows, at random, for clients that send anything.
//!
//! Owns what must hold whatever an application does: it is told exactly once that a request will not be asked about
//! again, and at the end nothing is left.

use std::collections::BTreeSet;
use std::time::Duration;

use http::{
    Answer, AnswerContext, Application, BodyPolicy, ClientInterest, Http, HttpSettings, Intake,
    Reply, Request, Status, Urgency,
};
use proptest::prelude::*;
use runtime::service::{SchedulerCommand, Service, ServiceContext};
use runtime::slots::ProcessId;
use sys::socket::ListenAddress;
use world::{ClientId, Faults, Random, Stage, Stall};

use crate::carrier::Carrier;

struct Wild {
    random: Random,
    /// Requests that wait, are answered in parts, or whose body is handed over.
    open: BTreeSet<ProcessId>,
    /// It was told of the end of a request that was not open.
    told_too_much: u32,
    /// From now on everything is answered.
    is_over: bool,
}

impl Wild {
    fn chance(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    fn intake(&mut self) -> Intake {
        match self.random.below(10) {
            0 => Intake::Enough,
            1..4 if !self.is_over => Intake::Pause,
            _ => Intake::More,
        }
    }

    fn first(&mut self, reply: &mut Reply<'_>) -> Answer {
        match self.random.below(12) {
            0 => Answer::Cut,
            1 => {
                let _valid = reply.switch_protocols("wild");
                Answer::Upgrade
            }
            2..6 if !self.is_over => Answer::Wait,
            6..9 => {
                reply.begin_parts(Status::OK);
                reply.end_head();
                self.part(reply)
            }
            9 => {
                reply.empty(Status::NO_CONTENT);
                Answer::Done
            }
            _ => {
                reply.text("wild");
                Answer::Done
            }
        }
    }

    fn part(&mut self, reply: &mut Reply<'_>) -> Answer {
        if self.chance(3) || self.is_over {
            return if self.chance(2) { Answer::Done } else { Answer::Cut };
        }
        let length = [0, 10, 300_000][self.random.index(3)];
        reply.part(&vec![b'p'; length]);
        if self.chance(4) { Answer::Wait } else { Answer::Part }
    }
}

impl Application for Wild {
    type Message = ();

    fn body_policy(
        &mut self,
        _request: &Request<'_>,
        context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        self.open.insert(context.id);
        match self.random.below(5) {
            0 => BodyPolicy::Ignore,
            1 => BodyPolicy::Collect { limit: 50 },
            2 => BodyPolicy::Admit { limit: 50 },
            _ => BodyPolicy::Stream { limit: 200 },
        }
    }

    fn admit_body(&mut self, _: &Request<'_>, context: &mut AnswerContext<'_, ()>) -> Intake {
        self.told_too_much += u32::from(!self.open.contains(&context.id));
        assert!(!self.chance(40), "before a body");
        self.intake()
    }

    fn begin_body(&mut self, _: &Request<'_>, _: &mut AnswerContext<'_, ()>) -> Intake {
        assert!(!self.chance(40), "at the begin of a body");
        self.intake()
    }

    fn kept_of_body(&self, process: ProcessId) -> usize {
        [0, 70, 300_000][process.index() % 3]
    }

    fn on_body(&mut self, _: &[u8], context: &mut AnswerContext<'_, ()>) -> Intake {
        self.told_too_much += u32::from(!self.open.contains(&context.id));
        assert!(!self.chance(40), "at a piece of a body");
        self.intake()
    }

    fn on_request(
        &mut self,
        _: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        self.open.insert(context.id);
        assert!(!self.chance(40), "at a request");
        let answer = if reply.is_begun() { self.part(reply) } else { self.first(reply) };
        if matches!(answer, Answer::Done | Answer::Cut | Answer::Upgrade) {
            self.open.remove(&context.id);
        }
        answer
    }

    fn on_peer_finished(&mut self, _: ProcessId) -> ClientInterest {
        [ClientInterest::Kept, ClientInterest::Doubted, ClientInterest::Lost][self.random.index(3)]
    }

    fn urgency(&mut self, _: ProcessId) -> Urgency {
        match self.random.below(12) {
            0..3 => Urgency::Answer,
            3 => Urgency::Cut,
            _ => Urgency::Nothing,
        }
    }

    fn on_gone(&mut self, process: ProcessId) {
        self.told_too_much += u32::from(!self.open.remove(&process));
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, ()>) {
        let wild = http.application_mut();
        for process in &wild.open {
            if wild.is_over || wild.random.below(3) == 0 {
                context.command(SchedulerCommand::Resume(*process));
            }
        }
    }
}

/// The texts that clients send, whole or cut anywhere.
const TEXTS: [&str; 9] = [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n0123456789012345678901234567890123456789",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: wild\r\nConnection: upgrade\r\n\r\nraw bytes",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\nx",
    "nonsense\r\n\r\n",
];

/// The same for streams: a line with the head, then the body.
const STREAMS: [&str; 7] = [
    "GET /\n",
    "HEAD /\n",
    "POST /\n0123456789012345678901234567890123456789",
    "POST / content-length=40\n0123456789012345678901234567890123456789",
    "POST / content-length=100 expect=100-continue\n",
    "POST / content-length=300\nx",
    "nonsense\n",
];

#[derive(Clone, Debug)]
enum Act {
    Connect,
    Send { client: usize, text: usize, cut: usize },
    Read { client: usize },
    Stall { client: usize },
    EndOutput { client: usize },
    Reset { client: usize },
    Pass { milliseconds: u64 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let client = || 0..5_usize;
    let send = (client(), 0..TEXTS.len(), 0..400_usize);
    let act = prop_oneof![
        2 => Just(Act::Connect),
        12 => send.prop_map(|(client, text, cut)| Act::Send { client, text, cut }),
        5 => client().prop_map(|client| Act::Read { client }),
        1 => client().prop_map(|client| Act::Stall { client }),
        1 => client().prop_map(|client| Act::EndOutput { client }),
        1 => client().prop_map(|client| Act::Reset { client }),
        4 => (0..200_u64).prop_map(|milliseconds| Act::Pass { milliseconds }),
    ];
    proptest::collection::vec(act, 1..60)
}

/// The carrier of the requests.
trait Front: Service<Message = ()> {
    /// The texts that clients send.
    const TEXTS: &'static [&'static str];

    fn around(http: Http<Wild>) -> Self;

    fn http(&mut self) -> &mut Http<Wild>;
}

impl Front for Http<Wild> {
    const TEXTS: &'static [&'static str] = &TEXTS;

    fn around(http: Http<Wild>) -> Self {
        http
    }

    fn http(&mut self) -> &mut Http<Wild> {
        self
    }
}

impl Front for Carrier<Wild> {
    const TEXTS: &'static [&'static str] = &STREAMS;

    fn around(http: Http<Wild>) -> Self {
        Self(http)
    }

    fn http(&mut self) -> &mut Http<Wild> {
        &mut self.0
    }
}

fn address() -> ListenAddress {
    ListenAddress::Tcp(([10, 0, 0, 1], 80).into())
}

/// Some turns, because an application that never stops leaves no idle turn.
fn turn<F: Front>(stage: &mut Stage<F>) {
    for _ in 0..5 {
        stage.schedulers()[0].turn(runtime::scheduler::TurnWait::Forbidden).unwrap();
    }
}

fn act<F: Front>(stage: &mut Stage<F>, clients: &mut Vec<ClientId>, act: &Act) {
    let chosen = |client: &usize| clients.get(client % clients.len().max(1)).copied();
    match act {
        Act::Connect => clients.extend(stage.world().connect(&address())),
        Act::Pass { milliseconds } => stage.world().advance(milliseconds * 1_000_000),
        Act::Send { client, text, cut } => {
            if let Some(client) = chosen(client) {
                let text = F::TEXTS[text % F::TEXTS.len()].as_bytes();
                stage.world().client_send(client, &text[..text.len().min(*cut)]);
            }
        }
        Act::Read { client } => {
            if let Some(client) = chosen(client) {
                let _read = stage.world().client_received(client);
            }
        }
        Act::Stall { client } => {
            if let Some(client) = chosen(client) {
                stage.world().client_stall(client, Stall::Reading);
            }
        }
        Act::EndOutput { client } => {
            if let Some(client) = chosen(client) {
                stage.world().client_end_output(client);
            }
        }
        Act::Reset { client } => {
            if let Some(client) = chosen(client) {
                stage.world().client_reset(client);
            }
        }
    }
}

fn run<F: Front>(seed: u64, faults: Faults, acts: &[Act]) -> Result<(), TestCaseError> {
    let wild = || Wild {
        random: Random::new(seed),
        open: BTreeSet::new(),
        told_too_much: 0,
        is_over: false,
    };
    let settings = HttpSettings { answer_deadline_ms: 300, ..HttpSettings::default() };
    let make = || F::around(Http::new(wild(), settings.clone().into(), None));
    let mut stage: Stage<F> = Stage::with_faults(1, seed, faults, make);
    let mut clients = Vec::new();
    for one in acts {
        act(&mut stage, &mut clients, one);
        turn(&mut stage);
    }
    stage.schedulers()[0].service().http().application_mut().is_over = true;
    turn(&mut stage);
    for client in &clients {
        stage.world().client_reset(*client);
    }
    for _ in 0..200 {
        stage.world().advance(Duration::from_secs(1).as_nanos() as u64);
        turn(&mut stage);
    }
    let scheduler = &mut stage.schedulers()[0];
    prop_assert_eq!(scheduler.processes(), 0, "processes that are left");
    prop_assert_eq!(scheduler.stats().buffered_bytes, 0, "bytes that are left");
    let wild = scheduler.service().http().application();
    prop_assert_eq!(wild.open.len(), 0, "requests whose end the application was not told of");
    prop_assert_eq!(wild.told_too_much, 0, "ends of requests that were over, and pieces of bodies");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_an_application_does_it_hears_of_each_end_once(seed: u64, acts in acts()) {
        run::<Http<Wild>>(seed, Faults::none(), &acts)?;
        run::<Http<Wild>>(seed, Faults::drawn(&mut Random::new(seed)), &acts)?;
        run::<Carrier<Wild>>(seed, Faults::none(), &acts)?;
        run::<Carrier<Wild>>(seed, Faults::drawn(&mut Random::new(seed)), &acts)?;
    }
}

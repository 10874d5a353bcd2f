//! A connection with many requests at once, each on a stream: whatever is opened, sent, reset and taken in any order,
//! each stream gets its own answer and no other, and nothing is left.
//!
//! The first byte of an input says how the commands are cut and how much room sockets have.

mod engine;

use std::sync::Arc;

use http::{HeadBlock, Http, HttpSettings, Method};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use sys::socket::ListenAddress;
use world::{ALWAYS, ClientId, Faults, Sim, World};

use crate::connection::application::{Echo, answer_to};
use engine::{Command, Engine, Part, REQUESTS, STREAMS};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/http/src", "crates/runtime/src", "crates/world/src"];

/// Commands of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"\x00\x00\x00\x00\x05\xc0\xff\xc1\xff",
    b"\x03\x00\x01\x40\x05\x80\x00\xc0\xff\x00\x02\x41\x09\x41\x03\x81\x00",
    b"\x81\x00\x04\x00\x05\x00\x07\xc0\x20\xc1\x10\xa0\x00\xc1\xff",
    b"\x01\x00\x02\x40\xff\x40\xff\x80\x00\x00\x03\x41\xff\x41\xff\x81\x00",
    b"\x85\x00\x08\x00\x09\x00\x0a\x00\x0b\x43\x20\xa3\x00\x40\x01\x80\x00",
];

/// Commands.
pub const WORDS: &[&[u8]] =
    &[b"\x00\x02", b"\x00\x04", b"\x40\x10", b"\x40\xff", b"\x80\x00", b"\xa0\x00", b"\xc0\xff"];

/// Commands of an input. Beyond: the rest is left out.
const COMMANDS: usize = 400;

/// Turns after which a scheduler counts as spinning.
const TURNS_MAX: usize = 100_000;

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let Some((manner, program)) = data.split_first() else { return };
    let program = program.get(..2 * COMMANDS).unwrap_or(program).as_chunks::<2>().0;
    let buffers = if manner & 0x80 == 0 { 0 } else { ALWAYS };
    let mut stage = Stage::new(Faults { small_buffer: buffers, ..Faults::none() });
    for piece in program.as_flattened().chunks(1 + usize::from(manner & 0x7f)) {
        stage.send(piece);
    }
    let mut calls: Vec<Call> = Vec::new();
    for bytes in program {
        note(Command::of(*bytes), &mut calls);
    }
    for _ in 0..2 {
        (0..calls.len()).for_each(|number| stage.send(&Command::last_of(number)));
    }
    for (number, call) in calls.iter().enumerate() {
        call.assert_answered(stage.heard.get(number));
    }
    stage.assert_nothing_is_left();
}

/// A request as its client made it.
struct Call {
    request: usize,
    body: usize,
    is_complete: bool,
    is_reset: bool,
}

/// The effect of a command on the requests of a client.
fn note(command: Command, calls: &mut Vec<Call>) {
    match command {
        Command::Open(request) if calls.len() < STREAMS => {
            calls.push(Call { request, body: 0, is_complete: false, is_reset: false });
        }
        Command::Open(_) | Command::Credit(..) => {}
        Command::Data(number, size) => {
            if let Some(call) = calls.get_mut(number).filter(|call| !call.is_complete) {
                call.body += size;
            }
        }
        Command::End(number) => {
            calls.get_mut(number).into_iter().for_each(|call| call.is_complete = true);
        }
        Command::Reset(number) => {
            calls.get_mut(number).into_iter().for_each(|call| call.is_reset = true);
        }
    }
}

impl Call {
    /// The bytes that were heard are the answer, all of it unless the stream was reset.
    fn assert_answered(&self, heard: Option<&Heard>) {
        let (method, target) = REQUESTS[self.request];
        let takes_body = !matches!(method, Method::Get | Method::Head);
        let body = if takes_body { vec![b'd'; self.body] } else { Vec::new() };
        let (status, mut content) = answer_to(method, target.as_bytes(), &body);
        if method == Method::Head {
            content.clear();
        }
        let Some(heard) = heard else {
            return assert!(self.is_reset, "{method:?} {target}: nothing came");
        };
        assert!(self.is_reset || !heard.head.is_empty(), "{method:?} {target}: it has no head");
        if !heard.head.is_empty() {
            let (block, rest) = HeadBlock::split(&heard.head).expect("heads are whole");
            let first = block.status().expect("a head comes first").code();
            assert_eq!(first, status, "{method:?} {target}");
            if !rest.is_empty() {
                let (trailers, rest) = HeadBlock::split(rest).expect("heads are whole");
                let trailers = (trailers.status(), rest);
                assert_eq!(trailers, (None, &b""[..]), "{method:?} {target}: trailers, once");
            }
        }
        // The page of a refusal is not looked at.
        let is_refused = status == 413;
        assert!(is_refused || content.starts_with(&heard.body), "{method:?} {target}: other bytes");
        assert!(!heard.is_reset || self.is_reset, "{method:?} {target}: it was reset");
        if !self.is_reset {
            assert!(heard.is_over, "{method:?} {target}: it has no end");
            assert!(
                is_refused || heard.body.len() == content.len(),
                "{method:?} {target}: it is cut"
            );
        }
    }
}

/// The part of a stream that a client has received.
#[derive(Default)]
struct Heard {
    head: Vec<u8>,
    body: Vec<u8>,
    is_over: bool,
    is_reset: bool,
}

/// A scheduler with the engine on it, and its client.
struct Stage {
    world: World,
    scheduler: Scheduler<Sim, Engine>,
    client: ClientId,
    received: Vec<u8>,
    heard: Vec<Heard>,
}

impl Stage {
    fn new(faults: Faults) -> Self {
        let world = World::new(1, faults);
        let engine =
            Engine::new(Http::new(Echo::default(), Arc::new(HttpSettings::default()), None));
        let settings = SchedulerSettings { connections: 2 * STREAMS, ..Default::default() };
        let address = ListenAddress::Tcp(([10, 0, 0, 1], 80).into());
        let scheduler = world.scheduler(engine, settings, std::slice::from_ref(&address));
        let client = world.connect(&address).expect("the listener has room");
        Self { world, scheduler, client, received: Vec::new(), heard: Vec::new() }
    }

    /// Sends commands, and receives until nothing more happens.
    fn send(&mut self, commands: &[u8]) {
        self.world.client_send(self.client, commands);
        for _ in 0..TURNS_MAX {
            let has_run =
                self.scheduler.turn(TurnWait::Forbidden).expect("a world without failure");
            let received = self.world.client_received(self.client);
            if !has_run && received.is_empty() && !self.world.is_ready(0) {
                return;
            }
            self.received.extend(received);
            self.hear();
        }
        panic!("it spins");
    }

    fn hear(&mut self) {
        let received = std::mem::take(&mut self.received);
        let mut rest = &*received;
        while let Some((number, part, content, after)) = Part::first(rest) {
            if self.heard.len() <= number {
                self.heard.resize_with(number + 1, Heard::default);
            }
            let heard = &mut self.heard[number];
            assert!(!heard.is_over, "nothing comes after the end");
            match part {
                Part::Head => heard.head.extend_from_slice(content),
                Part::Body => heard.body.extend_from_slice(content),
                Part::End => heard.is_over = true,
                Part::Reset => (heard.is_over, heard.is_reset) = (true, true),
            }
            rest = after;
        }
        self.received = rest.to_vec();
    }

    fn assert_nothing_is_left(&mut self) {
        assert!(self.received.is_empty(), "a part was cut");
        assert_eq!(self.scheduler.stats().buffered_bytes, 0, "bytes in buffers");
        self.world.client_close(self.client);
        for _ in 0..10 {
            self.scheduler.turn(TurnWait::Forbidden).expect("a world without failure");
        }
        assert_eq!((self.scheduler.processes(), self.scheduler.extras()), (0, 0), "processes");
        assert_eq!(self.scheduler.stats().panics, 0, "panics");
    }
}

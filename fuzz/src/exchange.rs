//! Whole exchanges of the client with a server that sends anything, over HTTP/1.1 or HTTP/2: any cut gives the same
//! news, every exchange ends, and what a requester does not take stays within its limit.

use std::io;
use std::rc::Rc;

use client::limits::EXCHANGE_HELD_BYTES;
use client::{
    Anywhere, Client, Deadlines, ExchangeId, ExchangeNews, Forward, ForwardTarget, HeadWriter,
    OriginHost, OriginTransport, Outbound, OutgoingBody, OutgoingRequest, Requester, ResponseHead,
    ServerOrigin, Url,
};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use sys::connect::RemoteAddress;
use sys::socket::Peer;
use world::{Faults, Sim, World};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/client/src", "crates/wire/src/http/received"];

/// The first byte says what is requested, over which version, and how much is taken at a time; the second where the
/// answer is cut.
pub const SEEDS: &[&[u8]] = &[
    b"\x00\x10HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"\x01\x20HTTP/1.1 103 E\r\nLink: l\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
    b"\x02\x08HTTP/1.1 100 C\r\n\r\nHTTP/1.1 201 M\r\nTransfer-Encoding: \
      chunked\r\n\r\n5\r\nhello\r\n0\r\nX-A: b\r\n\r\n",
    b"\x03\x30HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\nother bytes",
    b"\x04\x11HTTP/1.0 200 OK\r\nX: a\r\n b\r\n\r\nuntil the end",
    b"\x40\x90\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x05\0\x01\0\0\0\x01hello",
    b"\xc0\x20\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x01\0\0\x01\x01\0\0\0\0\x01\x88\0\0\x04\x09\x04\0\0\0\x01\0\x01a\
      \x00\0\0\x03\0\x08\0\0\0\x01\x01a\0\0\0\x01\x01\x05\0\0\0\x01\x0f",
    b"\x40\x60\0\0\0\x04\0\0\0\0\0\0\0\x04\x03\0\0\0\0\x01\0\0\0\x07",
    b"\x40\x60\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x02",
    b"\x40\x60\0\0\0\x04\0\0\0\0\0\0\0\x04\x08\0\0\0\0\x01\0\0\0\x09\0\0\x08\x06\0\0\0\0\0pingping",
];

/// Pieces of answers, good and bad.
pub const WORDS: &[&[u8]] = crate::response::WORDS;

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let [kind, cut, answer @ ..] = data else { return };
    let cut = answer.len() * usize::from(*cut) / 256;
    let (front, back) = answer.split_at(cut);
    let whole = exchange(*kind, &[answer]);
    assert_eq!(exchange(*kind, &[front, back]), whole, "cut at {cut}");
    if answer.len() <= 200 {
        let bytes: Vec<&[u8]> = answer.chunks(1).collect();
        assert_eq!(exchange(*kind, &bytes), whole, "byte by byte");
    }
}

/// Everything that the requester learns, with the parts of the body joined.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    interim: Vec<ResponseHead>,
    head: Option<ResponseHead>,
    body: Vec<u8>,
    last: Vec<ExchangeNews>,
}

/// One exchange with a server that answers with these bytes, piece by piece, and closes.
fn exchange(kind: u8, pieces: &[&[u8]]) -> Outcome {
    let mut caller = Caller::new();
    let id = if kind & HTTP2 == 0 { caller.begin(request(kind)) } else { caller.begin_shared() };
    let most = if kind & 0x80 == 0 { usize::MAX } else { 7 };
    let mut outcome = Outcome::default();
    let server = caller.world.accept_remote(&remote()).expect("the client connects").0;
    for piece in pieces {
        caller.world.client_send(server, piece);
        caller.take(id, most, &mut outcome);
    }
    caller.world.client_end_output(server);
    caller.take(id, most, &mut outcome);
    // Its deadlines end what the server does not.
    for _ in 0..3 {
        caller.world.advance(61_000_000_000);
        caller.take(id, most, &mut outcome);
    }
    let ended = outcome.last.last();
    assert!(
        matches!(ended, Some(ExchangeNews::End | ExchangeNews::Failed(_))),
        "it does not end: {outcome:?}"
    );
    outcome
}

/// The bit of HTTP/2 in the first byte.
const HTTP2: u8 = 0x40;

/// A request over HTTP/2. It has a body of which a part is gone soon, so that it is never sent again: whether a second
/// one would get its answer depends on where the input is cut.
fn forward() -> Forward {
    let host = OriginHost::Address([10, 0, 0, 9].into());
    let origin = ServerOrigin { transport: OriginTransport::Plain, host, port: 80 };
    let target = ForwardTarget::new(origin, None, None).expect("an origin");
    let mut head = HeadWriter::new("POST", "/", 0).expect("a target");
    head.field("Host", b"a.example").expect("a field");
    Forward {
        to: target.with_prior_knowledge(),
        method: "POST",
        head,
        body: OutgoingBody::Streamed(Some(2)),
        upgrade: None,
        deadlines: Deadlines::default(),
        requester: Requester::Service,
        lead: None,
    }
}

fn request(kind: u8) -> OutgoingRequest {
    let method = ["GET", "HEAD", "POST", "GET", "GET"][usize::from(kind & 0x3f) % 5];
    let url = Url::parse(b"http://10.0.0.9/").expect("a URL");
    let plain = OutgoingRequest::new(method, url, Rc::new(Anywhere), Requester::Service);
    match kind & 0x3f {
        2 => OutgoingRequest { body: OutgoingBody::Streamed(Some(0)), ..plain },
        3 => OutgoingRequest { upgrade: Some("x".to_owned()), ..plain },
        _ => plain,
    }
}

fn remote() -> RemoteAddress {
    RemoteAddress::Tcp(([10, 0, 0, 9], 80).into())
}

/// A scheduler that makes one request.
struct Caller {
    world: World,
    scheduler: Scheduler<Sim, Calling>,
}

impl Caller {
    fn new() -> Self {
        let world = World::new(1, Faults::none());
        let settings = SchedulerSettings { connections: 10, ..SchedulerSettings::default() };
        let calling = Calling::default();
        let scheduler = world.scheduler(calling, settings, &[]);
        world.listen_remote(&remote());
        Self { world, scheduler }
    }

    fn begin(&mut self, request: OutgoingRequest) -> ExchangeId {
        let now_ns = self.world.now_ns();
        let id = self.scheduler.service().0.begin(request, now_ns).expect("a valid request");
        self.rest();
        id
    }

    fn begin_shared(&mut self) -> ExchangeId {
        let now_ns = self.world.now_ns();
        let client = &mut self.scheduler.service().0;
        let id = client.forward(forward(), now_ns).expect("a valid request");
        assert_eq!(client.send(id, b"x", now_ns), 1);
        self.rest();
        let now_ns = self.world.now_ns();
        assert_eq!(self.scheduler.service().0.send(id, b"y", now_ns), 1);
        self.rest();
        id
    }

    /// Runs turns until nothing is left to do.
    fn rest(&mut self) {
        while self.scheduler.turn(TurnWait::Forbidden).expect("the world does not fail") {}
    }

    /// Takes all news.
    fn take(&mut self, id: ExchangeId, most: usize, outcome: &mut Outcome) {
        loop {
            self.rest();
            let now_ns = self.world.now_ns();
            let client = &mut self.scheduler.service().0;
            let _heard = client.heard(now_ns);
            assert!(client.held(id).answer <= EXCHANGE_HELD_BYTES);
            match client.next(id, most, now_ns) {
                Some(ExchangeNews::Interim(head)) => outcome.interim.push(head),
                Some(ExchangeNews::Head(head)) => outcome.head = Some(head),
                Some(ExchangeNews::Body(piece)) => outcome.body.extend(piece),
                Some(news) => outcome.last.push(news),
                None => return,
            }
        }
    }
}

/// A service that only makes requests.
#[derive(Default)]
struct Calling(Client);

impl Service for Calling {
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
        self.0.on_connect(ticket, begun, context).map(Box::new)
    }

    fn on_input(
        &mut self,
        outbound: &mut Box<Outbound>,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        outbound.on_input(&mut self.0, input, context)
    }

    fn on_event(
        &mut self,
        outbound: &mut Box<Outbound>,
        event: Event,
        context: &mut Context<'_, ()>,
    ) -> Next {
        outbound.on_event(&mut self.0, event, context)
    }

    fn on_close(&mut self, outbound: Box<Outbound>, reason: CloseReason) {
        outbound.on_close(&mut self.0, reason);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        self.0.end_turn(context);
    }
}

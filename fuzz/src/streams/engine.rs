//! A small engine whose connections carry requests on streams, ordered by commands of two bytes.
//!
//! Owns the service, and the form of commands and of what its client receives. Knows no answer.

use std::any::Any;
use std::collections::BTreeMap;

use http::{HeadLimits, HeadValues, Http, KeptHead, Method, Scheme, Stream, StreamContent};
use runtime::output::Output;
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use runtime::streams::{Ending, OutputEnd, StreamId, StreamOffer};
use sys::socket::Peer;

use crate::connection::application::{Echo, NoMessage};

/// Bytes of output that a client takes at first.
const WINDOW: usize = 60;

/// Streams of a connection. Beyond: a further one is not opened.
pub(super) const STREAMS: usize = 32;

/// The requests, one of which a stream makes.
pub(super) const REQUESTS: [(Method, &str); 12] = [
    (Method::Get, "/a"),
    (Method::Post, "/echo?b=c"),
    (Method::Post, "/taken"),
    (Method::Post, "/wait"),
    (Method::Get, "/many"),
    (Method::Get, "/stream"),
    (Method::Post, "/stream"),
    (Method::Head, "/many"),
    (Method::Post, "/ignored"),
    (Method::Post, "/very-late"),
    (Method::Get, "/nothing"),
    (Method::Put, "/taken"),
];

/// A command of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Opens a stream with this request.
    Open(usize),
    /// Passes so many bytes of a body.
    Data(usize, usize),
    /// Ends the input of a stream.
    End(usize),
    /// Lets go of a stream.
    Reset(usize),
    /// Takes so many more bytes.
    Credit(usize, usize),
}

impl Command {
    /// The command that two bytes are.
    pub(super) fn of([first, second]: [u8; 2]) -> Self {
        let (number, more) = (usize::from(first) % STREAMS, usize::from(second));
        match first / 32 {
            0 | 1 => Self::Open(more % REQUESTS.len()),
            2 | 3 => Self::Data(number, more),
            4 => Self::End(number),
            5 => Self::Reset(number),
            _ => Self::Credit(number, more * more),
        }
    }

    /// The bytes that end a stream, and those that take as much as one command can.
    pub(super) fn last_of(number: usize) -> [u8; 4] {
        let number = u8::try_from(number % STREAMS).unwrap_or(0);
        [4 * 32 + number, 0, 6 * 32 + number, 255]
    }
}

/// The next part of the bytes that a client receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Part {
    Head,
    Body,
    End,
    Reset,
}

impl Part {
    const ALL: [Self; 4] = [Self::Head, Self::Body, Self::End, Self::Reset];

    fn put(self, number: usize, length: usize, out: &mut Vec<u8>) {
        let length = u32::try_from(length).expect("a part is small").to_be_bytes();
        out.extend([u8::try_from(number).expect("few streams"), self as u8]);
        out.extend(length);
    }

    /// The first part of received bytes: which stream, what, its content, and the bytes after it.
    pub(super) fn first(received: &[u8]) -> Option<(usize, Self, &[u8], &[u8])> {
        let ([number, part, length @ ..], rest) = received.split_first_chunk::<6>()?;
        let length = u32::from_be_bytes(*length) as usize;
        let (content, rest) = rest.split_at_checked(length)?;
        Some(((*number).into(), Self::ALL[usize::from(*part)], content, rest))
    }
}

/// A stream as its carrier keeps it.
struct Held {
    id: StreamId,
    window: usize,
}

/// A connection.
pub(super) struct Carrier {
    /// All that were opened; `None` for those that are over.
    streams: Vec<Option<Held>>,
    numbers: BTreeMap<StreamId, usize>,
}

pub(super) enum Process {
    Carrier(Box<Carrier>),
    Stream(Stream),
}

/// The service.
pub(super) struct Engine {
    http: Http<Echo>,
    /// The client.
    peer: Option<Peer>,
}

impl Engine {
    pub(super) fn new(http: Http<Echo>) -> Self {
        Self { http, peer: None }
    }
}

impl Carrier {
    fn obey(&mut self, command: Command, context: &mut Context<'_, NoMessage>) {
        let mut streams = context.streams();
        match command {
            Command::Open(request) if self.streams.len() < STREAMS => {
                let id = streams.open(Box::new(request), 0).expect("there is room");
                self.numbers.insert(id, self.streams.len());
                self.streams.push(Some(Held { id, window: WINDOW }));
            }
            Command::Open(_) => {}
            Command::Data(number, size) => {
                if let Some(held) = self.held(number) {
                    // It may be over, without its client knowing it.
                    let _gone = streams.hand(held.id, &vec![b'd'; size]);
                }
            }
            Command::End(number) => {
                if let Some(held) = self.held(number) {
                    streams.end_input(held.id);
                }
            }
            Command::Reset(number) => {
                if let Some(held) = self.streams.get_mut(number).and_then(Option::take) {
                    streams.reset(held.id);
                    self.numbers.remove(&held.id);
                }
            }
            Command::Credit(number, bytes) => {
                if let Some(held) = self.held(number) {
                    held.window += bytes;
                    streams.put_back(held.id);
                }
            }
        }
    }

    fn held(&mut self, number: usize) -> Option<&mut Held> {
        self.streams.get_mut(number)?.as_mut()
    }

    /// Takes what streams have, as far as the client takes it.
    fn pump(&mut self, context: &mut Context<'_, NoMessage>) -> Next {
        while !context.output_is_full()
            && let Some(id) = context.streams().next_ready()
        {
            let number = self.numbers[&id];
            let over = self.pump_one(number, context);
            if over {
                self.streams[number] = None;
                self.numbers.remove(&id);
            }
        }
        if context.output_is_full() { Next::Park } else { Next::Read }
    }

    /// Passes one part on. Returns whether its stream is over.
    fn pump_one(&mut self, number: usize, context: &mut Context<'_, NoMessage>) -> bool {
        let Some(held) = self.held(number) else { return true };
        let _consumed = context.streams().take_consumed(held.id);
        let then = match context.streams().waiting(held.id, held.window) {
            StreamOffer::Nothing | StreamOffer::Body { bytes: 0, .. } => return false,
            StreamOffer::Head { then } => {
                let put = |head: &[u8], output: &mut Output| {
                    Part::Head.put(number, head.len(), output.buffer());
                    output.put(head);
                };
                context.streams().with_head(held.id, put).expect("a head waits");
                then
            }
            StreamOffer::Body { bytes, then } => {
                held.window -= bytes;
                Part::Body.put(number, bytes, context.output.buffer());
                context.streams().take(held.id, bytes);
                then
            }
            StreamOffer::Ended(ending) => {
                let part = if ending == Ending::Finished { Part::End } else { Part::Reset };
                part.put(number, 0, context.output.buffer());
                return true;
            }
        };
        if then == OutputEnd::Ends {
            Part::End.put(number, 0, context.output.buffer());
        }
        then == OutputEnd::Ends
    }
}

/// The head of a request.
fn head_of(number: usize) -> Option<KeptHead> {
    let (method, target) = REQUESTS[number];
    let is_read = matches!(method, Method::Get | Method::Head);
    let follows = if is_read { StreamContent::None } else { StreamContent::Body };
    let (scheme, target, authority) = (Scheme::Http, target.as_bytes(), &b"a"[..]);
    let values = HeadValues { method, scheme, target, authority, follows };
    KeptHead::of_values(&values, std::iter::empty(), &HeadLimits::default()).ok()
}

impl Service for Engine {
    type Process = Process;
    type Message = NoMessage;

    const KINDS: &'static [&'static str] = &["carrier", "stream"];

    fn kind(process: &Process) -> usize {
        usize::from(matches!(process, Process::Stream(_)))
    }

    fn is_idle(_: &Process) -> bool {
        false
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        peer: Peer,
        _: &mut Context<'_, NoMessage>,
    ) -> Option<Process> {
        self.peer = Some(peer);
        let (streams, numbers) = (Vec::new(), BTreeMap::new());
        Some(Process::Carrier(Box::new(Carrier { streams, numbers })))
    }

    fn on_carry(
        &mut self,
        opening: Box<dyn Any>,
        _: &mut Context<'_, NoMessage>,
    ) -> Option<Process> {
        let head = head_of(*opening.downcast().ok()?)?;
        Some(Process::Stream(Stream::new(head, self.peer?, ListenerIndex(0), None)))
    }

    fn on_streams_ready(
        &mut self,
        process: &mut Process,
        context: &mut Context<'_, NoMessage>,
    ) -> Next {
        match process {
            Process::Carrier(carrier) => carrier.pump(context),
            Process::Stream(_) => panic!("a stream carries none"),
        }
    }

    fn on_input(
        &mut self,
        process: &mut Process,
        input: &[u8],
        context: &mut Context<'_, NoMessage>,
    ) -> Progress {
        let carrier = match process {
            Process::Carrier(carrier) => carrier,
            Process::Stream(stream) => return stream.on_input(&mut self.http, input, context),
        };
        let (commands, rest) = input.as_chunks::<2>();
        commands.iter().for_each(|bytes| carrier.obey(Command::of(*bytes), context));
        Progress { consumed: input.len() - rest.len(), next: carrier.pump(context) }
    }

    fn on_event(
        &mut self,
        process: &mut Process,
        event: Event,
        context: &mut Context<'_, NoMessage>,
    ) -> Next {
        match process {
            Process::Carrier(_) if event == Event::InputEnded => Next::Finish,
            Process::Carrier(carrier) => carrier.pump(context),
            Process::Stream(stream) => stream.on_event(&mut self.http, event, context),
        }
    }

    fn on_close(&mut self, process: Process, reason: CloseReason) {
        if let Process::Stream(stream) = process {
            stream.on_close(&mut self.http, reason);
        }
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, NoMessage>) {
        self.http.on_turn_end(context);
    }
}

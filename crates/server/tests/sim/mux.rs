//! A second engine beside HTTP/1: a small multiplexing protocol, whose streams are processes of any service.
//!
//! Owns the windows and the service around another one. It knows no path and no feature: a stream's request is a value,
//! and what answers it is the inner service. HTTP/2 will take its place.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use http::KeptHead;
use runtime::mailbox::Endpoint;
use runtime::output::{FileRegion, Output};
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use runtime::streams::{Ending, OutputEnd, StreamId, StreamOffer};
use sys::socket::Peer;

use crate::mux_frames::{
    DATA, END, Frame, HEAD, OPEN, RESET, WINDOW, credit_of, first_frame, frame, frame_head,
    request_of,
};

/// Bytes of input that may be on the way to a stream, or unread there.
pub(crate) const INPUT_WINDOW: usize = 3_000;

/// Bytes of output that may be on the way to a client at first.
pub(crate) const OUTPUT_WINDOW: usize = 2_000;

/// Most bytes of a frame of data.
const DATA_BYTES: usize = 900;

/// A connection without streams ends after this time.
const IDLE_MS: u64 = 10_000;

/// A service that can answer a request on a stream.
pub(crate) trait OnStreams: Service {
    /// The process of a stream with this request.
    fn on_stream(
        &mut self,
        head: KeptHead,
        peer: Peer,
        context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process>;

    /// A file that a carrier sends is not in memory.
    fn warm(&mut self, region: &FileRegion, context: &mut Context<'_, Self::Message>) -> bool;
}

/// A request whose stream has no process yet.
struct Opening {
    head: KeptHead,
    peer: Peer,
}

/// A stream as its carrier keeps it.
struct Held {
    id: StreamId,
    /// Bytes that the client still takes.
    window: usize,
    /// Bytes of input that were handed and not consumed.
    unread: usize,
}

/// A connection of the protocol.
pub(crate) struct Carrier {
    peer: Peer,
    streams: BTreeMap<u16, Held>,
    numbers: BTreeMap<StreamId, u16>,
    /// The client sends no more, or the server stops.
    is_last: bool,
}

/// The client broke the protocol: its connection ends.
struct Broken;

impl Carrier {
    fn take_frame<M>(
        &mut self,
        frame: Frame<'_>,
        context: &mut Context<'_, M>,
    ) -> Result<(), Broken> {
        let Frame { kind, number, content, .. } = frame;
        if kind == OPEN {
            return self.open(number, content, context);
        }
        // It may have ended while the frame was on its way.
        let Some(held) = self.streams.get_mut(&number) else { return Ok(()) };
        let mut streams = context.streams();
        match kind {
            DATA => {
                if streams.hand(held.id, content).is_ok() {
                    held.unread += content.len();
                }
                if held.unread > INPUT_WINDOW {
                    return Err(Broken);
                }
            }
            END => streams.end_input(held.id),
            RESET => {
                streams.reset(held.id);
                self.forget(number);
            }
            WINDOW => {
                held.window += credit_of(frame).ok_or(Broken)?;
                streams.put_back(held.id);
            }
            _ => return Err(Broken),
        }
        Ok(())
    }

    fn open<M>(
        &mut self,
        number: u16,
        content: &[u8],
        context: &mut Context<'_, M>,
    ) -> Result<(), Broken> {
        let head = request_of(content).ok_or(Broken)?;
        let opening = Opening { head, peer: self.peer };
        let Ok(id) = context.streams().open(Box::new(opening)) else {
            frame(RESET, number, b"", context.output.buffer());
            return Ok(());
        };
        if self.streams.insert(number, Held { id, window: OUTPUT_WINDOW, unread: 0 }).is_some() {
            return Err(Broken);
        }
        self.numbers.insert(id, number);
        context.clear_deadline();
        Ok(())
    }

    fn forget(&mut self, number: u16) {
        if let Some(held) = self.streams.remove(&number) {
            self.numbers.remove(&held.id);
        }
    }

    /// Takes what streams have, one unit each in turn, and says what the connection does next.
    fn pump<M>(&mut self, context: &mut Context<'_, M>) -> Next {
        while !context.output_is_full()
            && let Some(id) = context.streams().next_ready()
        {
            let number = self.numbers[&id];
            self.pump_one(number, context);
        }
        if self.streams.is_empty() {
            if self.is_last {
                return Next::Finish;
            }
            context.set_deadline_after_ms(IDLE_MS);
        }
        if context.output_is_full() { Next::Park } else { Next::Read }
    }

    fn pump_one<M>(&mut self, number: u16, context: &mut Context<'_, M>) {
        let Some(held) = self.streams.get_mut(&number) else { return };
        let consumed = context.streams().take_consumed(held.id);
        if consumed > 0 {
            held.unread -= consumed;
            let credit = u32::try_from(consumed).unwrap().to_be_bytes();
            frame(WINDOW, number, &credit, context.output.buffer());
        }
        let then = match context.streams().waiting(held.id, held.window.min(DATA_BYTES)) {
            StreamOffer::Nothing | StreamOffer::Body { bytes: 0, .. } => return,
            StreamOffer::Head { then } => {
                let put = |head: &[u8], output: &mut Output| {
                    frame(HEAD, number, head, output.buffer());
                };
                context.streams().with_head(held.id, put).expect("a head waits");
                then
            }
            StreamOffer::Body { bytes, then } => {
                held.window -= bytes;
                frame_head(DATA, number, bytes, context.output.buffer());
                context.streams().take(held.id, bytes);
                then
            }
            StreamOffer::Ended(ending) => {
                let kind = if ending == Ending::Finished { END } else { RESET };
                frame(kind, number, b"", context.output.buffer());
                return self.forget(number);
            }
        };
        if then == OutputEnd::Ends {
            frame(END, number, b"", context.output.buffer());
            self.forget(number);
        }
    }

    fn on_event<M>(&mut self, event: Event, context: &mut Context<'_, M>) -> Next {
        match event {
            Event::InputEnded | Event::PeerFinished | Event::Draining => self.is_last = true,
            Event::DeadlineReached if self.streams.is_empty() => return Next::Finish,
            Event::Overloaded => return Next::Abort,
            _ => {}
        }
        self.pump(context)
    }
}

/// A process: a connection of the protocol, or one of the inner service.
pub(crate) enum Process<P> {
    Carrier(Box<Carrier>),
    Inner(P),
}

/// A service whose connections carry streams of the inner one.
pub(crate) struct Mux<S> {
    pub(crate) inner: S,
}

impl<S> Mux<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: OnStreams> Service for Mux<S> {
    type Process = Process<S::Process>;
    type Message = S::Message;

    // Carriers are counted as what they stand beside.
    const KINDS: &'static [&'static str] = S::KINDS;

    fn kind(process: &Self::Process) -> usize {
        match process {
            Process::Carrier(_) => 0,
            Process::Inner(inner) => S::kind(inner),
        }
    }

    fn is_idle(process: &Self::Process) -> bool {
        match process {
            Process::Carrier(carrier) => carrier.streams.is_empty(),
            Process::Inner(inner) => S::is_idle(inner),
        }
    }

    fn inbox_bytes(process: &Self::Process) -> usize {
        match process {
            Process::Carrier(_) => 2 * INPUT_WINDOW + 70_000,
            Process::Inner(inner) => S::inbox_bytes(inner),
        }
    }

    fn held_bytes(process: &Self::Process) -> usize {
        match process {
            Process::Carrier(_) => 0,
            Process::Inner(inner) => S::held_bytes(inner),
        }
    }

    fn client(process: &Self::Process) -> Option<IpAddr> {
        match process {
            Process::Carrier(carrier) => Some(carrier.peer.address),
            Process::Inner(inner) => S::client(inner),
        }
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process> {
        context.set_deadline_after_ms(IDLE_MS);
        let (streams, numbers) = (BTreeMap::new(), BTreeMap::new());
        Some(Process::Carrier(Box::new(Carrier { peer, streams, numbers, is_last: false })))
    }

    fn on_carry(
        &mut self,
        opening: Box<dyn Any>,
        context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process> {
        let Opening { head, peer } = *opening.downcast().ok()?;
        self.inner.on_stream(head, peer, context).map(Process::Inner)
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_, Self::Message>,
    ) -> Option<Self::Process> {
        self.inner.on_connect(ticket, begun, context).map(Process::Inner)
    }

    fn on_streams_ready(
        &mut self,
        process: &mut Self::Process,
        context: &mut Context<'_, Self::Message>,
    ) -> Next {
        match process {
            Process::Carrier(carrier) => carrier.pump(context),
            Process::Inner(inner) => self.inner.on_streams_ready(inner, context),
        }
    }

    fn on_input(
        &mut self,
        process: &mut Self::Process,
        input: &[u8],
        context: &mut Context<'_, Self::Message>,
    ) -> Progress {
        let carrier = match process {
            Process::Carrier(carrier) => carrier,
            Process::Inner(inner) => return self.inner.on_input(inner, input, context),
        };
        let mut consumed = 0;
        while let Some(frame) = first_frame(&input[consumed..]) {
            if carrier.take_frame(frame, context).is_err() {
                return Progress { consumed: input.len(), next: Next::Abort };
            }
            consumed += frame.length;
        }
        Progress { consumed, next: carrier.pump(context) }
    }

    fn on_event(
        &mut self,
        process: &mut Self::Process,
        event: Event,
        context: &mut Context<'_, Self::Message>,
    ) -> Next {
        match process {
            Process::Carrier(carrier) => carrier.on_event(event, context),
            Process::Inner(inner) => self.inner.on_event(inner, event, context),
        }
    }

    fn on_cold_file(
        &mut self,
        process: &Self::Process,
        region: &FileRegion,
        context: &mut Context<'_, Self::Message>,
    ) -> bool {
        match process {
            Process::Carrier(_) => self.inner.warm(region, context),
            Process::Inner(inner) => self.inner.on_cold_file(inner, region, context),
        }
    }

    fn on_close(&mut self, process: Self::Process, reason: CloseReason) {
        if let Process::Inner(inner) = process {
            self.inner.on_close(inner, reason);
        }
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, Self::Message>) {
        self.inner.on_start(context);
    }

    fn on_message(
        &mut self,
        from: Endpoint,
        message: Self::Message,
        context: &mut ServiceContext<'_, Self::Message>,
    ) {
        self.inner.on_message(from, message, context);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Self::Message>) {
        self.inner.on_turn_end(context);
    }

    fn on_stop(&mut self, context: &mut ServiceContext<'_, Self::Message>) {
        self.inner.on_stop(context);
    }
}

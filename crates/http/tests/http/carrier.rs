//! A service whose connections carry one stream each: a line with the head, then the body, until the client ends its
//! output. The method CONNECT asks for a protocol that returns everything in capitals.
//!
//! Stands in for a protocol with streams, so that [`Stream`] can be tested without one.

use std::rc::Rc;

use http::{
    Application, HeadLimits, HeadValues, Http, KeptHead, Method, Scheme, Stream, StreamContent,
};
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use sys::socket::Peer;

pub(crate) struct Carrier<A>(pub(crate) Http<A>);

pub(crate) enum Process {
    /// The head has not come yet.
    Opening(Peer),
    Open(Stream),
    /// A stream that has changed to the other protocol.
    Shout,
}

/// The head in a line: a method, a target, and perhaps fields, separated by blanks, as in `POST /a content-length=3`.
fn head_of(line: &str) -> Option<KeptHead> {
    let mut words = line.split(' ');
    let (method, follows) = match words.next()? {
        "CONNECT" => (Method::Get, StreamContent::Protocol(b"shout")),
        word => {
            let method = Method::ALL.into_iter().find(|known| known.as_str() == word)?;
            let is_read = matches!(method, Method::Get | Method::Head);
            (method, if is_read { StreamContent::None } else { StreamContent::Body })
        }
    };
    let (scheme, target, authority) = (Scheme::Http, words.next()?.as_bytes(), &b"a.example"[..]);
    let values = HeadValues { method, scheme, target, authority, follows };
    let fields = words.filter_map(|word| word.split_once('='));
    let fields = fields.map(|(name, value)| (name, value.as_bytes()));
    KeptHead::of_values(&values, fields, &HeadLimits::default()).ok()
}

impl<A: Application<Message = ()>> Carrier<A> {
    fn open(
        &mut self,
        process: &mut Process,
        peer: Peer,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
            return Progress { consumed: 0, next: Next::Read };
        };
        let Some(head) = std::str::from_utf8(&input[..end]).ok().and_then(head_of) else {
            return Progress { consumed: input.len(), next: Next::Abort };
        };
        // As if the transport of the connection encrypted.
        let secured = Some(Rc::default());
        *process = Process::Open(Stream::new(head, peer, ListenerIndex(0), secured));
        let Process::Open(stream) = process else { unreachable!("it was just made") };
        let (mut consumed, mut next) = (end + 1, stream.begin(&mut self.0, context));
        if next == Next::Read && consumed < input.len() {
            let progress = stream.on_input(&mut self.0, &input[consumed..], context);
            (consumed, next) = (consumed + progress.consumed, progress.next);
        }
        Progress { consumed, next: changed(process, next, context) }
    }
}

/// A stream whose answer says so is one of the other protocol.
fn changed(process: &mut Process, next: Next, context: &mut Context<'_, ()>) -> Next {
    if next == Next::Changed {
        *process = Process::Shout;
        context.clear_deadline();
    }
    next
}

impl<A: Application<Message = ()>> Service for Carrier<A> {
    type Process = Process;
    type Message = ();

    const KINDS: &'static [&'static str] = &["stream", "shout"];

    fn kind(process: &Process) -> usize {
        usize::from(matches!(process, Process::Shout))
    }

    fn is_idle(_: &Process) -> bool {
        false
    }

    fn held_bytes(process: &Process) -> usize {
        match process {
            Process::Opening(_) | Process::Shout => 0,
            Process::Open(stream) => stream.held_bytes(),
        }
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        peer: Peer,
        _: &mut Context<'_, ()>,
    ) -> Option<Process> {
        Some(Process::Opening(peer))
    }

    fn on_input(
        &mut self,
        process: &mut Process,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        match process {
            Process::Opening(peer) => {
                let peer = *peer;
                self.open(process, peer, input, context)
            }
            Process::Open(stream) => {
                let progress = stream.on_input(&mut self.0, input, context);
                Progress { next: changed(process, progress.next, context), ..progress }
            }
            Process::Shout => {
                context.output.put(&input.to_ascii_uppercase());
                Progress { consumed: input.len(), next: Next::Read }
            }
        }
    }

    fn on_event(
        &mut self,
        process: &mut Process,
        event: Event,
        context: &mut Context<'_, ()>,
    ) -> Next {
        match process {
            Process::Opening(_) | Process::Shout if event == Event::InputEnded => Next::Finish,
            Process::Opening(_) | Process::Shout => Next::Read,
            Process::Open(stream) => {
                let next = stream.on_event(&mut self.0, event, context);
                changed(process, next, context)
            }
        }
    }

    fn on_close(&mut self, process: Process, reason: CloseReason) {
        if let Process::Open(stream) = process {
            stream.on_close(&mut self.0, reason);
        }
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        self.0.settle(context);
        A::on_turn_end(&mut self.0, context);
    }
}

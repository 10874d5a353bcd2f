//! A proxy, as small as it can be: forwards every request to one server, bodies and other protocols in both directions.
//!
//! Owns nothing that it forwards: what one side does not take stays with the other.

use std::io;
use std::rc::Rc;

use client::{
    Anywhere, Client, ContinueWait, ExchangeId, ExchangeNews, Outbound, OutgoingBody,
    OutgoingRequest, Requester, Url,
};
use runtime::Peer;
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};
use runtime::slots::ProcessId;
use wire::http::body::{BodyDecoder, BodyLimits, BodyPiece, write_chunk};
use wire::http::fields::FieldList;
use wire::http::head::{FieldSlots, Framing, Head, HeadLimits, parse};
use wire::http::url::Scheme;

/// Bytes that wait for a client: beyond this, its answer is left where it is.
const OUTPUT: usize = 64 * 1024;

#[derive(Default)]
pub(crate) struct Proxy {
    pub(crate) client: Client,
    /// Clients whose output may have been sent at once, and whose answers go on.
    again: Vec<ProcessId>,
    /// The most that one exchange held in each direction, input and output of its client included.
    pub(crate) most_up: usize,
    pub(crate) most_down: usize,
}

pub(crate) enum Process {
    Down(Down),
    Up(Box<Outbound>),
}

/// A client's connection.
pub(crate) struct Down {
    exchange: Option<ExchangeId>,
    request: Phase,
    answer: Coding,
}

enum Phase {
    Head,
    Body(BodyDecoder),
    Sent,
    Tunnel,
}

#[derive(Clone, Copy, PartialEq)]
enum Coding {
    None,
    AsItIs,
    Chunked,
}

impl Down {
    fn read(&mut self, proxy: &mut Proxy, input: &[u8], context: &mut Context<'_, ()>) -> Progress {
        let now_ns = context.now.monotonic_ns;
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            match (&mut self.request, self.exchange) {
                (Phase::Head, _) if !rest.is_empty() => match self.begin(proxy, rest, context) {
                    Some(0) => break,
                    Some(length) => consumed += length,
                    None => return Progress { consumed: input.len(), next: Next::Abort },
                },
                (Phase::Body(decoder), Some(id)) => {
                    let window = &rest[..rest.len().min(proxy.client.room(id))];
                    let Ok((used, piece)) = decoder.next(window) else {
                        return Progress { consumed: input.len(), next: Next::Abort };
                    };
                    consumed += used;
                    if let BodyPiece::Data(data) = piece {
                        assert_eq!(proxy.client.send(id, data, now_ns), data.len());
                    }
                    if decoder.is_over() {
                        proxy.client.end_body(id, &FieldList::new(), now_ns);
                        self.request = Phase::Sent;
                    } else if used == 0 {
                        break;
                    }
                }
                (Phase::Tunnel, Some(id)) => {
                    consumed += proxy.client.send(id, rest, now_ns);
                    break;
                }
                _ => break,
            }
        }
        proxy.measure_up(self.exchange, input.len() - consumed);
        let next = self.answer(proxy, context);
        if consumed < input.len() && self.exchange.is_none() {
            // The answer has ended meanwhile, and the next request may be here.
            proxy.again.push(context.id);
        }
        let is_held = consumed < input.len() && !matches!(self.request, Phase::Head);
        let next = if next == Next::Read && is_held { Next::Park } else { next };
        Progress { consumed, next }
    }

    fn begin(
        &mut self,
        proxy: &mut Proxy,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Option<usize> {
        let mut slots = FieldSlots::default();
        let Head::Complete { request, length } =
            parse(input, Scheme::Http, &HeadLimits::default(), &mut slots).ok()?
        else {
            return Some(0);
        };
        let (path, _query) = request.split_target();
        let url = format!("http://10.0.0.9{}", str::from_utf8(path).ok()?);
        let url = Url::parse(url.as_bytes()).ok()?;
        let requester = Requester::Process(context.id);
        let plain =
            OutgoingRequest::new(request.method.as_str(), url, Rc::new(Anywhere), requester);
        let upgrade = request.upgrade.map(|protocol| String::from_utf8_lossy(protocol).into());
        let body = match request.framing {
            Framing::None => OutgoingBody::None,
            Framing::Length(length) => OutgoingBody::Streamed(Some(length)),
            Framing::Chunked => OutgoingBody::Streamed(None),
        };
        let expects = request.expects_continue;
        let expectation = if expects { ContinueWait::Continue } else { ContinueWait::Nothing };
        let mut forwarded = OutgoingRequest { body, upgrade, expectation, ..plain };
        for (name, value) in request.fields.iter() {
            forwarded.fields.add_as_spelt(name, value).ok()?;
        }
        let id = proxy.client.begin(forwarded, context.now.monotonic_ns).ok()?;
        let limits = BodyLimits { body_size: u64::MAX, ..BodyLimits::default() };
        let decoder = BodyDecoder::new(request.framing, &limits).ok()?;
        self.request = if decoder.is_over() { Phase::Sent } else { Phase::Body(decoder) };
        self.exchange = Some(id);
        self.answer = Coding::None;
        Some(length)
    }

    /// Passes on what there is of the answer, and says whether to read the client.
    fn answer(&mut self, proxy: &mut Proxy, context: &mut Context<'_, ()>) -> Next {
        let before = context.output.queued_bytes();
        while let Some(id) = self.exchange {
            let room = OUTPUT.saturating_sub(context.queued_bytes());
            let Some(news) = proxy.client.next(id, room, context.now.monotonic_ns) else {
                let wrote = context.output.queued_bytes() > before;
                if proxy.client.is_answer_left(id) && wrote {
                    proxy.again.push(context.id);
                }
                break;
            };
            match news {
                ExchangeNews::Interim(head) => write_head(&head, context.output.buffer()),
                ExchangeNews::Head(mut head) => {
                    let is_tunnel = head.status == 101;
                    let fields = head.fields.fields();
                    let has_length = fields.has("content-length");
                    let is_plain = is_tunnel || has_length || head.status == 204;
                    self.answer = if is_plain { Coding::AsItIs } else { Coding::Chunked };
                    if is_tunnel {
                        self.request = Phase::Tunnel;
                    } else if !is_plain && !fields.has("transfer-encoding") {
                        let _fits = head.fields.add("Transfer-Encoding", b"chunked");
                    }
                    write_head(&head, context.output.buffer());
                }
                ExchangeNews::Body(bytes) if self.answer == Coding::Chunked => {
                    write_chunk(context.output.buffer(), &bytes);
                }
                ExchangeNews::Body(bytes) => context.output.put(&bytes),
                ExchangeNews::Room => {}
                ExchangeNews::Trailers(_) => {}
                ExchangeNews::End => return self.end(context),
                ExchangeNews::Failed(_) => {
                    self.exchange = None;
                    if self.answer != Coding::None {
                        return Next::Abort;
                    }
                    context.output.put(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
                    return Next::Linger;
                }
            }
        }
        proxy.measure_down(self.exchange, context.queued_bytes());
        Next::Read
    }

    fn end(&mut self, context: &mut Context<'_, ()>) -> Next {
        self.exchange = None;
        if self.answer == Coding::Chunked {
            context.output.put(b"0\r\n\r\n");
        }
        if !matches!(self.request, Phase::Sent) {
            return Next::Linger;
        }
        self.request = Phase::Head;
        Next::Read
    }
}

impl Proxy {
    fn measure_up(&mut self, id: Option<ExchangeId>, unread: usize) {
        let held = id.map_or(0, |id| self.client.held(id).request + client::limits::OUTPUT_BYTES);
        self.most_up = self.most_up.max(held + unread);
    }

    fn measure_down(&mut self, id: Option<ExchangeId>, queued: usize) {
        let held = id.map_or(0, |id| self.client.held(id).answer);
        self.most_down = self.most_down.max(held + queued);
    }
}

fn write_head(head: &client::ResponseHead, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("HTTP/1.1 {} \r\n", head.status).as_bytes());
    out.extend_from_slice(head.fields.fields().lines());
    out.extend_from_slice(b"\r\n");
}

impl Service for Proxy {
    type Process = Process;
    type Message = ();

    const KINDS: &'static [&'static str] = &["down", "up"];

    fn kind(process: &Process) -> usize {
        usize::from(matches!(process, Process::Up(_)))
    }

    fn is_idle(process: &Process) -> bool {
        match process {
            Process::Down(down) => down.exchange.is_none(),
            Process::Up(outbound) => outbound.is_idle(),
        }
    }

    fn on_accept(
        &mut self,
        _listener: ListenerIndex,
        _peer: Peer,
        _context: &mut Context<'_, ()>,
    ) -> Option<Process> {
        let (exchange, request, answer) = (None, Phase::Head, Coding::None);
        Some(Process::Down(Down { exchange, request, answer }))
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_, ()>,
    ) -> Option<Process> {
        self.client.on_connect(ticket, begun, context).map(|outbound| Process::Up(outbound.into()))
    }

    fn on_input(
        &mut self,
        process: &mut Process,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        match process {
            Process::Down(down) => down.read(self, input, context),
            Process::Up(outbound) => outbound.on_input(&mut self.client, input, context),
        }
    }

    fn on_event(
        &mut self,
        process: &mut Process,
        event: Event,
        context: &mut Context<'_, ()>,
    ) -> Next {
        match (process, event) {
            (Process::Up(outbound), _) => outbound.on_event(&mut self.client, event, context),
            (Process::Down(down), Event::Resumed | Event::OutputDrained) => {
                down.answer(self, context)
            }
            (Process::Down(down), Event::InputEnded) => match (&down.request, down.exchange) {
                (Phase::Sent, Some(_)) => Next::Read,
                (Phase::Tunnel, Some(id)) => {
                    let now_ns = context.now.monotonic_ns;
                    self.client.end_body(id, &FieldList::new(), now_ns);
                    Next::Read
                }
                _ => Next::Finish,
            },
            (Process::Down(_), Event::PeerFinished) => Next::Park,
            (Process::Down(_), _) => Next::Finish,
        }
    }

    fn on_close(&mut self, process: Process, reason: CloseReason) {
        match process {
            Process::Down(down) => {
                down.exchange.into_iter().for_each(|id| self.client.cancel(id));
            }
            Process::Up(outbound) => outbound.on_close(&mut self.client, reason),
        }
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        for process in self.again.drain(..) {
            context.command(SchedulerCommand::Run(process));
        }
        self.client.end_turn(context);
    }
}

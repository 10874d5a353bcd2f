//! Shared connections: exchanges as the streams of HTTP/2 (RFC 9113).
//!
//! Owns what an event means for such a connection. `input` takes frames, `answers` says what they mean for an exchange,
//! `requests` sends, `ending` ends streams and the connection. Never chooses a connection: the pool does.

mod answers;
mod ending;
mod input;
mod requests;

use std::rc::Rc;

use runtime::service::{Context, Event, Next, Progress, SchedulerCommand};

use crate::client::Client;
use crate::h2::{Http2, Phase, StreamOrder};
use crate::limits::OUTPUT_BYTES;
use crate::outbound::{End, Outbound};
use crate::pool::Promise;

/// One run of a connection.
struct Run<'r> {
    client: &'r mut Client,
    outbound: &'r mut Outbound,
    link: &'r mut Http2,
    out: &'r mut Vec<u8>,
    /// Length of the output when the run began.
    begun_at: usize,
    /// Length of the output up to which content is added.
    room_end: usize,
}

impl Client {
    /// A connection that others may share is one that serves one exchange after the other.
    pub(crate) fn begin_unshared(&mut self, outbound: &mut Outbound) {
        if std::mem::replace(&mut outbound.promise, Promise::None) == Promise::Shared {
            self.pool.disappoint(&outbound.to);
            self.serve_line(&outbound.to);
        }
    }

    /// A connection that others wait for fails. Its exchange may try another address, and then they wait for that one.
    pub(crate) fn break_promise(&mut self, outbound: &mut Outbound) {
        if std::mem::replace(&mut outbound.promise, Promise::None) == Promise::Shared {
            self.pool.break_promise(&outbound.to);
        }
    }

    /// A connection speaks HTTP/2: its exchange begins, and those in line join it.
    pub(crate) fn begin_shared<M>(
        &mut self,
        outbound: &mut Outbound,
        context: &mut Context<'_, M>,
    ) -> Next {
        if outbound.exchange.is_some_and(|id| self.exchanges.running(id).is_none()) {
            // It was given up meanwhile, and its connection with it.
            return Next::Abort;
        }
        context.clear_deadline();
        let link = Http2::begin(context.now.monotonic_ns, context.output.buffer());
        outbound.h2 = Some(Box::new(link));
        self.counted.http2_connections += 1;
        outbound.promise = Promise::None;
        self.pool.share(&outbound.to, outbound.address, outbound.id);
        if let Some(id) = outbound.exchange.take() {
            if let Some(exchange) = self.exchanges.running(id) {
                exchange.stream = Some(0);
            }
            self.orders.add(outbound.id, StreamOrder::Begin(id));
        }
        self.serve_line(&Rc::clone(&outbound.to));
        self.run_shared(outbound, context, |_| {})
    }

    /// Frames have arrived.
    pub(crate) fn take_frames<M>(
        &mut self,
        outbound: &mut Outbound,
        input: &[u8],
        context: &mut Context<'_, M>,
    ) -> Progress {
        let mut consumed = input.len();
        let next = self.run_shared(outbound, context, |run| {
            run.link.heard_ns = run.link.now_ns;
            match run.take_input(input) {
                Ok(taken) => consumed = taken,
                Err(broken) => run.break_off(broken),
            }
        });
        Progress { consumed, next }
    }

    /// Another event of a shared connection.
    pub(crate) fn on_shared_event<M>(
        &mut self,
        outbound: &mut Outbound,
        event: Event,
        context: &mut Context<'_, M>,
    ) -> Next {
        match event {
            Event::InputEnded => {
                self.forget_idle(outbound);
                self.end_streams(outbound, End::Orderly);
                Next::Finish
            }
            Event::Overloaded => Next::Abort,
            Event::Draining => self.run_shared(outbound, context, |run| run.retire()),
            Event::DeadlineReached => self.run_shared(outbound, context, |run| run.on_deadline()),
            // Others say that there may be something to do, or cannot come once it is established.
            Event::OutputDrained
            | Event::Resumed
            | Event::PeerFinished
            | Event::Connected
            | Event::ConnectFailed(_) => self.run_shared(outbound, context, |_| {}),
        }
    }

    /// Runs a connection: does this, then what exchanges have ordered, then sends.
    fn run_shared<M>(
        &mut self,
        outbound: &mut Outbound,
        context: &mut Context<'_, M>,
        act: impl FnOnce(&mut Run<'_>),
    ) -> Next {
        let Some(mut link) = outbound.h2.take() else { return Next::Abort };
        let queued = context.queued_bytes();
        if queued == 0 {
            link.owed_frames = 0;
        }
        let streams = link.streams.len();
        link.now_ns = context.now.monotonic_ns;
        link.budget.on_time(link.now_ns / 1_000_000_000);
        let out = context.output.buffer();
        let begun_at = out.len();
        let room_end = begun_at + OUTPUT_BYTES.saturating_sub(queued);
        let mut run = Run { client: self, outbound, link: &mut link, out, begun_at, room_end };
        if run.link.phase != Phase::Over {
            act(&mut run);
            run.obey();
            run.send();
        }
        if context.is_draining() && !link.is_leaving() {
            link.phase = Phase::Leaving(None);
            self.forget_idle(outbound);
        }
        self.counted.http2_streams = self.counted.http2_streams + link.streams.len() - streams;
        let next = link.set_timer(context);
        outbound.h2 = Some(link);
        next
    }
}

impl Run<'_> {
    /// Has the connection run again.
    fn again(&mut self) {
        self.client.commands.push(SchedulerCommand::Run(self.outbound.id));
    }
}

//! The small application on streams.
//!
//! Owns a service of streams alone: it accepts no connection itself.

use http::{Http, KeptHead, Stream};
use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use sys::socket::Peer;

use crate::mux::OnStreams;
use crate::small::{Order, Small};

pub(crate) struct SmallOnStreams(pub(crate) Http<Small>);

/// No stream of the small application changes into something else.
fn alone(next: Next) -> Next {
    assert_ne!(next, Next::Changed);
    next
}

impl OnStreams for SmallOnStreams {
    fn on_stream(
        &mut self,
        head: KeptHead,
        peer: Peer,
        _: &mut Context<'_, Order>,
    ) -> Option<Stream> {
        Some(Stream::new(head, peer, ListenerIndex(0), None))
    }

    fn warm(&mut self, region: &FileRegion, context: &mut Context<'_, Order>) -> bool {
        self.0.warm(region, context)
    }
}

impl Service for SmallOnStreams {
    type Process = Stream;
    type Message = Order;

    const KINDS: &'static [&'static str] = &["stream"];

    fn kind(_: &Stream) -> usize {
        0
    }

    fn is_idle(_: &Stream) -> bool {
        false
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        _: &mut Context<'_, Order>,
    ) -> Option<Stream> {
        None
    }

    fn on_input(
        &mut self,
        stream: &mut Stream,
        input: &[u8],
        context: &mut Context<'_, Order>,
    ) -> Progress {
        let progress = stream.on_input(&mut self.0, input, context);
        Progress { next: alone(progress.next), ..progress }
    }

    fn on_event(
        &mut self,
        stream: &mut Stream,
        event: Event,
        context: &mut Context<'_, Order>,
    ) -> Next {
        alone(stream.on_event(&mut self.0, event, context))
    }

    fn on_close(&mut self, stream: Stream, reason: CloseReason) {
        stream.on_close(&mut self.0, reason);
    }

    fn on_message(
        &mut self,
        from: Endpoint,
        message: Order,
        context: &mut ServiceContext<'_, Order>,
    ) {
        self.0.on_message(from, message, context);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Order>) {
        self.0.on_turn_end(context);
    }
}

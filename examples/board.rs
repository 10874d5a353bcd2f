//! A news board on all schedulers: each line that a client sends is published to a channel to which all clients are
//! subscribed. `cargo run --release --example board -- 127.0.0.1:8080`, then `nc 127.0.0.1 8080`

use std::sync::Arc;

use velodrome::Peer;
use velodrome::channels::{ChannelLetter, Channels, Format, Payload, Subscriber, Subscription};
use velodrome::launch::{Speaks, serve};
use velodrome::mailbox::Endpoint;
use velodrome::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};

/// The channel.
const NEWS: &str = "news";

/// The board on one scheduler.
#[derive(Default)]
pub(crate) struct Board {
    /// Created when the scheduler begins, which knows the number of schedulers.
    channels: Option<Channels>,
}

impl Service for Board {
    type Process = Subscription;
    /// The messages that channels of different schedulers exchange.
    type Message = Box<ChannelLetter>;
    const KINDS: &'static [&'static str] = &["reader"];

    fn kind(_: &Subscription) -> usize {
        0
    }

    fn is_idle(_: &Subscription) -> bool {
        false
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, Box<ChannelLetter>>) {
        let here = context.mail.endpoint();
        let all = context.mail.schedulers().count() + 1;
        let all = u16::try_from(all).unwrap_or(u16::MAX);
        // All schedulers have the same seed, by which each finds a channel's home, and the same rules: the defaults.
        self.channels = Some(Channels::new(here, all, 42, Arc::default()));
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        context: &mut Context<'_, Box<ChannelLetter>>,
    ) -> Option<Subscription> {
        let channels = self.channels.as_mut()?;
        let subscriber = Subscriber { process: context.id, format: Format::EventStream };
        let right = channels.server_right(NEWS);
        channels.subscribe(&right.to_subscribe(), subscriber, None, context.output.buffer()).ok()
    }

    fn on_input(
        &mut self,
        _: &mut Subscription,
        input: &[u8],
        context: &mut Context<'_, Box<ChannelLetter>>,
    ) -> Progress {
        let consumed = input.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let Some(channels) = &mut self.channels else {
            return Progress { consumed, next: Next::Abort };
        };
        let right = channels.server_right(NEWS);
        for line in input[..consumed].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let (body, now_ms) = (Payload::of_bytes(line), context.now.monotonic_ms());
            if let Err(refusal) = channels.publish(&right.to_publish(), body, None, now_ms) {
                context.output.put(format!(": {refusal}\n\n").as_bytes());
            }
        }
        Progress { consumed, next: Next::Read }
    }

    fn on_event(
        &mut self,
        subscription: &mut Subscription,
        event: Event,
        _: &mut Context<'_, Box<ChannelLetter>>,
    ) -> Next {
        let Some(channels) = &mut self.channels else { return Next::Abort };
        let own = std::slice::from_ref(subscription);
        match event {
            Event::OutputDrained => channels.on_drained(own),
            Event::Resumed if channels.is_too_slow(own) => return Next::Finish,
            Event::InputEnded => return Next::Finish,
            _ => {}
        }
        Next::Read
    }

    fn on_close(&mut self, subscription: Subscription, _: CloseReason) {
        if let Some(channels) = &mut self.channels {
            channels.unsubscribe(subscription);
        }
    }

    fn on_message(
        &mut self,
        from: Endpoint,
        letter: Box<ChannelLetter>,
        context: &mut ServiceContext<'_, Box<ChannelLetter>>,
    ) {
        if let Some(channels) = &mut self.channels {
            channels.on_letter(from, *letter, context);
        }
    }

    /// Messages that were published in a turn are sent at its end.
    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Box<ChannelLetter>>) {
        if let Some(channels) = &mut self.channels {
            channels.end_turn(context);
        }
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    serve(&address, Speaks::Either, Board::default)
}

//! An event stream of a client (HTML, section 9.2): a subscriber that sends nothing.
//!
//! Owns its session: a subscription, and a comment from time to time, so that proxies do not
//! consider the connection dead.

use channels::{ChannelRefusal, Format, KeptRight, Position, Subscriber, Subscription};
use runtime::arrival::Arrival;
use runtime::service::{Event, Next, Progress};

use super::lease::Lease;
use crate::message::Context;
use crate::site::Site;

/// An event stream.
#[derive(Debug)]
pub struct EventStream {
    name: Box<str>,
    /// `None` once the stream is over.
    subscription: Option<Subscription>,
    lease: Lease,
}

impl EventStream {
    /// Starts a stream of a channel at a position.
    pub(super) fn open(
        right: KeptRight,
        since: Option<Position>,
        lease: Lease,
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> Result<Self, ChannelRefusal> {
        let subscriber = Subscriber { process: context.id, format: Format::EventStream };
        let (mut channels, out) = (site.channels(), context.output.buffer());
        let subscription = channels.subscribe(&right.to_subscribe(), subscriber, since, out)?;
        let name = right.name().into();
        context.set_deadline_after_ms(lease.quiet_ms(context.now));
        Ok(Self { name, subscription: Some(subscription), lease })
    }

    pub(super) fn arrival(&self) -> Arrival {
        self.lease.arrival()
    }

    /// Input from the client has no meaning.
    pub(super) fn on_input(input: &[u8]) -> Progress {
        Progress { consumed: input.len(), next: Next::Read }
    }

    pub(super) fn on_event(
        &mut self,
        site: &mut Site,
        event: Event,
        context: &mut Context<'_>,
    ) -> Next {
        let own = self.subscription.as_slice();
        match event {
            Event::OutputDrained => {
                site.channels().on_drained(own);
                context.set_deadline_after_ms(self.lease.quiet_ms(context.now));
                Next::Read
            }
            Event::Resumed
                if site.channels().is_too_slow(own)
                    || site
                        .channels()
                        .take_dismissal(context.id)
                        .is_some_and(|dismissal| dismissal.is_from(&self.name)) =>
            {
                Next::Finish
            }
            Event::DeadlineReached
                if self.lease.end_if_over(context.now)
                    && !site.channels().still_allows(&self.name, self.lease.rights()) =>
            {
                // If the browser reconnects with the same token it is refused, and stays away.
                context.output.put(b"event: expired\ndata: the token has expired\n\n");
                Next::Finish
            }
            Event::DeadlineReached => {
                context.output.put(b":\n\n");
                context.set_deadline_after_ms(self.lease.quiet_ms(context.now));
                Next::Read
            }
            // A request without a body ends its stream's input; a client that has gone resets the stream.
            Event::InputEnded if context.is_stream() => Next::Read,
            Event::Resumed | Event::PeerFinished => Next::Read,
            // A browser reconnects, and names the last event it received.
            Event::InputEnded | Event::Draining | Event::Overloaded => Next::Finish,
            Event::Connected | Event::ConnectFailed(_) => Next::Abort,
        }
    }

    /// Ends the subscription: from now on the client does not count as a subscriber.
    pub(super) fn leave(&mut self, site: &mut Site) {
        if let Some(subscription) = self.subscription.take() {
            site.channels().unsubscribe(subscription);
        }
    }

    pub(super) fn on_close(mut self, site: &mut Site) {
        self.leave(site);
    }
}

//! The process of a link's connection.
//!
//! Owns which event means what for the link, as long as it is the link's: one that was given up is of no use.

use cluster::{LinkEncryption, LinkFault};
use runtime::service::{Event, Next, Progress};
use runtime::transport::Violation;

use super::{ClusterLink, Way};
use crate::message::Context;

/// The process of a link's connection.
#[derive(Debug)]
pub struct LinkConnection {
    /// The number under which it was asked for.
    ticket: u64,
}

impl LinkConnection {
    pub(super) fn new(ticket: u64) -> Self {
        Self { ticket }
    }

    /// Whether this is still the connection of the link.
    fn is_of(&self, link: &ClusterLink) -> bool {
        self.ticket == link.ticket
    }

    fn close(&self, link: &mut ClusterLink, fault: LinkFault, now_ms: u64) {
        if self.is_of(link) {
            link.way = Way::None;
            link.ticket += 1;
            link.link.on_closed(fault, now_ms);
        }
    }

    /// The handshake of its transport is over.
    pub(in crate::conn) fn on_agreed(
        &self,
        link: &mut ClusterLink,
        context: &mut Context<'_>,
    ) -> Next {
        self.open(link, context)
    }

    fn open(&self, link: &mut ClusterLink, context: &mut Context<'_>) -> Next {
        if !self.is_of(link) {
            return Next::Abort;
        }
        link.way = Way::Connection(context.id);
        link.link.on_connected(context.now.monotonic_ms());
        Next::Read
    }

    pub(in crate::conn) fn on_input(
        &self,
        link: &mut ClusterLink,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        let whole = input.len();
        if !self.is_of(link) {
            return Progress { consumed: whole, next: Next::Abort };
        }
        let now_ms = context.now.monotonic_ms();
        match link.link.on_input(input, now_ms) {
            Ok(consumed) => {
                if let Some(output) = link.link.take_output(0) {
                    context.output.put(&output);
                }
                Progress { consumed, next: Next::Read }
            }
            Err(fault) => {
                self.close(link, fault, now_ms);
                Progress { consumed: whole, next: Next::Abort }
            }
        }
    }

    pub(in crate::conn) fn on_event(
        &self,
        link: &mut ClusterLink,
        event: Event,
        context: &mut Context<'_>,
    ) -> Next {
        let now_ms = context.now.monotonic_ms();
        match event {
            // The handshake comes first.
            Event::Connected if context.agreed().is_none() && self.is_encrypted(link) => Next::Read,
            Event::Connected => self.open(link, context),
            Event::ConnectFailed(kind) => {
                self.close(link, LinkFault::Unreachable(kind), now_ms);
                Next::Abort
            }
            Event::InputEnded => {
                self.close(link, LinkFault::Ended, now_ms);
                Next::Finish
            }
            Event::Resumed if link.is_draining && link.is_idle() => {
                self.close(link, LinkFault::Stopping, now_ms);
                Next::Finish
            }
            Event::Resumed
            | Event::OutputDrained
            | Event::DeadlineReached
            | Event::PeerFinished => Next::Read,
            // Requests that still run may publish.
            Event::Draining => {
                link.drain();
                Next::Read
            }
            // Only accepted connections get this.
            Event::Overloaded => Next::Abort,
        }
    }

    fn is_encrypted(&self, link: &ClusterLink) -> bool {
        matches!(&link.way, Way::Asked(server) if server.encryption == LinkEncryption::Tls)
    }

    /// Its transport failed.
    pub(in crate::conn) fn on_transport_failed(
        &self,
        link: &mut ClusterLink,
        why: Violation,
        now_ms: u64,
    ) {
        let text = match why {
            Violation::OtherProtocol => {
                "the server does not offer it; write \"nats://\"".to_owned()
            }
            why => client::ExchangeFailure::Tls(why).to_string(),
        };
        self.close(link, LinkFault::Encryption(text), now_ms);
    }

    pub(in crate::conn) fn on_close(self, link: &mut ClusterLink) {
        let now_ms = link.now_ms;
        self.close(link, LinkFault::Ended, now_ms);
    }
}

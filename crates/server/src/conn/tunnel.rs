//! A client and a server of an upstream that speak another protocol with each other, such as WebSocket.
//!
//! Owns that bytes pass in both directions as they are, each no faster than the other side takes them. Never reads one.

use std::net::IpAddr;

use client::ExchangeNews;
use runtime::arrival::Arrival;
use runtime::service::{Event, Next, Progress};

use crate::limits::PROXY_PART_SIZE;
use crate::message::Context;
use crate::site::{Site, Tunnelled};

/// The client's side of a tunnel.
#[derive(Debug)]
pub struct Tunnel(Tunnelled, Arrival);

impl Tunnel {
    /// A connection whose upgrade a server has accepted.
    pub(super) fn new(tunnelled: Tunnelled, arrival: Arrival) -> Self {
        Self(tunnelled, arrival)
    }

    pub(super) fn client(&self) -> IpAddr {
        self.0.client
    }

    pub(super) fn arrival(&self) -> Arrival {
        self.1
    }

    /// The client has sent something.
    pub(super) fn on_input(
        &mut self,
        site: &mut Site,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        let now_ns = context.now.monotonic_ns;
        let consumed = site.send_through(&self.0, input, now_ns);
        let next = self.pass(site, context);
        // The client keeps the bytes that the server does not take yet.
        let next = if next == Next::Read && consumed < input.len() { Next::Park } else { next };
        Progress { consumed, next }
    }

    pub(super) fn on_event(
        &mut self,
        site: &mut Site,
        event: Event,
        context: &mut Context<'_>,
    ) -> Next {
        match event {
            Event::Resumed | Event::OutputDrained | Event::Draining => self.pass(site, context),
            Event::InputEnded => {
                let now_ns = context.now.monotonic_ns;
                site.end_sending(&self.0, now_ns);
                self.pass(site, context)
            }
            Event::PeerFinished => Next::Park,
            Event::DeadlineReached | Event::Overloaded => Next::Abort,
            // Cannot happen: it was accepted.
            Event::Connected | Event::ConnectFailed(_) => Next::Abort,
        }
    }

    /// Passes on what the server has sent, as much as the client has room for.
    fn pass(&self, site: &mut Site, context: &mut Context<'_>) -> Next {
        let now_ns = context.now.monotonic_ns;
        let mut has_written = false;
        loop {
            let room = PROXY_PART_SIZE.saturating_sub(context.queued_bytes());
            match site.next_through(&self.0, room, now_ns) {
                Some(ExchangeNews::Body(bytes)) => {
                    context.output.put(&bytes);
                    has_written = true;
                }
                Some(ExchangeNews::End) => return Next::Finish,
                Some(ExchangeNews::Failed(_)) => return Next::Abort,
                Some(
                    ExchangeNews::Room
                    | ExchangeNews::Interim(_)
                    | ExchangeNews::Head(_)
                    | ExchangeNews::Trailers(_),
                ) => {}
                None => break,
            }
        }
        if has_written && site.holds_for_client(&self.0) {
            // If the socket takes the output at once, nothing else will say so.
            site.run_tunnel_again(context.id);
        }
        Next::Read
    }

    pub(super) fn on_close(self, site: &mut Site) {
        site.end_tunnel(&self.0);
    }
}

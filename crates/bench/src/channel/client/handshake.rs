//! The handshake of a WebSocket.
//!
//! Owns its requests and what the answer must be.

use runtime::service::{Next, Progress};
use wire::websocket::accept_token;

use super::{Phase, Subscriber, Subscribers, Wording};
use crate::channel::objects;
use crate::client::Context;
use crate::plan::LoadPlan;

/// The key of every handshake. It need not be fresh (RFC 6455 section 10.3 is about caches).
const KEY: &[u8] = b"dGhlIHNhbXBsZSBub25jZQ==";

/// Bytes of the head that answers a handshake. Beyond: an error.
const HEAD_BYTES: usize = 8 * 1024;

/// Whether subscribers need positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Positions {
    /// They come back after their connection was cut.
    Wanted,
    /// They stay.
    Unused,
}

/// The requests to one address.
#[derive(Debug)]
pub(super) struct Requests {
    /// For the WebSocket of the channel.
    channel: Vec<u8>,
    /// For one with any channels, on which a subscription can have a position.
    channels: Vec<u8>,
}

impl Requests {
    /// The requests to each address of a plan.
    pub(super) fn of(plan: &LoadPlan, positions: Positions) -> Vec<Self> {
        let peers = 0..plan.peers.len();
        let target = |peer| plan.targets.iter().find(|target| target.peer == peer);
        let requests = peers.filter_map(target).map(|target| {
            let path = &target.url.path_and_query;
            let (path, query) = match path.split_once('?') {
                Some((path, query)) => (path, format!("?{query}")),
                None => (path.as_str(), String::new()),
            };
            let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
            let request = |path: &str| {
                let protocol = match positions {
                    Positions::Wanted => {
                        format!("Sec-WebSocket-Protocol: {}\r\n", objects::PROTOCOL)
                    }
                    Positions::Unused => String::new(),
                };
                let text = format!(
                    "GET {path}{query} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\n\
                     Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: {}\r\n{protocol}\r\n",
                    target.url.host_field(),
                    String::from_utf8_lossy(KEY)
                );
                text.into_bytes()
            };
            Self { channel: request(path), channels: request(folder) }
        });
        requests.collect()
    }
}

impl Subscribers {
    /// Asks for a WebSocket.
    pub(super) fn ask(&mut self, subscriber: &mut Subscriber, context: &mut Context<'_>) {
        subscriber.phase = Phase::Asking;
        let peer = self.share.way(subscriber.number).peer;
        let Some(requests) = self.requests.get(peer) else { return };
        let has_position = self.seats.seat(subscriber.number).channel().is_some();
        context.output.put(if has_position { &requests.channels } else { &requests.channel });
    }

    /// The answer to the handshake.
    pub(super) fn take_head(
        &mut self,
        subscriber: &mut Subscriber,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        let Some(end) = input.windows(4).position(|end| end == b"\r\n\r\n") else {
            let next = if input.len() > HEAD_BYTES { Next::Abort } else { Next::Read };
            return Progress { consumed: 0, next };
        };
        let head = String::from_utf8_lossy(&input[..end]).into_owned();
        let token = accept_token(KEY);
        let accepts = head.contains(&*String::from_utf8_lossy(&token));
        if !head.starts_with("HTTP/1.1 101") || !accepts {
            let status: String = head.lines().next().unwrap_or_default().chars().take(60).collect();
            subscriber.fail(format!("answered `{status}`"));
            return Progress { consumed: input.len(), next: Next::Abort };
        }
        let subscription = self.seats.seat(subscriber.number).subscription();
        if head.contains(objects::PROTOCOL) || subscription.is_some() {
            subscriber.wording = Wording::Objects;
            subscriber.phase = Phase::Confirming;
            if let Some(order) = subscription {
                subscriber.send(order.as_bytes(), context);
            }
        } else {
            self.confirm(subscriber, context);
        }
        Progress { consumed: end + 4, next: Next::Read }
    }
}

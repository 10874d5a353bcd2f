//! A head that may tell of a client behind a proxy.
//!
//! Owns the way of such a request to its answer. Never decides who the client is: `forwarding` does.

use runtime::service::{Context, Next, Progress};
use wire::http::forwarded::{self, MalformedForwarded};
use wire::http::head;
use wire::http::status::Status;

use super::Connection;
use super::received::Received;
use crate::application::Application;
use crate::forwarding::Sender;
use crate::shared::Http;

impl Connection {
    /// Takes a request with fields that proxies send, or perhaps with such fields.
    #[inline(never)]
    pub(super) fn take_forwarded<A: Application>(
        &mut self,
        http: &mut Http<A>,
        request: &head::RequestHead<'_, '_>,
        received: Received<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        if !request.fields.iter().any(|(name, _)| forwarded::concerns_proxies(name)) {
            let sender = Sender::itself(self.arrival.peer);
            return self.take_request(http, request, sender, received, context);
        }
        let mut room = http.lend_slots_that_stay();
        let read = http.settings().trusted.read(request, self.arrival.peer, &mut room);
        let progress = match &read {
            Ok((request, sender)) => self.take_request(http, request, *sender, received, context),
            Err(MalformedForwarded) => {
                http.note_malformed_forwarding(self.arrival.peer, context.now);
                self.refuse(http, Status::BAD_REQUEST, received.head(), context);
                Progress { consumed: received.available(), next: Next::Linger }
            }
        };
        http.return_slots_that_stay(room);
        progress
    }
}

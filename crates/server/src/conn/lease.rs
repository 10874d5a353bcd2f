//! The rights of a long-lived connection.
//!
//! Owns when they expire, when the connection is checked next, and what a module learns about its
//! client. The session decides what ends with the rights.

use channels::{Credential, Rights, RuleNumber, Sender};
use pages::{KeptRequest, RequestedAction};
use runtime::arrival::Arrival;
use runtime::clock::Now;

use crate::limits::PING_INTERVAL_MS;
use crate::message::Context;
use crate::site::{Question, Site, Withheld};

/// The rights of a client, until they expire.
#[derive(Debug)]
pub(super) struct Lease {
    rights: Rights,
    /// The client. Its port is 0 if a proxy in front names it.
    arrival: Arrival,
    /// The kept part of its request, if modules decide about channels.
    request: Option<Box<KeptRequest>>,
}

impl Lease {
    pub(super) fn new(rights: Rights, arrival: Arrival) -> Self {
        Self { rights, arrival, request: None }
    }

    pub(super) fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// With the kept part of the client's request.
    pub(super) fn with_request(self, request: Option<Box<KeptRequest>>) -> Self {
        Self { request, ..self }
    }

    /// Asks the module of a channel, which these rules name, whether the client may do this.
    pub(super) fn ask(
        &self,
        (channel, rule, wish): (&str, RuleNumber, RequestedAction<'_>),
        site: &mut Site,
        context: &Context<'_>,
    ) -> Result<(), Withheld> {
        let unknown;
        let request = match &self.request {
            Some(request) => request,
            None => {
                unknown = KeptRequest::of_address(self.arrival.peer.address);
                &unknown
            }
        };
        let question =
            Question { process: context.id, channel, rule, wish, rights: &self.rights, request };
        site.ask(question, (context.now, context.mail.endpoint()))
    }

    /// Replaces the credential of the client.
    pub(super) fn show(&mut self, shown: Credential) {
        self.rights.show(shown);
    }

    pub(super) fn rights(&self) -> &Rights {
        &self.rights
    }

    /// The client as a publisher.
    pub(super) fn sender(&self) -> Sender<'_> {
        Sender { rights: &self.rights, address: Some(self.arrival.peer.address) }
    }

    /// Milliseconds until the client is pinged or its rights expire.
    pub(super) fn quiet_ms(&self, now: Now) -> u64 {
        self.left_ms(now).map_or(PING_INTERVAL_MS, |left_ms| left_ms.min(PING_INTERVAL_MS))
    }

    /// Milliseconds until the rights expire, if they do.
    pub(super) fn left_ms(&self, now: Now) -> Option<u64> {
        self.rights.left_ms(now.unix_seconds)
    }

    /// Removes expired credentials. Returns whether there were any.
    pub(super) fn end_if_over(&mut self, now: Now) -> bool {
        self.rights.end_if_over(now.unix_seconds)
    }
}

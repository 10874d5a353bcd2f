//! A server that changes the protocol (RFC 9110 section 7.8).
//!
//! Owns what that means for the client: it speaks with the server itself from now on, or gets an error.

use client::ResponseHead;
use http::Answer;
use runtime::slots::ProcessId;

use super::{Passing, Step};
use crate::site::Site;
use crate::site::exchange::Exchange;
use crate::site::outgoing::proxy::answer_head::interim_fields;
use crate::site::outgoing::proxy::carried::{Refused, Tunnelled};
use crate::site::outgoing::proxy::upgrade;

impl Site {
    /// The server speaks another protocol from now on, and so does the connection of the client.
    pub(super) fn change_protocol(
        &mut self,
        process: ProcessId,
        head: &ResponseHead,
        passing: &Passing<'_>,
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Step {
        let protocol = head.fields.fields().first("upgrade");
        let offered = passing.route.and_then(|route| upgrade::offered(exchange.request, route));
        let chosen = upgrade::chosen(protocol, offered.as_deref())
            .filter(|_| upgrade::is_accepted(exchange.request, head.fields.fields()));
        let Some(chosen) = chosen else {
            self.outgoing.client.exchanges().cancel(passing.id);
            let why = "it changes to a protocol that was not asked for";
            self.outgoing.proxies.note_misfit(process, why, now_ns);
            return Step::Refuse(Refused::Failed);
        };
        if !exchange.reply.switch_protocols(chosen) {
            // Since the request was sent, the scheduler has begun to stop.
            self.outgoing.client.exchanges().cancel(passing.id);
            self.outgoing.proxies.note_unwanted(process);
            return Step::Refuse(Refused::Busy);
        }
        let client = self.outgoing.client.exchanges();
        let told = (head.status, exchange.request);
        let cookie = self.outgoing.proxies.note_head(process, told, client, now_ns);
        let fields = interim_fields(head, passing.route, cookie.as_deref());
        exchange.reply.fields(upgrade::for_client(exchange.request, fields).fields());
        exchange.reply.end_head();
        if let Some(account) = self.outgoing.proxies.account_of(process, Some(now_ns)) {
            exchange.place.note_passed_on(account);
        }
        let client = exchange.request.peer.address;
        let place = self.outgoing.proxies.remove(process);
        let tunnel = place.map(|place| Tunnelled { exchange: passing.id, client, place });
        self.outgoing.proxies.begin_tunnel(tunnel);
        Step::Answer(Answer::Upgrade)
    }
}

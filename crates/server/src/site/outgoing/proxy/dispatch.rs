//! A request gets a server.
//!
//! Owns the step from a choice to an exchange, the first time and each time that it is sent again.

use std::time::Duration;

use client::{Client, Deadlines, ExchangeFailure, ExchangeId, Forward, Requester};
use proxy::{RequestOutcome, ServerChoice, ServerIndex, ServerPreference};
use runtime::slots::ProcessId;
use runtime::trace;
use wire::proxy::ProxiedClient;

use super::carried::{Parcel, Refused, Stage};
use super::desk::Proxies;
use super::upstreams::UpstreamId;
use super::{Carried, Live, Place, introduction};
use crate::site::traced;

impl Proxies {
    /// Finds a server for a request, and sends it what `make` makes. The result is also the stage of the request.
    pub(in crate::site) fn dispatch(
        &mut self,
        process: ProcessId,
        client: &mut Client,
        now_ns: u64,
        make: impl FnOnce() -> Result<Parcel, ExchangeFailure>,
    ) -> Stage {
        let (upstreams, Some(carried)) = self.parts(process) else {
            return Stage::Refused(Refused::Busy);
        };
        let upstream = carried.upstream.and_then(|id| Some((id, upstreams.get_mut(id)?)));
        let Some((upstream, live)) = upstream else { return carried.refuse(Refused::Busy) };
        let server = match live.servers.choose(process, &carried.wish, now_ns) {
            ServerChoice::Server(server) => server,
            ServerChoice::Full => {
                if live.servers.wait(process, carried.wish.tried, now_ns).is_err() {
                    return carried.refuse(Refused::Busy);
                }
                carried.stage = Stage::InLine;
                return Stage::InLine;
            }
            ServerChoice::Nobody => {
                // Called, it would keep the place of those that wait after it.
                live.servers.leave(process);
                return carried.refuse(carried.failed.unwrap_or(Refused::Busy));
            }
        };
        let place = Place::new(upstream, server, now_ns);
        let (requester, from) = (Requester::Process(process), &carried.client);
        let gone_ns = now_ns.saturating_sub(carried.began_ns);
        let forward = live.forward_to(server, make, (requester, from), gone_ns);
        match forward.and_then(|forward| client.forward(forward, now_ns)) {
            Ok(exchange) => {
                if trace::is_noting() {
                    traced::sent(process, &live.config().name, &live.address(server));
                }
                (carried.place, carried.exchange) = (Some(place), Some(exchange));
                carried.stage = Stage::Sent;
                carried.hand_on(&[], client, now_ns);
                Stage::Sent
            }
            Err(failure) => {
                let why = match failure {
                    ExchangeFailure::TooMany | ExchangeFailure::Stopping => Refused::Busy,
                    ExchangeFailure::NotConnected => Refused::Failed,
                    _ => Refused::Request,
                };
                let refused = carried.refuse(why);
                self.release(place, RequestOutcome::Abandoned, now_ns);
                refused
            }
        }
    }

    /// Sends a server a request that waits for no place, and whose exchange belongs to no process. `None`: it is not
    /// sent.
    pub(in crate::site) fn send_apart(
        &mut self,
        process: ProcessId,
        (upstream, wish): (UpstreamId, ServerPreference),
        (parcel, from): (Parcel, &ProxiedClient),
        client: &mut Client,
        now_ns: u64,
    ) -> Option<(Place, ExchangeId)> {
        let live = self.upstream_mut(upstream)?;
        let ServerChoice::Server(server) = live.servers.choose(process, &wish, now_ns) else {
            return None;
        };
        let place = Place::new(upstream, server, now_ns);
        let forward = live.forward_to(server, || Ok(parcel), (Requester::Service, from), 0);
        let begun = forward.and_then(|forward| client.forward(forward, now_ns));
        if begun.is_err() {
            self.give_up(place);
        }
        Some((place, begun.ok()?))
    }
}

impl Carried {
    /// Hands the exchange what has arrived of the body, this piece as the last, and its end. Returns whether it has
    /// taken all.
    pub(super) fn hand_on(&mut self, piece: &[u8], client: &mut Client, now_ns: u64) -> bool {
        let (Some(id), Some(upload)) = (self.exchange, &mut self.upload) else {
            return true;
        };
        let is_all = upload.hand_on(piece, |bytes| client.send(id, bytes, now_ns));
        if client.connected_ns(id).is_some() {
            upload.on_connection();
        }
        if is_all && upload.is_over() {
            client.end_body(id, upload.trailers(), now_ns);
        }
        is_all
    }
}

impl Live {
    /// The request that `make` makes, to a server. So much of the time for the whole has gone.
    fn forward_to(
        &self,
        server: ServerIndex,
        make: impl FnOnce() -> Result<Parcel, ExchangeFailure>,
        (requester, from): (Requester, &ProxiedClient),
        gone_ns: u64,
    ) -> Result<Forward, ExchangeFailure> {
        let to = self.endpoint(server).cloned().ok_or(ExchangeFailure::NotConnected)?;
        let Parcel { method, head, body, upgrade } = make()?;
        let times = self.config.timeouts;
        let gone = Duration::from_nanos(gone_ns);
        let deadlines = Deadlines {
            connect: Some(times.connect),
            head: Some(times.first_byte),
            pause: Some(times.idle),
            whole: times.whole.map(|whole| whole.saturating_sub(gone)),
        };
        let version = self.config.proxy_protocol;
        let lead = version.map(|version| introduction::lead(version, from));
        Ok(Forward { to, method, head, body, upgrade, deadlines, requester, lead })
    }
}

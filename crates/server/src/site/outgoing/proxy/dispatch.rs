//! A request gets a server.
//!
//! Owns the step from a choice to an exchange, the first time and each time that it is sent again.

use client::{Client, ExchangeFailure, Forward, Requester};
use proxy::{RequestOutcome, ServerChoice};
use runtime::slots::ProcessId;
use runtime::trace;

use super::carried::{Carried, Handed, Parcel, Place, Progress, Refused, Stage};
use super::desk::Proxies;
use super::introduction;
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
        let Some((upstream, live)) = upstream else {
            carried.stage = Stage::Refused(Refused::Busy);
            return carried.stage;
        };
        let server = match live.servers.choose(process, &carried.wish, now_ns) {
            ServerChoice::Server(server) => server,
            ServerChoice::Full => {
                let waits = live.servers.wait(process, carried.wish.tried, now_ns).is_ok();
                carried.stage = if waits { Stage::InLine } else { Stage::Refused(Refused::Busy) };
                return carried.stage;
            }
            ServerChoice::Nobody => {
                // Called, it would keep the place of those that wait after it.
                live.servers.leave(process);
                carried.stage = Stage::Refused(carried.failed.unwrap_or(Refused::Busy));
                return carried.stage;
            }
        };
        let place = Place::new(upstream, server, now_ns);
        let version = live.config().proxy_protocol;
        let lead = version.map(|version| introduction::lead(version, &carried.client));
        let deadlines = live.deadlines(now_ns.saturating_sub(carried.began_ns));
        let begun = match live.endpoint(server).cloned() {
            Some(to) => make().and_then(|parcel| {
                let Parcel { method, head, body, upgrade } = parcel;
                let requester = Requester::Process(process);
                let forward =
                    Forward { to, method, head, body, upgrade, deadlines, requester, lead };
                client.forward(forward, now_ns)
            }),
            None => Err(ExchangeFailure::NotConnected),
        };
        match begun {
            Ok(exchange) => {
                if trace::is_on() {
                    traced::sent(process, &live.config().name, &live.address(server));
                }
                (carried.place, carried.exchange) = (Some(place), Some(exchange));
                carried.stage = Stage::Sent;
                carried.hand_on(client, now_ns);
                Stage::Sent
            }
            Err(failure) => {
                let why = match failure {
                    ExchangeFailure::TooMany | ExchangeFailure::Stopping => Refused::Busy,
                    ExchangeFailure::NotConnected => Refused::Failed,
                    _ => Refused::Request,
                };
                carried.stage = Stage::Refused(why);
                self.release(place, RequestOutcome::Abandoned, now_ns);
                Stage::Refused(why)
            }
        }
    }
}

impl Carried {
    /// Hands the exchange what has arrived of the body, and its end.
    pub(in crate::site) fn hand_on(&mut self, client: &mut Client, now_ns: u64) -> Handed {
        let (Some(id), Some(upload)) = (self.exchange, &mut self.upload) else {
            return Handed::All;
        };
        let handed = upload.hand_on(|bytes| client.send(id, bytes, now_ns));
        if handed == Handed::All && upload.progress == Progress::Over {
            client.end_body(id, upload.trailers(), now_ns);
        }
        handed
    }
}

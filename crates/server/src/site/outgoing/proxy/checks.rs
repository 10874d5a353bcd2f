//! Servers are asked whether they are well.
//!
//! Owns the exchanges of checks, and what an answer means. What follows from that is the decision of the crate `proxy`.

use ahash::HashMap;
use client::{
    Client, Deadlines, ExchangeFailure, ExchangeId, ExchangeNews, Forward, HeadWriter,
    OutgoingBody, Requester,
};
use config::ActiveCheck;
use proxy::{HealthCheck, ServerIndex};
use runtime::clock::nanoseconds;
use wire::proxy::ProxiedClient;

use super::upstreams::UpstreamId;
use super::{Live, introduction};
use crate::limits::PROXY_CHECK_BODY;

/// The checks that run.
#[derive(Debug, Default)]
pub(in crate::site) struct Checks(HashMap<ExchangeId, Running>);

/// A server that was asked.
#[derive(Debug)]
struct Running {
    upstream: UpstreamId,
    server: ServerIndex,
    status: u16,
    /// The beginning of the answer, if a text must be in it.
    body: Vec<u8>,
}

impl Checks {
    /// Asks the servers whose time has come. A server that cannot be asked has failed its check.
    pub(in crate::site) fn begin(
        &mut self,
        id: UpstreamId,
        live: &mut Live,
        client: &mut Client,
        now_ns: u64,
    ) {
        let Some(check) = live.config().check.clone() else { return };
        while let Some(server) = live.schedule.take_due(nanoseconds(check.interval), now_ns) {
            match ask(&check, server, live, client, now_ns) {
                Ok(exchange) => {
                    let running = Running { upstream: id, server, status: 0, body: Vec::new() };
                    self.0.insert(exchange, running);
                }
                Err(_) => live.servers.on_check(server, HealthCheck::Failed, now_ns),
            }
        }
    }

    /// Whether an exchange is one of a check.
    pub(in crate::site) fn has(&self, exchange: ExchangeId) -> bool {
        self.0.contains_key(&exchange)
    }

    /// An exchange of a check has news. Returns whose check has ended, and how.
    pub(in crate::site) fn hear<'l>(
        &mut self,
        exchange: ExchangeId,
        client: &mut Client,
        now_ns: u64,
        live: impl FnOnce(UpstreamId) -> Option<&'l Live>,
    ) -> Option<(UpstreamId, ServerIndex, HealthCheck)> {
        let running = self.0.get_mut(&exchange)?;
        loop {
            match client.next(exchange, usize::MAX, now_ns)? {
                ExchangeNews::Head(head) => running.status = head.status,
                ExchangeNews::Body(bytes) => {
                    let room = PROXY_CHECK_BODY.saturating_sub(running.body.len());
                    running.body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
                }
                ExchangeNews::End | ExchangeNews::Failed(_) if running.status == 0 => break,
                ExchangeNews::End => {
                    let running = self.0.remove(&exchange)?;
                    let check = live(running.upstream)?.config().check.as_ref()?;
                    return Some((running.upstream, running.server, judge(check, &running)));
                }
                ExchangeNews::Failed(_) => break,
                ExchangeNews::Interim(_) | ExchangeNews::Room | ExchangeNews::Trailers(_) => {}
            }
        }
        let running = self.0.remove(&exchange)?;
        Some((running.upstream, running.server, HealthCheck::Failed))
    }
}

fn judge(check: &ActiveCheck, running: &Running) -> HealthCheck {
    let has_status = match check.status {
        Some(status) => running.status == status,
        None => (200..400).contains(&running.status),
    };
    // Never empty.
    let has_text =
        |text: &String| running.body.windows(text.len()).any(|part| part == text.as_bytes());
    let is_well = has_status && check.body.as_ref().is_none_or(has_text);
    if is_well { HealthCheck::Passed } else { HealthCheck::Failed }
}

fn ask(
    check: &ActiveCheck,
    server: ServerIndex,
    live: &Live,
    client: &mut Client,
    now_ns: u64,
) -> Result<ExchangeId, ExchangeFailure> {
    let to = live.endpoint(server).cloned().ok_or(ExchangeFailure::NotConnected)?;
    let mut head = HeadWriter::new("GET", &check.path, 0)?;
    let host = live.address(server);
    // A path of a socket is no host.
    let host = if host.starts_with("unix:") { "localhost" } else { &host };
    head.field("Host", host.as_bytes())?;
    head.field("User-Agent", concat!("velodrome/", env!("CARGO_PKG_VERSION")).as_bytes())?;
    let deadlines = Deadlines::whole(check.timeout);
    let (body, upgrade, requester) = (OutgoingBody::None, None, Requester::Service);
    let version = live.config().proxy_protocol;
    let lead = version.map(|version| introduction::lead(version, &ProxiedClient::Local));
    let forward = Forward { to, method: "GET", head, body, upgrade, deadlines, requester, lead };
    client.forward(forward, now_ns)
}

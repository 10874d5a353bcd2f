//! Servers are asked whether they are well.
//!
//! Owns the exchanges of checks, and what an answer means. What follows from that is the decision of the crate `proxy`.

use ahash::HashMap;
use client::{
    Client, Deadlines, ExchangeFailure, ExchangeId, ExchangeNews, Forward, HeadWriter,
    OutgoingBody, Requester,
};
use config::ActiveCheck;
use proxy::{ChecksTurned, HealthCheck, ServerIndex};
use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};
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

/// A check that has ended.
#[derive(Debug)]
pub(in crate::site) struct Checked {
    pub(in crate::site) upstream: UpstreamId,
    pub(in crate::site) server: ServerIndex,
    /// Why it has failed.
    pub(in crate::site) failure: Option<String>,
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
                Err(failure) => {
                    let why = failure.in_log(&live.address(server));
                    live.note_check(server, Some(why), now_ns);
                }
            }
        }
    }

    /// Whether an exchange is one of a check.
    pub(in crate::site) fn has(&self, exchange: ExchangeId) -> bool {
        self.0.contains_key(&exchange)
    }

    /// An exchange of a check has news. Returns the check if it has ended.
    pub(in crate::site) fn hear<'l>(
        &mut self,
        exchange: ExchangeId,
        client: &mut Client,
        now_ns: u64,
        live: impl FnOnce(UpstreamId) -> Option<&'l Live>,
    ) -> Option<Checked> {
        let running = self.0.get_mut(&exchange)?;
        let failure = loop {
            match client.next(exchange, usize::MAX, now_ns)? {
                ExchangeNews::Head(head) => running.status = head.status,
                ExchangeNews::Body(bytes) => {
                    let room = PROXY_CHECK_BODY.saturating_sub(running.body.len());
                    running.body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
                }
                ExchangeNews::End => break None,
                ExchangeNews::Failed(failure) => break Some(failure),
                ExchangeNews::Interim(_) | ExchangeNews::Room | ExchangeNews::Trailers(_) => {}
            }
        };
        let running = self.0.remove(&exchange)?;
        let live = live(running.upstream)?;
        let failure = match failure {
            Some(failure) => Some(failure.in_log(&live.address(running.server))),
            None => judge(live.config().check.as_ref()?, &running),
        };
        Some(Checked { upstream: running.upstream, server: running.server, failure })
    }
}

impl Live {
    /// A check of a server has ended, and has failed for a reason or has not. The log has what changes.
    pub(super) fn note_check(&mut self, server: ServerIndex, failure: Option<String>, now_ns: u64) {
        let check = if failure.is_some() { HealthCheck::Failed } else { HealthCheck::Passed };
        match (self.servers.on_check(server, check, now_ns), failure) {
            (Some(ChecksTurned::Fail), Some(why)) => {
                self.warn(server, &|_| format!("its checks fail: {why}"), now_ns);
            }
            (Some(ChecksTurned::Pass), _) => {
                let (name, address) = (&self.config().name, self.address(server));
                let told = format_args!("upstream {name}, {address}: its checks pass again");
                diagnostic::write(Level::Info, told);
            }
            _ => {}
        }
    }
}

/// Why an answer is not what a check wants; `None`: it is.
fn judge(check: &ActiveCheck, running: &Running) -> Option<String> {
    let has_status = match check.status {
        Some(status) => running.status == status,
        None => (200..400).contains(&running.status),
    };
    if !has_status {
        return Some(format!("status {}", running.status));
    }
    // Never empty.
    let has_text =
        |text: &String| running.body.windows(text.len()).any(|part| part == text.as_bytes());
    let has_all = check.body.as_ref().is_none_or(has_text);
    (!has_all).then(|| "its answer does not have the text of `check_body`".to_owned())
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

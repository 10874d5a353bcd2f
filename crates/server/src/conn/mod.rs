//! The connections of one scheduler, of any protocol: the service that the runtime runs.
//!
//! Owns the closed enum of processes, the protocol of each listener, and the receiver of each
//! message. Knows no protocol and no route: `http`, `fetch` and `site` do.

mod change;
mod cluster;
pub(crate) mod door;
mod events;
mod lead;
mod lease;
mod log;
mod look;
mod message;
mod process;
mod resp;
mod socket;
mod traced;
mod transports;
mod tunnel;
mod vitals;

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::scheduler::Scheduler;
use runtime::service::{
    Beginning, CloseReason, Event, ListenerIndex, Next, Progress, Seen, Service,
};
use runtime::trace;
use runtime::transport::{Transport, Violation};
use sys::pollset::epoll::Epoll;
use sys::socket::Peer;

use channels::{PublishReceipt, Receipt};
use config::{Authentication, Protocol};

pub use self::cluster::LinkConnection;
pub use self::process::Process;

use self::cluster::ClusterLink;
use self::log::When;
use self::look::Walk;
use self::socket::Sockets;
use crate::connection_share::ConnectionShare;
use crate::events::SchedulerBounds;
use crate::handshakes::Handshakes;
use crate::limits::SOCKET_BEHIND_BYTES;
use crate::message::{Context, Message, ServiceContext};
use crate::site::Site;
use crate::site_data::SiteData;
use crate::site_tls::SiteTls;
use ::resp::{RespClients, RespCounts};
use http::{AccessLog, Connection, Http, Stream};
use local::Local;

// An idle connection costs its slot and nothing else (`tests/idle_memory.rs` counts the heap).
const _: () = assert!(Scheduler::<Epoll, Connections>::slot_bytes() <= 104);

/// The connections of one scheduler: the shared state of each protocol.
pub struct Connections {
    http: Http<Site>,
    sockets: Sockets,
    /// The state that the Redis clients share.
    clients: RespClients,
    /// The store and the channels, which all protocols share.
    local: Rc<Local>,
    /// The configured listener for each listener of this scheduler; empty if they are the same.
    listeners: Vec<usize>,
    /// The protocol of each configured listener, and whether clients must authenticate.
    protocols: Arc<[(Protocol, Authentication)]>,
    /// The certificates of listeners.
    tls: Arc<SiteTls>,
    handshakes: Handshakes,
    /// The walks over its processes, of which the first is under way.
    walks: VecDeque<Walk>,
    /// Its bounds.
    bounds: SchedulerBounds,
    /// The link to the cluster, if there is one.
    cluster: Option<Box<ClusterLink>>,
    /// Its share of the connections; `None` if they are not divided.
    share: Option<ConnectionShare>,
}

impl Connections {
    /// Connections that this site answers.
    pub fn new(site: Site, data: &SiteData, log: Option<AccessLog>) -> Self {
        let number = site.number();
        let local = site.share_local();
        let mut http = Http::new(site, Arc::clone(&data.settings), log);
        http.set_number(number);
        Self {
            http,
            sockets: Sockets::default(),
            clients: RespClients::new(RespCounts::new(1)),
            local,
            listeners: Vec::new(),
            protocols: data
                .config
                .listeners
                .iter()
                .map(|listener| (listener.protocol, listener.authentication))
                .collect(),
            tls: Arc::clone(&data.tls),
            handshakes: Handshakes::of(data.config.limits.handshakes_per_address),
            walks: VecDeque::new(),
            bounds: SchedulerBounds::default(),
            cluster: None,
            share: None,
        }
    }

    /// Whether a connection would begin one handshake more than its address may have.
    fn is_beyond_share(&self, listener: ListenerIndex, peer: Peer) -> bool {
        self.tls.acceptor(usize::from(listener.0)).is_some()
            && !self.http.expects_proxy_header(listener)
            // Programs of this machine, such as a proxy, come for many clients.
            && !peer.address.is_loopback()
            && !self.http.settings().trusted.contain(peer.address)
            && !self.handshakes.may_begin(peer.address)
    }

    /// New connections get these certificates.
    fn set_tls(&mut self, tls: &Arc<SiteTls>) {
        self.tls = Arc::clone(tls);
        self.http.application_mut().set_tls(tls);
    }

    /// Sets the configured listener for each listener of this scheduler, if it does not open every configured one
    /// exactly once.
    pub fn set_listeners(&mut self, configured: Vec<usize>) {
        self.listeners = configured;
    }

    /// Sets where Redis clients are counted, for all schedulers.
    pub fn count_redis_clients(&mut self, counts: RespCounts) {
        self.clients = RespClients::new(counts);
    }

    /// Sets what the scheduler may have at most, and its share of connections if others are configured. Fetches get a
    /// part of the connections.
    pub fn set_bounds(&mut self, bounds: SchedulerBounds, share: ConnectionShare) {
        (self.bounds, self.share) = (bounds, Some(share));
        self.http.application_mut().set_connections(bounds.connections);
    }

    /// The exchanges with other servers.
    fn exchanges(&mut self) -> &mut client::Client {
        self.http.application_mut().exchanges()
    }

    /// The shared state of HTTP connections, with the site.
    pub fn http(&self) -> &Http<Site> {
        &self.http
    }

    /// The same, mutable.
    pub fn http_mut(&mut self) -> &mut Http<Site> {
        &mut self.http
    }

    /// Tells sockets the results of messages that went to other schedulers.
    fn tell_receipts(&mut self, context: &mut ServiceContext<'_>) {
        let receipts = self.local.channels().take_receipts();
        for Receipt { publisher, result } in receipts {
            if let PublishReceipt::ByReceipt(number) = publisher.told {
                let frame = socket::receipt(number, result);
                // A socket that has closed or does not read is not told.
                let _told = context.queue(publisher.process, &frame.into(), SOCKET_BEHIND_BYTES);
            }
        }
    }

    /// The configured listener for a listener of this scheduler.
    fn configured(&self, listener: ListenerIndex) -> ListenerIndex {
        let place = self.listeners.get(usize::from(listener.0));
        place.and_then(|place| u16::try_from(*place).ok()).map_or(listener, ListenerIndex)
    }
}

impl Service for Connections {
    type Process = Process;
    type Message = Message;

    const KINDS: &'static [&'static str] = Process::KINDS;

    #[inline]
    fn kind(process: &Process) -> usize {
        process.kind()
    }

    fn is_idle(process: &Process) -> bool {
        process.is_idle()
    }

    fn inbox_bytes(process: &Process) -> usize {
        process.inbox_bytes()
    }

    #[inline]
    fn held_bytes(process: &Process) -> usize {
        process.held_bytes()
    }

    fn client(process: &Process) -> Option<IpAddr> {
        process.client()
    }

    fn is_beginning(process: &Process) -> bool {
        process.is_beginning()
    }

    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_>,
    ) -> Option<Process> {
        let listener = self.configured(listener);
        if self.is_beyond_share(listener, peer) {
            self.handshakes.note_refusal();
            return None;
        }
        let (protocol, authentication) =
            self.protocols.get(usize::from(listener.0)).copied().unwrap_or_default();
        match protocol {
            Protocol::Http => {
                Connection::new(&self.http, listener, peer, context).map(Process::Http)
            }
            Protocol::Resp => {
                let is_encrypted = self.tls.acceptor(usize::from(listener.0)).is_some();
                Some(self.accept_resp((authentication, is_encrypted), peer, context))
            }
        }
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        self.transport_of(beginning)
    }

    fn on_agreed(&mut self, process: &mut Process, context: &mut Context<'_>) -> Next {
        process.on_agreed(self, context)
    }

    fn on_handshake_failed(
        &mut self,
        process: &mut Process,
        why: Violation,
        context: &mut Context<'_>,
    ) {
        match process {
            Process::Outbound(outbound) => {
                let now_ns = context.now.monotonic_ns;
                outbound.on_handshake_failed(self.exchanges(), why, now_ns);
            }
            Process::Cluster(connection) => {
                if let Some(link) = &mut self.cluster {
                    connection.on_transport_failed(link, why, context.now.monotonic_ms());
                }
            }
            _ => self.handshakes.note_failure(why),
        }
    }

    fn on_transport_failed(
        &mut self,
        process: &mut Process,
        why: Violation,
        context: &mut Context<'_>,
    ) {
        match (process, &mut self.cluster) {
            (Process::Outbound(outbound), _) => outbound.on_transport_failed(self.exchanges(), why),
            (Process::Cluster(connection), Some(link)) => {
                connection.on_transport_failed(link, why, context.now.monotonic_ms());
            }
            _ => {}
        }
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_>) {
        self.http.application_mut().begin(context);
        if self.cluster.is_some() {
            context.wake_after_ms(0);
        }
    }

    fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_>,
    ) -> Option<Process> {
        if ClusterLink::is_ticket(ticket) {
            let connection = self.cluster.as_mut()?.on_connect(ticket, begun, context)?;
            return Some(Process::Cluster(Box::new(connection)));
        }
        let outbound = self.exchanges().on_connect(ticket, begun, context)?;
        Some(Process::Outbound(Box::new(outbound)))
    }

    fn on_carry(&mut self, opening: Box<dyn Any>, _context: &mut Context<'_>) -> Option<Process> {
        Stream::of_opening(opening).map(Process::Stream)
    }

    fn on_streams_ready(&mut self, process: &mut Process, context: &mut Context<'_>) -> Next {
        process.on_streams_ready(self, context)
    }

    #[inline]
    fn on_input(
        &mut self,
        process: &mut Process,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        process.on_input(self, input, context)
    }

    fn on_event(&mut self, process: &mut Process, event: Event, context: &mut Context<'_>) -> Next {
        process.on_event(self, event, context)
    }

    fn on_cold_file(
        &mut self,
        _process: &Process,
        region: &FileRegion,
        context: &mut Context<'_>,
    ) -> bool {
        self.http.warm(region, context)
    }

    fn on_close(&mut self, process: Process, reason: CloseReason) {
        process.on_close(self, reason);
    }

    fn on_message(&mut self, from: Endpoint, message: Message, context: &mut ServiceContext<'_>) {
        if let Message::Scheduler(message) = message {
            self.take_message(from, message, context);
        }
    }

    fn on_seen(&mut self, seen: &Seen<'_, Process>) {
        self.look_at(seen);
    }

    fn on_walked(&mut self, next: Option<usize>, context: &mut ServiceContext<'_>) {
        self.after_walking(next, context);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_>) {
        self.go_on_walking(context);
        self.http.settle(context);
        if let Some(cluster) = &mut self.cluster {
            cluster.bring_news(&mut self.local.channels(), context);
            cluster.settle_leases(self.http.application_mut(), context.now);
        }
        self.tell_receipts(context);
        self.sockets.end_turn(context);
        self.clients.end_turn(context);
        self.http.application_mut().end_turn(context);
        if let Some(cluster) = &mut self.cluster {
            cluster.take_orders(&mut self.local.channels(), context);
        }
        self.hand_over_log(context, When::Due);
        self.http.application_mut().begin_connections(context);
        if trace::is_on() {
            traced::hand_over(context);
        }
    }

    fn on_stop(&mut self, context: &mut ServiceContext<'_>) {
        self.http.settle(context);
        self.hand_over_log(context, When::Now);
        self.http.application_mut().leave();
    }
}

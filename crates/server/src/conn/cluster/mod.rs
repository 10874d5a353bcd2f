//! The link of this scheduler to its cluster, and the process of its connection.
//!
//! Owns the connection: where it leads, its name look-up, and what of it reaches the link. `cluster` knows what is said
//! over it, `channels` what is wanted and heard. Nothing here exists without `[cluster]`.

mod connection;
mod mail;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use actors::LeaseStanding;
use channels::{Channels, ClusterNews};
use client::FoundAddresses;
use cluster::{
    ClusterPlan, LeaseHolder, LinkEncryption, LinkEvent, LinkFault, LinkSeat, NatsLink, NatsServer,
    limits,
};
use runtime::clock::Now;
use runtime::diagnostic::{self, Level};
use runtime::mailbox::Endpoint;
use runtime::service::{Connect, SchedulerCommand};
use runtime::slots::ProcessId;
use runtime::transport::Transport;
use sys::connect::RemoteAddress;
use tls::Connector;

pub use self::connection::LinkConnection;

use self::mail::MailWay;

use super::Connections;
use super::lead::{Lead, LeadKind};
use crate::cluster_setup::ClusterSetup;
use crate::limits::STORE_LINK_STAYS_MS;
use crate::link_report::LinkReport;
use crate::message::{Context, ServiceContext, StorePost};
use crate::site::Site;

/// Tickets with this bit are of links: those of exchanges are counted from 1.
const OF_LINK: u64 = 1 << 63;

/// How far the connection of a link is.
#[derive(Debug)]
enum Way {
    /// There is none.
    None,
    /// The addresses of this server are looked up.
    Name(NatsServer),
    /// The scheduler was asked to connect.
    Asked(NatsServer),
    /// It connects, shakes hands, or is connected.
    Connection(ProcessId),
}

/// The link of a scheduler.
pub(super) struct ClusterLink {
    link: NatsLink,
    connector: Option<Connector>,
    way: Way,
    /// The number of the last connection that was asked for.
    ticket: u64,
    /// The next of several addresses of a name.
    turn: usize,
    names: Vec<Endpoint>,
    here: Endpoint,
    /// The name of this node.
    name: Arc<str>,
    /// Its number, which is also that of its store.
    node: u64,
    /// The way to the writer of the store, if this link carries its mail.
    mail: Option<MailWay>,
    /// The leases that the link was asked for last.
    leases: Vec<String>,
    is_draining: bool,
    /// How long it stays while the server drains, because clients write to the store.
    stays_until_ms: u64,
    /// The time of the last turn.
    now_ms: u64,
}

impl Connections {
    /// Joins a cluster, before the first turn. `seed` differs from node to node.
    pub fn join_cluster(&mut self, setup: &ClusterSetup, here: Endpoint, seed: u64, now_ms: u64) {
        let (schedulers, names) = self.http.application().seats_and_names();
        self.local.channels().join_cluster(now_ms);
        let link = ClusterLink::new(setup, here, schedulers, names, (seed, now_ms));
        self.cluster = Some(Box::new(link));
    }

    /// The link of this scheduler carries what the stores of nodes send to each other. Before the first turn.
    pub fn carry_store_mail(&mut self, writer: Endpoint) {
        if let Some(link) = &mut self.cluster {
            link.carry_mail(writer);
        }
    }

    /// The writer of the store sends this. Without a cluster it is lost, which stores are prepared for.
    pub(super) fn post_store_mail(&mut self, post: StorePost) {
        if let Some(link) = &mut self.cluster {
            link.post(post);
        }
    }

    /// The report on the link to the cluster.
    pub(super) fn link_report(&self, now_ms: u64) -> Option<LinkReport> {
        self.cluster.as_ref().map(|link| link.report(now_ms))
    }
}

impl ClusterLink {
    pub(super) fn new(
        setup: &ClusterSetup,
        here: Endpoint,
        schedulers: u16,
        names: Vec<Endpoint>,
        (seed, now_ms): (u64, u64),
    ) -> Self {
        let plan: Arc<ClusterPlan> = Arc::clone(setup.plan());
        let (name, node) = (plan.name.as_str().into(), plan.node.0);
        let seat = LinkSeat { number: here.0, schedulers };
        Self {
            link: NatsLink::new(plan, seat, seed, now_ms),
            connector: setup.connector().cloned(),
            way: Way::None,
            ticket: OF_LINK,
            turn: 0,
            names,
            here,
            name,
            node,
            mail: None,
            leases: Vec::new(),
            is_draining: false,
            stays_until_ms: 0,
            now_ms,
        }
    }

    /// The rules of channels have changed: their streams keep what these need.
    pub(super) fn keep(&mut self, setup: &ClusterSetup) {
        self.link.keep(&setup.plan().streams);
    }

    /// Whether a connection that begins is one of links.
    pub(super) fn is_ticket(ticket: u64) -> bool {
        ticket & OF_LINK != 0
    }

    pub(super) fn report(&self, now_ms: u64) -> LinkReport {
        LinkReport {
            node: self.name.clone(),
            is_up: self.link.is_up(),
            for_ms: now_ms.saturating_sub(self.link.since_ms()),
            server: self.link.server().map(ToString::to_string).unwrap_or_default(),
            problem: self.link.problem(),
            nodes: self.link.nodes().cloned().collect(),
            stats: self.link.stats(),
        }
    }

    /// At the end of a turn, before the channels': passes on the news.
    pub(super) fn bring_news(&mut self, channels: &mut Channels, context: &mut ServiceContext<'_>) {
        if let Err(fault) = self.link.on_time(context.now.monotonic_ms()) {
            self.lose(fault, context);
        }
        for news in self.link.take_news() {
            channels.on_cluster(news, context);
        }
    }

    /// Asks for the leases of processes that one server of the cluster runs at a time, and says which it has. A server
    /// that ends wants none.
    pub(super) fn settle_leases(&mut self, site: &mut Site, now: Now) {
        let now_ms = now.monotonic_ms();
        let is_leaving = self.is_draining;
        let wanted = || site.leases().filter(|_| !is_leaving);
        if !self.leases.iter().map(String::as_str).eq(wanted()) {
            self.leases = wanted().map(str::to_owned).collect();
            self.link.want_leases(&self.leases, now_ms);
        }
        let link = &self.link;
        let standing = |name: &str| match link.lease_holder(name, now_ms) {
            LeaseHolder::ThisLink => LeaseStanding::Ours,
            LeaseHolder::Another => LeaseStanding::Others,
            LeaseHolder::Unknown => LeaseStanding::Unknown,
        };
        site.hear_leases(standing, now.monotonic_ns);
    }

    /// After the channels': takes what they want, and sends it.
    pub(super) fn take_orders(
        &mut self,
        channels: &mut Channels,
        context: &mut ServiceContext<'_>,
    ) {
        let now_ms = context.now.monotonic_ms();
        self.now_ms = now_ms;
        for order in channels.take_cluster_orders() {
            self.link.order(order, now_ms);
        }
        self.link.end_orders(now_ms);
        if let Some(server) = self.link.dial(now_ms) {
            self.dial(server, context);
        }
        self.send(context);
        let news = self.link.take_news();
        if !news.is_empty() {
            news.into_iter().for_each(|news: ClusterNews| channels.on_cluster(news, context));
            // The orders that the channels make of it are sent in the next turn.
            context.wake_at_ns(context.now.monotonic_ns);
        }
        self.bring_mail(context);
        self.tell();
        if let Some(due_ms) = self.link.next_due_ms() {
            context.wake_at_ns(due_ms.saturating_mul(1_000_000));
        }
        if now_ms < self.stays_until_ms {
            context.wake_at_ns(self.stays_until_ms.saturating_mul(1_000_000));
        }
        if let (true, true, Way::Connection(process)) =
            (self.is_draining, self.is_idle(), &self.way)
        {
            context.command(SchedulerCommand::Run(*process));
        }
    }

    /// Writes what is to be known into the log.
    fn tell(&mut self) {
        let number = self.here.0;
        for event in self.link.take_events() {
            match event {
                LinkEvent::Connected { server } => diagnostic::write(
                    Level::Info,
                    format_args!("cluster: scheduler {number} is connected to {server}"),
                ),
                LinkEvent::Lost { server, why } => diagnostic::write(
                    Level::Warn,
                    format_args!(
                        "cluster: scheduler {number} has no connection to {server}: {why}"
                    ),
                ),
                LinkEvent::Problem(why) => {
                    diagnostic::write(Level::Warn, format_args!("cluster: {why}"));
                }
            }
        }
    }

    /// Sends what the link says. A server for which too much waits is left.
    fn send(&mut self, context: &mut ServiceContext<'_>) {
        let Way::Connection(process) = self.way else { return };
        let Some(output) = self.link.take_output(0) else { return };
        if context.queue(process, &output.into(), limits::OUTPUT_BYTES).is_err() {
            self.lose(LinkFault::Silent, context);
        }
    }

    /// The connection is given up.
    fn lose(&mut self, fault: LinkFault, context: &mut ServiceContext<'_>) {
        if let Way::Connection(process) = self.way {
            context.command(SchedulerCommand::Close(process));
        }
        self.way = Way::None;
        // An answer to an earlier question that comes later is of no use.
        self.ticket += 1;
        self.link.on_closed(fault, context.now.monotonic_ms());
    }

    /// Begins a connection, or looks up the name first.
    fn dial(&mut self, server: NatsServer, context: &mut ServiceContext<'_>) {
        if let Ok(address) = server.host.parse() {
            self.connect(address, server, context);
            return;
        }
        let name: client::NameLookup = server.host.as_str().into();
        self.way = Way::Name(server);
        let asked = match self.names.first() {
            Some(helper) => context.mail.send_part(*helper, name).is_ok(),
            None => false,
        };
        if asked {
            self.names.rotate_left(1);
        } else {
            self.lose(LinkFault::UnknownName, context);
        }
    }

    /// A name was looked up, perhaps this link's.
    pub(super) fn learn(
        &mut self,
        name: &str,
        found: &FoundAddresses,
        context: &mut ServiceContext<'_>,
    ) {
        let Way::Name(server) = &self.way else { return };
        if server.host != name {
            return;
        }
        let server = server.clone();
        self.turn += 1;
        let address = found.as_ref().and_then(|found| found.get(self.turn % found.len().max(1)));
        match address {
            Some(address) => self.connect(*address, server, context),
            None => self.lose(LinkFault::UnknownName, context),
        }
    }

    fn connect(&mut self, address: IpAddr, server: NatsServer, context: &mut ServiceContext<'_>) {
        self.ticket += 1;
        let to = RemoteAddress::Tcp(SocketAddr::new(address, server.port));
        self.way = Way::Asked(server);
        let connect = Connect { to, from: None, ticket: self.ticket };
        context.command(SchedulerCommand::Connect(connect));
    }

    /// A connection was begun, or could not be.
    pub(super) fn on_connect(
        &mut self,
        ticket: u64,
        begun: Result<(), io::ErrorKind>,
        context: &mut Context<'_>,
    ) -> Option<LinkConnection> {
        if ticket != self.ticket {
            return None;
        }
        match begun {
            Ok(()) => Some(LinkConnection::new(ticket)),
            Err(kind) => {
                self.way = Way::None;
                self.link.on_closed(LinkFault::Unreachable(kind), context.now.monotonic_ms());
                None
            }
        }
    }

    /// The transport of a connection that was just begun.
    pub(super) fn transport(&mut self, ticket: u64) -> Option<Box<dyn Transport>> {
        let Way::Asked(server) = &self.way else { return None };
        if ticket != self.ticket || server.encryption == LinkEncryption::Plain {
            return None;
        }
        let transport = self.connector.as_ref()?.connect(&server.host)?;
        Some(Box::new(Lead::before(transport, LeadKind::NatsLine)))
    }

    /// No more requests come.
    pub(super) fn drain(&mut self) {
        self.is_draining = true;
        if self.mail.is_some() {
            self.stays_until_ms = self.now_ms + STORE_LINK_STAYS_MS;
        }
        self.link.leave();
    }
}
